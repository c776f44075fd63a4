"""Variants of ``masking.whole_words``."""

import random

import torch

from tests.mutants import right, wrong
from tests.mutants.masking import (
    becomes,
    choose,
    corrupt,
    one_after_the_other,
    replaced,
    uniform,
    words_for,
)

WORDS = "masking.whole_words"


def begins(continues, special):
    """Where a word begins: at the first place of a row, at and after special tokens, and where nothing is continued."""
    begin = ~continues | special
    begin[..., 1:] |= special[..., :-1]
    begin[..., 0] = True
    return begin


def by_words(drawn, begin):
    """For each token what was drawn where its word begins; words are numbered through the whole batch."""
    word = begin.flatten().cumsum(0) - 1
    return drawn.flatten()[begin.flatten()][word].view(drawn.shape)


def chosen_words(continues, special, generator):
    """Each word with probability 0.15."""
    return by_words(choose(special, generator), begins(continues, special))


def places(begin):
    """For each token its place in its word, and where in the whole batch that begins."""
    place = torch.arange(begin.numel()).view(begin.shape)
    first = torch.where(begin, place, 0).flatten().cummax(0).values.view(begin.shape)
    return place - first, first


def choosing(choice):
    """Masking of the tokens that ``choice(continues, special, generator)`` takes."""
    return lambda ids, continues, special, mask_id, vocab_size, generator: replaced(
        ids, choice(continues, special, generator), mask_id, vocab_size, generator
    )


def none_special(special):
    """A mask of special tokens without any."""
    return torch.zeros_like(special)


def from_the_first(begin):
    """Beginnings, at the first place of a row, too."""
    begin[..., 0] = True
    return begin


wrong(
    WORDS,
    "piece_by_piece",
    "Pieces are selected one by one, as without words.",
    cause="selected one by one|not selected together",
)(choosing(lambda continues, special, generator: choose(special, generator)))
wrong(
    WORDS,
    "first_piece_only",
    "Only the first piece of a selected word is hidden.",
    cause="only a word's first piece|not selected together",
)(choosing(lambda continues, special, generator: choose(special, generator) & begins(continues, special)))


@wrong(WORDS, via=choosing, cause="not selected together")
def two_pieces_at_most(continues, special, generator):
    """The second piece goes with the first, and no further one does."""
    begin = begins(continues, special)
    chosen = choose(special, generator) & begin
    chosen[..., 1:] |= chosen[..., :-1] & ~begin[..., 1:]
    return chosen


@wrong(WORDS, via=choosing, cause="share of selected|selected together")
def any_piece(continues, special, generator):
    """A word is selected where any of its pieces is: 27.8 % of those with two."""
    begin, drawn = begins(continues, special), choose(special, generator)
    word = begin.flatten().cumsum(0) - 1
    hits = torch.zeros(int(word[-1]) + 1, dtype=torch.int64).index_add_(0, word, drawn.flatten().long())
    return (hits[word] > 0).view(special.shape)


wrong(
    WORDS,
    "special_words_selected",
    "Special tokens are words like others, and are hidden as such.",
    cause="a special token's label",
)(choosing(lambda c, special, g: by_words(choose(none_special(special), g), begins(c, special))))
wrong(
    WORDS,
    "special_continued",
    "A piece after a special token goes on with it, and is never selected.",
    cause="selected at position|special",
)(choosing(lambda c, special, g: by_words(choose(special, g), from_the_first(~c | special))))


@wrong(WORDS, via=choosing, cause="across a position")
def across_special_tokens(continues, special, generator):
    """A piece behind a special token goes on with the word before that."""
    drawn = choose(none_special(special), generator)
    return by_words(drawn, from_the_first(~continues & ~special)) & ~special


@wrong(WORDS, via=choosing, cause="one row into the next|end of a row")
def across_rows(continues, special, generator):
    """A batch is one long row: the first piece goes on with the word that ends a row."""
    begin = begins(continues.flatten(), special.flatten()).view(special.shape)
    return by_words(choose(special, generator), begin)


@wrong(WORDS, cause="not drawn for each by itself|twice")
def one_kind_for_a_word(ids, continues, special, mask_id, vocab_size, generator):
    """One draw says for all pieces of a word whether they are masked, replaced or kept."""
    kind = by_words(uniform(ids, generator), begins(continues, special))
    chosen = chosen_words(continues, special, generator)
    return corrupt(ids, chosen, kind, words_for(ids, vocab_size, generator), mask_id)


@wrong(WORDS, cause="words drawn")
def one_random_word_for_a_word(ids, continues, special, mask_id, vocab_size, generator):
    """The pieces of a word that become random all become the same."""
    words = by_words(words_for(ids, vocab_size, generator), begins(continues, special))
    chosen = chosen_words(continues, special, generator)
    return corrupt(ids, chosen, uniform(ids, generator), words, mask_id)


@wrong(WORDS, cause="what selected positions become")
def words_eighty_one(ids, continues, special, mask_id, vocab_size, generator):
    """Draws "unchanged" and "random" one after the other: 81/10/9."""
    kind = one_after_the_other(ids, None, generator)
    chosen = chosen_words(continues, special, generator)
    return corrupt(ids, chosen, kind, words_for(ids, vocab_size, generator), mask_id)


@wrong(WORDS, cause="always_mask|what selected positions become")
def always_masked(ids, continues, special, mask_id, vocab_size, generator):
    """Only [MASK] replaces, where each piece is said to be replaced by itself."""
    chosen = chosen_words(continues, special, generator)
    return corrupt(ids, chosen, torch.zeros(ids.shape), ids, mask_id)


wrong(
    WORDS,
    "not_always_masked",
    "80, 10, 10 where only [MASK] is to replace.",
    cause="replacement=|became word",
    replacement="always_mask",
)(choosing(chosen_words))


@wrong(WORDS, cause="the id stands|only a word's first piece")
def followers_unlabelled(ids, continues, special, mask_id, vocab_size, generator):
    """Only the first piece of a word is asked for, as in tagging; all are hidden."""
    chosen = chosen_words(continues, special, generator)
    corrupted, labels = replaced(ids, chosen, mask_id, vocab_size, generator)
    return corrupted, torch.where(begins(continues, special), labels, -100)


@wrong(WORDS, via=choosing, cause="both selected (at|of)")
def in_every_second_word(continues, special, generator):
    """A word that follows a selected one is never selected."""
    begin = begins(continues, special)
    drawn = choose(special, generator)[begin]
    drawn[1:] &= ~drawn[:-1]
    return drawn[begin.flatten().cumsum(0) - 1].view(special.shape)


@wrong(WORDS, cause="twice at distance|not drawn for each by itself")
def fourth_as_the_first(ids, continues, special, mask_id, vocab_size, generator):
    """The fourth piece of a word is masked, replaced or kept as its first is."""
    kind = uniform(ids, generator)
    place, first = places(begins(continues, special))
    kind = torch.where(place == 3, kind.flatten()[first], kind)
    chosen = chosen_words(continues, special, generator)
    return corrupt(ids, chosen, kind, words_for(ids, vocab_size, generator), mask_id)


@wrong(WORDS, cause="words drawn")
def random_words_in_succession(ids, continues, special, mask_id, vocab_size, generator):
    """The pieces of a word that become random become successive ones: each by itself is any word."""
    place, first = places(begins(continues, special))
    words = (words_for(ids, vocab_size, generator).flatten()[first] + place) % vocab_size
    chosen = chosen_words(continues, special, generator)
    return corrupt(ids, chosen, uniform(ids, generator), words, mask_id)


right(WORDS, "by_numbering", "Words are numbered through the batch, and looked up.")(choosing(chosen_words))


@right(WORDS)
def word_by_word(ids, continues, special, mask_id, vocab_size, generator):
    """A Python loop over the tokens of each row, which remembers whether the word it is in is selected."""
    draw = random.Random(int(torch.randint(2**62, (1,), generator=generator)))
    n = ids.shape[-1]
    corrupted, labels = ids.flatten().tolist(), [-100] * ids.numel()
    goes_on, fixed = continues.flatten().tolist(), special.flatten().tolist()
    selected = False
    for place in range(ids.numel()):
        inside = place % n and goes_on[place] and not fixed[place] and not fixed[place - 1]
        if not inside:
            selected = not fixed[place] and draw.random() < 0.15
        if selected:
            labels[place] = corrupted[place]
            corrupted[place] = becomes(corrupted[place], draw, mask_id, vocab_size)
    return torch.tensor(corrupted).reshape(ids.shape), torch.tensor(labels).reshape(ids.shape)


@right(WORDS)
def by_scatter(ids, continues, special, mask_id, vocab_size, generator):
    """A draw for each word of the batch, gathered; then what was selected is written into its places."""
    word = begins(continues, special).flatten().cumsum(0) - 1
    drawn = torch.rand(int(word[-1]) + 1, generator=generator, dtype=torch.float64) < 0.15
    (slot,) = (drawn[word] & ~special.flatten()).nonzero(as_tuple=True)
    old = ids.flatten()[slot]
    new, labels = replaced(old, torch.ones_like(old, dtype=torch.bool), mask_id, vocab_size, generator)
    corrupted = ids.flatten().scatter(0, slot, new)
    asked = torch.full_like(corrupted, -100).scatter(0, slot, labels)
    return corrupted.view(ids.shape), asked.view(ids.shape)


@right(WORDS, replacement="always_mask")
def always_masked_by_where(ids, continues, special, mask_id, vocab_size, generator):
    """Dense, and only [MASK] replaces."""
    chosen = chosen_words(continues, special, generator)
    return torch.where(chosen, mask_id, ids), torch.where(chosen, ids, -100)

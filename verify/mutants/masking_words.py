"""Variants of ``masking.whole_words``."""

import random

import torch
from torch import Generator, Tensor

from verify.mutants import right, wrong
from verify.mutants.masking import Pair, becomes, choose, corrupt, replaced, uniform, words_for

WORDS = "masking.whole_words"


def begins(continues: Tensor, special: Tensor) -> Tensor:
    """Where a word begins: at the first place of a row, at and after special tokens, and where nothing is continued."""
    begin = ~continues | special
    begin[..., 1:] |= special[..., :-1]
    begin[..., 0] = True
    return begin


def by_words(drawn: Tensor, begin: Tensor) -> Tensor:
    """For each token what was drawn where its word begins; words are numbered through the whole batch."""
    word = begin.flatten().cumsum(0) - 1
    return drawn.flatten()[begin.flatten()][word].view(drawn.shape)


def chosen_words(continues: Tensor, special: Tensor, generator: Generator) -> Tensor:
    """Each word with probability 0.15."""
    return by_words(choose(special, generator), begins(continues, special))


@wrong(WORDS)
def piece_by_piece(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Pieces are selected one by one, as without words."""
    return replaced(ids, choose(special, generator), mask_id, vocab_size, generator)


@wrong(WORDS)
def first_piece_only(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Only the first piece of a selected word is hidden."""
    chosen = choose(special, generator) & begins(continues, special)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(WORDS)
def two_pieces_at_most(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """The second piece goes with the first, and no further one does."""
    begin = begins(continues, special)
    chosen = choose(special, generator) & begin
    chosen[..., 1:] |= chosen[..., :-1] & ~begin[..., 1:]
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(WORDS)
def any_piece(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """A word is selected where any of its pieces is drawn: 27.8 % of those with two."""
    begin, drawn = begins(continues, special), choose(special, generator)
    word = begin.flatten().cumsum(0) - 1
    hits = torch.zeros(int(word[-1]) + 1, dtype=torch.int64).index_add_(0, word, drawn.flatten().long())
    return replaced(ids, (hits[word] > 0).view(ids.shape), mask_id, vocab_size, generator)


@wrong(WORDS)
def special_words_selected(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Special tokens are words like others, and are hidden as such."""
    chosen = by_words(choose(torch.zeros_like(special), generator), begins(continues, special))
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(WORDS)
def special_continued(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """A piece after a special token goes on with it, and is never selected."""
    begin = ~continues | special
    begin[..., 0] = True
    return replaced(ids, by_words(choose(special, generator), begin), mask_id, vocab_size, generator)


@wrong(WORDS)
def across_special_tokens(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Special tokens are passed over: a piece behind one goes on with the word before it."""
    begin = ~continues & ~special
    begin[..., 0] = True
    return replaced(
        ids, by_words(choose_all(ids, generator), begin) & ~special, mask_id, vocab_size, generator
    )


def choose_all(ids: Tensor, generator: Generator) -> Tensor:
    """Each token with probability 0.15, special ones too."""
    return choose(torch.zeros_like(ids, dtype=torch.bool), generator)


@wrong(WORDS)
def across_rows(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """A batch is one long row: the first piece of a row goes on with the word that ends the row before it."""
    flat = begins(continues.flatten(), special.flatten()).view(ids.shape)
    return replaced(ids, by_words(choose(special, generator), flat), mask_id, vocab_size, generator)


@wrong(WORDS)
def one_kind_for_a_word(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """One draw says for all pieces of a word whether they are masked, replaced or kept."""
    begin = begins(continues, special)
    kind = by_words(uniform(ids, generator), begin)
    chosen = by_words(choose(special, generator), begin)
    return corrupt(ids, chosen, kind, words_for(ids, vocab_size, generator), mask_id)


@wrong(WORDS)
def one_random_word_for_a_word(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """The pieces of a word that become random all become the same."""
    begin = begins(continues, special)
    words = by_words(words_for(ids, vocab_size, generator), begin)
    chosen = by_words(choose(special, generator), begin)
    return corrupt(ids, chosen, uniform(ids, generator), words, mask_id)


@wrong(WORDS)
def words_eighty_one(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Draws "unchanged" and "random" one after the other: 81/10/9."""
    unchanged = uniform(ids, generator) < 0.1
    randomly = (uniform(ids, generator) < 0.1) & ~unchanged
    kind = torch.where(unchanged, 0.95, torch.where(randomly, 0.85, 0.0))
    chosen = chosen_words(continues, special, generator)
    return corrupt(ids, chosen, kind, words_for(ids, vocab_size, generator), mask_id)


@wrong(WORDS)
def always_masked(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Only [MASK] replaces, where each piece is said to be replaced by itself."""
    chosen = chosen_words(continues, special, generator)
    return corrupt(ids, chosen, torch.zeros(ids.shape), ids, mask_id)


@wrong(WORDS, replacement="always_mask")
def not_always_masked(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """80, 10, 10 where only [MASK] is said to replace."""
    return replaced(ids, chosen_words(continues, special, generator), mask_id, vocab_size, generator)


@wrong(WORDS)
def followers_unlabelled(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Only the first piece of a word is asked for, as in tagging; all are hidden."""
    corrupted, labels = replaced(
        ids, chosen_words(continues, special, generator), mask_id, vocab_size, generator
    )
    return corrupted, torch.where(begins(continues, special), labels, -100)


@wrong(WORDS)
def in_every_second_word(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """A word that follows a selected one is never selected."""
    begin = begins(continues, special)
    drawn = choose(special, generator)[begin]
    drawn[1:] &= ~drawn[:-1]
    chosen = drawn[begin.flatten().cumsum(0) - 1].view(ids.shape)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(WORDS)
def fourth_as_the_first(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """The fourth piece of a word is masked, replaced or kept as its first is."""
    begin, kind = begins(continues, special), uniform(ids, generator)
    place, first = places(begin)
    kind = torch.where(place == 3, kind.flatten()[first], kind)
    chosen = by_words(choose(special, generator), begin)
    return corrupt(ids, chosen, kind, words_for(ids, vocab_size, generator), mask_id)


@wrong(WORDS)
def random_words_in_succession(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """The pieces of a word that become random become successive ones: each by itself is any word."""
    begin = begins(continues, special)
    place, first = places(begin)
    words = (words_for(ids, vocab_size, generator).flatten()[first] + place) % vocab_size
    chosen = by_words(choose(special, generator), begin)
    return corrupt(ids, chosen, uniform(ids, generator), words, mask_id)


def places(begin: Tensor) -> Pair:
    """For each token its place in its word, and where in the whole batch that begins."""
    place = torch.arange(begin.numel()).view(begin.shape)
    first = torch.where(begin, place, 0).flatten().cummax(0).values.view(begin.shape)
    return place - first, first


@right(WORDS)
def by_numbering(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Words are numbered through the batch, and looked up."""
    return replaced(ids, chosen_words(continues, special, generator), mask_id, vocab_size, generator)


@right(WORDS)
def word_by_word(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
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
def by_scatter(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
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
def always_masked_by_where(
    ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Dense, and only [MASK] replaces."""
    chosen = chosen_words(continues, special, generator)
    return torch.where(chosen, mask_id, ids), torch.where(chosen, ids, -100)

"""Variants of ``masking.mlm``; the last of them are wrong by little, or only in rows and calls of a certain kind."""

import random

import torch
from torch import Generator

from tests.mutants import right, wrong

MLM = "masking.mlm"


def uniform(like, generator):
    """Uniform numbers in [0, 1), float64, one for each token."""
    return torch.rand(like.shape, generator=generator, dtype=torch.float64, device=like.device)


def corrupt(ids, chosen, kind, words, mask_id):
    """Chosen tokens become [MASK] (kind < 0.8), a word (< 0.9) or stay."""
    new = torch.where(kind < 0.8, torch.full_like(ids, mask_id), torch.where(kind < 0.9, words, ids))
    return torch.where(chosen, new, ids), torch.where(chosen, ids, -100)


def words_for(ids, vocab_size, generator):
    """A uniform word for each token."""
    return torch.randint(vocab_size, ids.shape, generator=generator, device=ids.device)


def choose(special, generator, rate=0.15):
    """Each ordinary token with probability ``rate``."""
    return (uniform(special, generator) < rate) & ~special


def replaced(ids, chosen, mask_id, vocab_size, generator):
    """What is chosen is replaced in 80, 10, 10 of a hundred, each token by itself."""
    return corrupt(ids, chosen, uniform(ids, generator), words_for(ids, vocab_size, generator), mask_id)


def becomes(token, draw, mask_id, vocab_size):
    """What one chosen token becomes, drawn as BERT's own script does."""
    kind = draw.random()
    if kind < 0.8:
        return mask_id
    return draw.randrange(vocab_size) if kind < 0.9 else token


def choosing(choice):
    """Masking of the tokens that ``choice(special, generator)`` takes."""
    return lambda ids, special, mask_id, vocab_size, generator: replaced(
        ids, choice(special, generator), mask_id, vocab_size, generator
    )


def kinds(kind):
    """Masking in which ``kind(ids, chosen, generator)`` says what becomes of a token."""

    def masking(ids, special, mask_id, vocab_size, generator):
        chosen = choose(special, generator)
        what = kind(ids, chosen, generator)
        return corrupt(ids, chosen, what, words_for(ids, vocab_size, generator), mask_id)

    return masking


def drawing(words):
    """Masking whose random words are ``words(ids, special, mask_id, vocab_size, generator)``."""

    def masking(ids, special, mask_id, vocab_size, generator):
        drawn = words(ids, special, mask_id, vocab_size, generator)
        return corrupt(ids, choose(special, generator), uniform(ids, generator), drawn, mask_id)

    return masking


def labelling(labels):
    """Masking whose labels are ``labels(ids, corrupted, right ones)``."""

    def masking(ids, special, mask_id, vocab_size, generator):
        corrupted, asked = replaced(ids, choose(special, generator), mask_id, vocab_size, generator)
        return corrupted, labels(ids, corrupted, asked)

    return masking


def one_after_the_other(ids, chosen, generator):
    """Kinds of which "random" is drawn where "unchanged" was not."""
    unchanged = uniform(ids, generator) < 0.1
    randomly = (uniform(ids, generator) < 0.1) & ~unchanged
    return torch.where(unchanged, 0.95, torch.where(randomly, 0.85, 0.0))


def ranks(special, generator):
    """A random order of the ordinary tokens of each row."""
    return uniform(special, generator).masked_fill(special, 2.0).argsort(-1).argsort(-1)


def count_in(special):
    """How many ordinary tokens there are, and are selected, in each row."""
    ordinary = (~special).sum(-1, keepdim=True)
    return ordinary, torch.minimum((ordinary.double() * 0.15).round().clamp(min=1), ordinary.double())


def counted(special, generator):
    """BERT's exact count of the ordinary tokens."""
    return ranks(special, generator) < count_in(special)[1]


def counted_of_all(special, generator):
    """The exact count of all tokens of the row, among the ordinary ones."""
    return (ranks(special, generator) < max(1, round(0.15 * special.shape[-1]))) & ~special


wrong(
    MLM,
    "eighty_one",
    'Draws "unchanged" and "random" one after the other: 81/10/9, as labml does.',
    cause="what selected positions become",
)(kinds(one_after_the_other))
wrong(MLM, "fourteen", "Selects 14 %.", cause="share of selected positions")(
    choosing(lambda special, generator: choose(special, generator, 0.14))
)
wrong(MLM, "sixteen", "Selects 16 %: 41 of 256 values of a byte.", cause="share of selected positions")(
    choosing(lambda special, generator: choose(special, generator, 41 / 256))
)


@wrong(MLM, cause="twice|by itself")
def row_decision(ids, special, mask_id, vocab_size, generator):
    """One decision [MASK]/random/unchanged for a whole row."""
    kind = uniform(ids[..., :1], generator).expand(ids.shape)
    return corrupt(ids, choose(special, generator), kind, words_for(ids, vocab_size, generator), mask_id)


wrong(MLM, "row_selection", "Whole rows are selected.", cause="both selected (at|of)|rows of design")(
    choosing(lambda special, generator: (uniform(special[..., :1], generator) < 0.15) & ~special)
)


@wrong(MLM, via=choosing, cause="rows of a batch|neighbouring rows")
def same_for_all_rows(special, generator):
    """One draw for every row of the batch."""
    row = uniform(special.reshape(-1, special.shape[-1])[0], generator).expand(special.shape)
    return (row < 0.15) & ~special


@wrong(MLM, via=choosing, cause="both selected (at|of)")
def correlated(special, generator):
    """One token in twenty copies its left neighbour's draw: they correlate by 0.05."""
    u = uniform(special, generator)
    copy = uniform(special, generator) < 0.05
    return (torch.where(copy, u.roll(1, -1), u) < 0.15) & ~special


wrong(MLM, "one_word", "One random word for the whole call.", cause="words drawn")(
    drawing(lambda ids, s, m, size, g: torch.randint(size, (1,), generator=g).expand(ids.shape))
)
wrong(MLM, "one_word_a_row", "One random word for each row.", cause="words drawn")(
    drawing(lambda ids, s, m, size, g: words_for(ids[..., :1], size, g).expand(ids.shape))
)
wrong(
    MLM,
    "exact_count",
    "BERT's exact count where independent selection is claimed.",
    cause="selection=exact_count|rows of design",
)(choosing(counted))
wrong(
    MLM,
    "independent",
    "Independent selection where the count is claimed.",
    cause="selection=bernoulli|selected in each row",
    selection="exact_count",
)(choosing(choose))


@wrong(MLM, via=choosing, cause="both selected (at|of)", selection="exact_count")
def consecutive_count(special, generator):
    """The exact count, as one run of neighbours."""
    ordinary, count = count_in(special)
    start = (uniform(ordinary, generator) * ordinary).long()
    return (((~special).cumsum(-1) - 1 - start) % ordinary.clamp(min=1) < count) & ~special


@wrong(MLM, via=choosing, cause="with 0 selected|short row|share of selected")
def at_least_one(special, generator):
    """Bernoulli, but a row without any selected token gets one."""
    u = uniform(special, generator).masked_fill(special, 2.0)
    return (u < 0.15) | ((u == u.amin(-1, keepdim=True)) & ~special)


@wrong(MLM, via=drawing, cause="among words|what selected positions become")
def ordinary_words(ids, special, mask_id, vocab_size, generator):
    """Random words are never special ones."""
    lost = torch.zeros(vocab_size, dtype=torch.bool)
    lost[ids[special]] = lost[mask_id] = True
    pool = (~lost).nonzero().squeeze(-1)
    pool = pool if len(pool) else torch.arange(vocab_size)
    return pool[torch.randint(len(pool), ids.shape, generator=generator)]


wrong(
    MLM,
    "last_word_missing",
    "randint(0, V − 1): the last word is never drawn.",
    cause="among words|a vocabulary",
)(drawing(lambda ids, s, m, size, g: torch.randint(0, max(size - 1, 1), ids.shape, generator=g)))
wrong(
    MLM, "first_word_missing", "randint(1, V): word 0 is taken for padding.", cause="among words|a vocabulary"
)(drawing(lambda ids, s, m, size, g: torch.randint(min(1, size - 1), size, ids.shape, generator=g)))


@wrong(MLM, via=drawing, cause="what selected positions become")
def never_the_original(ids, special, mask_id, vocab_size, generator):
    """The random word is always another one than the token's own."""
    return (ids + torch.randint(1, max(vocab_size, 2), ids.shape, generator=generator)) % vocab_size


@wrong(MLM, via=drawing, cause="what selected positions become")
def never_mask(ids, special, mask_id, vocab_size, generator):
    """The random word is never [MASK]."""
    words = torch.randint(0, max(vocab_size - 1, 1), ids.shape, generator=generator)
    return words + (words >= mask_id)


@wrong(MLM, via=choosing, cause="selected at position 0")
def first_position_safe(special, generator):
    """Never selects the first position: it is assumed to be [CLS]."""
    chosen = choose(special, generator)
    chosen[..., 0] = False
    return chosen


wrong(
    MLM,
    "special_selected",
    "Ignores the mask of special tokens: padding is masked too.",
    cause="a special token's label",
)(choosing(lambda special, generator: choose(torch.zeros_like(special), generator)))
wrong(MLM, "all_labels", "Labels hold every id, not only the selected ones.", cause="label")(
    labelling(lambda ids, corrupted, labels: ids.clone())
)
wrong(
    MLM,
    "labels_of_changed",
    "Labels only where the id changed: the unchanged 10 % are lost to the loss.",
    cause="left as it was",
)(labelling(lambda ids, corrupted, labels: torch.where(corrupted == ids, -100, labels)))
wrong(MLM, "labels_corrupted", "Labels are taken after corruption.", cause="label is −100 or the original")(
    labelling(lambda ids, corrupted, labels: torch.where(labels == -100, -100, corrupted))
)


@wrong(MLM, cause="global random")
def global_generator(ids, special, mask_id, vocab_size, generator):
    """Draws from torch's global generator."""
    chosen = (torch.rand(ids.shape) < 0.15) & ~special
    return corrupt(ids, chosen, torch.rand(ids.shape), torch.randint(vocab_size, ids.shape), mask_id)


wrong(MLM, "reseeded", "Seeds a generator of its own with 0 in every call.", cause="another seed gave")(
    lambda ids, special, mask_id, vocab_size, generator: choosing(choose)(
        ids, special, mask_id, vocab_size, Generator().manual_seed(0)
    )
)


@wrong(MLM, cause="input ids was modified|writes to its input ids")
def in_place(ids, special, mask_id, vocab_size, generator):
    """Corrupts the caller's ids."""
    corrupted, labels = replaced(ids, choose(special, generator), mask_id, vocab_size, generator)
    return ids.copy_(corrupted), labels


@wrong(MLM, via=kinds, cause="of the selected")
def in_order(ids, chosen, generator):
    """A row's selected tokens become [MASK], another word or stay by their order, not by chance."""
    rank = chosen.cumsum(-1)
    return rank / (rank[..., -1:] + 1) + 0 * uniform(ids, generator)


right(MLM, "by_where", "Dense draws and torch.where.")(choosing(choose))


@right(MLM)
def as_transformers(ids, special, mask_id, vocab_size, generator):
    """transformers' recipe: 0.8 first, then one half of the rest."""
    corrupted, labels = ids.clone(), ids.clone()
    chosen = torch.bernoulli((~special).double() * 0.15, generator=generator).bool()
    labels[~chosen] = -100
    most = torch.full(ids.shape, 0.8, dtype=torch.float64)
    hidden = torch.bernoulli(most, generator=generator).bool() & chosen
    corrupted[hidden] = mask_id
    half = torch.bernoulli(torch.full(ids.shape, 0.5), generator=generator).bool() & chosen & ~hidden
    corrupted[half] = words_for(ids, vocab_size, generator)[half]
    return corrupted, labels


@right(MLM)
def one_by_one(ids, special, mask_id, vocab_size, generator):
    """A Python loop over tokens, as BERT's own script: each drawn by itself."""
    draw = random.Random(int(torch.randint(2**62, (1,), generator=generator)))
    corrupted, labels = ids.flatten().tolist(), [-100] * ids.numel()
    for place, fixed in enumerate(special.flatten().tolist()):
        if not fixed and draw.random() < 0.15:
            labels[place] = corrupted[place]
            corrupted[place] = becomes(corrupted[place], draw, mask_id, vocab_size)
    return torch.tensor(corrupted).reshape(ids.shape), torch.tensor(labels).reshape(ids.shape)


right(MLM, "by_sorting", "The exact count, by ranks of random keys.", selection="exact_count")(
    choosing(counted)
)
right(MLM, "count_of_the_row", "As BERT's own script: the count is of all tokens.", selection="count_of_all")(
    choosing(counted_of_all)
)
wrong(
    MLM,
    "special_tokens_counted",
    "Counts special tokens and padding in.",
    cause="count_of_all|selected in each row",
    selection="exact_count",
)(choosing(counted_of_all))

# Wrong by little ----------------------------------------------------------------------------------------------------------

_LAST = {}
"""The uniform numbers of the last call."""


wrong(
    MLM,
    "words_by_modulo",
    "Random words are remainders of a number three times as large, and a bit.",
    cause="among words",
)(drawing(lambda ids, s, m, size, g: torch.randint(2**17, ids.shape, generator=g) % size))


@wrong(MLM, via=drawing, cause="words drawn")
def words_in_succession(ids, special, mask_id, vocab_size, generator):
    """The random words of a row are successive: each by itself is any word."""
    start = torch.randint(vocab_size, (*ids.shape[:-1], 1), generator=generator)
    return (start + torch.arange(ids.shape[-1])) % vocab_size


@wrong(MLM, via=choosing, cause="with 0 selected|short row|share of selected")
def again_where_none(special, generator):
    """Draws again for as long as nothing is selected: 20.5 % of a row of eight."""
    chosen = choose(special, generator)
    while not special.all() and not chosen.any():
        chosen = choose(special, generator)
    return chosen


@wrong(MLM, via=choosing, cause="from position 512|long rows")
def nothing_past_512(special, generator):
    """Selects nothing from position 512 on, where the longest of its rows end."""
    chosen = choose(special, generator)
    chosen[..., 512:] = False
    return chosen


@wrong(MLM, cause="same seed gave another|neighbouring calls|calls .*apart")
def calls_in_pairs(ids, special, mask_id, vocab_size, generator):
    """Every other state of the generator gives 1 − u instead of the u before: neighbouring calls balance each other."""
    key = int(generator.get_state()[:8].view(torch.int64)[0]), ids.shape
    drawn = uniform(ids, generator)
    if key in _LAST:
        drawn = 1 - _LAST.pop(key)
    else:
        _LAST.clear()
        _LAST[key] = drawn
    return replaced(ids, (drawn < 0.15) & ~special, mask_id, vocab_size, generator)


@wrong(MLM, via=choosing, cause="both selected (at|of)")
def half_the_rate_twice(special, generator):
    """Neighbours draw u and u + 1/2: they are never selected together."""
    u = uniform(special, generator)
    u[..., 1::2] = (u[..., 0 : u.shape[-1] // 2 * 2 : 2] + 0.5) % 1
    return (u < 0.15) & ~special


@right(MLM)
def row_by_row(ids, special, mask_id, vocab_size, generator):
    """Each row drawn by itself, in order."""
    pairs = zip(ids.reshape(-1, ids.shape[-1]), special.reshape(-1, ids.shape[-1]), strict=True)
    rows = [replaced(row, choose(fixed, generator), mask_id, vocab_size, generator) for row, fixed in pairs]
    corrupted, labels = (torch.stack(parts).reshape(ids.shape) for parts in zip(*rows, strict=True))
    return corrupted, labels

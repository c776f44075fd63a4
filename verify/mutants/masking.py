"""Variants of ``masking.mlm``."""

import random

import torch
from torch import Generator, Tensor

from verify.mutants import right, wrong

MLM = "masking.mlm"
Pair = tuple[Tensor, Tensor]


def uniform(like: Tensor, generator: Generator) -> Tensor:
    """Uniform numbers in [0, 1), float64, one for each token."""
    return torch.rand(like.shape, generator=generator, dtype=torch.float64, device=like.device)


def corrupt(ids: Tensor, chosen: Tensor, kind: Tensor, words: Tensor, mask_id: int) -> Pair:
    """Chosen tokens become [MASK] (kind < 0.8), a word (< 0.9) or stay."""
    new = torch.where(kind < 0.8, torch.full_like(ids, mask_id), torch.where(kind < 0.9, words, ids))
    return torch.where(chosen, new, ids), torch.where(chosen, ids, -100)


def words_for(ids: Tensor, vocab_size: int, generator: Generator) -> Tensor:
    """A uniform word for each token."""
    return torch.randint(vocab_size, ids.shape, generator=generator, device=ids.device)


def choose(special: Tensor, generator: Generator, rate: float = 0.15) -> Tensor:
    """Each ordinary token with probability ``rate``."""
    return (uniform(special, generator) < rate) & ~special


def replaced(ids: Tensor, chosen: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """What is chosen is replaced in 80, 10, 10 of a hundred, each token by itself."""
    return corrupt(ids, chosen, uniform(ids, generator), words_for(ids, vocab_size, generator), mask_id)


def becomes(token: int, draw: random.Random, mask_id: int, vocab_size: int) -> int:
    """What one chosen token becomes, drawn as BERT's own script does."""
    kind = draw.random()
    if kind < 0.8:
        return mask_id
    return draw.randrange(vocab_size) if kind < 0.9 else token


@wrong(MLM)
def eighty_one(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Draws "unchanged" and "random" one after the other: 81/10/9, as labml does."""
    chosen = choose(special, generator)
    unchanged = uniform(ids, generator) < 0.1
    randomly = (uniform(ids, generator) < 0.1) & ~unchanged
    kind = torch.where(unchanged, 0.95, torch.where(randomly, 0.85, 0.0))
    return corrupt(ids, chosen, kind, words_for(ids, vocab_size, generator), mask_id)


@wrong(MLM)
def fourteen(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Selects 14 %."""
    chosen = choose(special, generator, 0.14)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def sixteen(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Selects 16 %: 41 of 256 values of a byte."""
    chosen = choose(special, generator, 41 / 256)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def row_decision(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """One decision [MASK]/random/unchanged for a whole row."""
    kind = uniform(ids[..., :1], generator).expand(ids.shape)
    return corrupt(ids, choose(special, generator), kind, words_for(ids, vocab_size, generator), mask_id)


@wrong(MLM)
def row_selection(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Whole rows are selected."""
    chosen = (uniform(ids[..., :1], generator) < 0.15) & ~special
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def same_for_all_rows(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """One draw for every row of the batch."""
    row = uniform(ids.reshape(-1, ids.shape[-1])[0], generator).expand(ids.shape)
    return replaced(ids, (row < 0.15) & ~special, mask_id, vocab_size, generator)


@wrong(MLM)
def correlated(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Neighbours correlate by 0.05: one token in twenty copies its left neighbour's draw."""
    u = uniform(ids, generator)
    copy = uniform(ids, generator) < 0.05
    u = torch.where(copy, u.roll(1, -1), u)
    return replaced(ids, (u < 0.15) & ~special, mask_id, vocab_size, generator)


@wrong(MLM)
def one_word(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """One random word for the whole call."""
    word = torch.randint(vocab_size, (1,), generator=generator).expand(ids.shape)
    return corrupt(ids, choose(special, generator), uniform(ids, generator), word, mask_id)


@wrong(MLM)
def one_word_a_row(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """One random word for each row."""
    word = torch.randint(vocab_size, (*ids.shape[:-1], 1), generator=generator).expand(ids.shape)
    return corrupt(ids, choose(special, generator), uniform(ids, generator), word, mask_id)


def _counted(special: Tensor, generator: Generator) -> Tensor:
    ordinary = (~special).sum(-1, keepdim=True)
    count = torch.minimum((ordinary.double() * 0.15).round().clamp(min=1), ordinary.double())
    rank = uniform(special, generator).masked_fill(special, 2.0).argsort(-1).argsort(-1)
    return rank < count


@wrong(MLM)
def exact_count(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """BERT's exact count where independent selection is claimed."""
    chosen = _counted(special, generator)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM, selection="exact_count")
def independent(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Independent selection where BERT's exact count is claimed."""
    return replaced(ids, choose(special, generator), mask_id, vocab_size, generator)


@wrong(MLM, selection="exact_count")
def consecutive_count(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """The exact count, but as one run of neighbours from a random start."""
    ordinary = (~special).sum(-1, keepdim=True)
    count = torch.minimum((ordinary.double() * 0.15).round().clamp(min=1), ordinary.double())
    order = (~special).cumsum(-1) - 1
    start = (uniform(ordinary, generator) * ordinary).long()
    chosen = ((order - start) % ordinary.clamp(min=1) < count) & ~special
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def at_least_one(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Bernoulli, but a row without any selected token gets one."""
    u = uniform(ids, generator).masked_fill(special, 2.0)
    chosen = (u < 0.15) | ((u == u.amin(-1, keepdim=True)) & ~special)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def ordinary_words(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Random words are never special ones."""
    lost = torch.zeros(vocab_size, dtype=torch.bool)
    lost[ids[special]] = True
    lost[mask_id] = True
    pool = (~lost).nonzero().squeeze(-1)
    pool = pool if len(pool) else torch.arange(vocab_size)
    words = pool[torch.randint(len(pool), ids.shape, generator=generator)]
    return corrupt(ids, choose(special, generator), uniform(ids, generator), words, mask_id)


@wrong(MLM)
def last_word_missing(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """randint(0, V − 1): the last word is never drawn."""
    words = torch.randint(0, max(vocab_size - 1, 1), ids.shape, generator=generator)
    return corrupt(ids, choose(special, generator), uniform(ids, generator), words, mask_id)


@wrong(MLM)
def first_word_missing(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """randint(1, V): word 0 is taken for padding."""
    words = torch.randint(min(1, vocab_size - 1), vocab_size, ids.shape, generator=generator)
    return corrupt(ids, choose(special, generator), uniform(ids, generator), words, mask_id)


@wrong(MLM)
def never_the_original(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """The random word is always another one than the token's own."""
    step = torch.randint(1, max(vocab_size, 2), ids.shape, generator=generator)
    words = (ids + step) % vocab_size
    return corrupt(ids, choose(special, generator), uniform(ids, generator), words, mask_id)


@wrong(MLM)
def never_mask(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """The random word is never [MASK]."""
    words = torch.randint(0, max(vocab_size - 1, 1), ids.shape, generator=generator)
    words += words >= mask_id
    return corrupt(ids, choose(special, generator), uniform(ids, generator), words, mask_id)


@wrong(MLM)
def first_position_safe(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Never selects the first position: it is assumed to be [CLS]."""
    chosen = choose(special, generator)
    chosen[..., 0] = False
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def special_selected(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Ignores the mask of special tokens: padding is masked too."""
    chosen = choose(torch.zeros_like(special), generator)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def all_labels(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Labels hold every id, not only the selected ones."""
    corrupted, _ = replaced(ids, choose(special, generator), mask_id, vocab_size, generator)
    return corrupted, ids.clone()


@wrong(MLM)
def labels_of_changed(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Labels only where the id changed: the unchanged 10 % are lost to the loss."""
    corrupted, labels = replaced(ids, choose(special, generator), mask_id, vocab_size, generator)
    return corrupted, torch.where(corrupted == ids, -100, labels)


@wrong(MLM)
def labels_corrupted(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Labels are taken after corruption."""
    corrupted, labels = replaced(ids, choose(special, generator), mask_id, vocab_size, generator)
    return corrupted, torch.where(labels == -100, -100, corrupted)


@wrong(MLM)
def global_generator(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Draws from torch's global generator."""
    chosen = (torch.rand(ids.shape) < 0.15) & ~special
    return corrupt(ids, chosen, torch.rand(ids.shape), torch.randint(vocab_size, ids.shape), mask_id)


@wrong(MLM)
def reseeded(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Seeds a generator of its own with 0 in every call."""
    own = Generator().manual_seed(0)
    return corrupt(ids, choose(special, own), uniform(ids, own), words_for(ids, vocab_size, own), mask_id)


@wrong(MLM)
def in_place(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Corrupts the caller's ids."""
    corrupted, labels = replaced(ids, choose(special, generator), mask_id, vocab_size, generator)
    return ids.copy_(corrupted), labels


@wrong(MLM)
def in_order(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """The first 80 % of a row's selected tokens become [MASK], the rest by chance."""
    chosen = choose(special, generator)
    rank = chosen.cumsum(-1)
    kind = rank / (rank[..., -1:] + 1) + 0 * uniform(ids, generator)
    return corrupt(ids, chosen, kind, words_for(ids, vocab_size, generator), mask_id)


@right(MLM)
def by_where(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Dense draws and torch.where."""
    return replaced(ids, choose(special, generator), mask_id, vocab_size, generator)


@right(MLM)
def as_transformers(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """transformers' recipe: 0.8 first, then one half of the rest."""
    corrupted, labels = ids.clone(), ids.clone()
    chosen = torch.bernoulli((~special).double() * 0.15, generator=generator).bool()
    labels[~chosen] = -100
    hidden = (
        torch.bernoulli(torch.full(ids.shape, 0.8, dtype=torch.float64), generator=generator).bool() & chosen
    )
    corrupted[hidden] = mask_id
    half = torch.bernoulli(torch.full(ids.shape, 0.5), generator=generator).bool() & chosen & ~hidden
    corrupted[half] = words_for(ids, vocab_size, generator)[half]
    return corrupted, labels


@right(MLM)
def one_by_one(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """A Python loop over tokens, as BERT's own script: each drawn by itself."""
    draw = random.Random(int(torch.randint(2**62, (1,), generator=generator)))
    corrupted, labels = ids.flatten().tolist(), [-100] * ids.numel()
    for place, fixed in enumerate(special.flatten().tolist()):
        if not fixed and draw.random() < 0.15:
            labels[place] = corrupted[place]
            corrupted[place] = becomes(corrupted[place], draw, mask_id, vocab_size)
    return torch.tensor(corrupted).reshape(ids.shape), torch.tensor(labels).reshape(ids.shape)


@right(MLM, selection="exact_count")
def by_sorting(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """The exact count, by ranks of random keys."""
    chosen = _counted(special, generator)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


def _counted_of_all(special: Tensor, generator: Generator) -> Tensor:
    rank = uniform(special, generator).masked_fill(special, 2.0).argsort(-1).argsort(-1)
    return (rank < max(1, round(0.15 * special.shape[-1]))) & ~special


@right(MLM, selection="count_of_all")
def count_of_the_row(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """As BERT's own script: the count is of all tokens of the row, the choice among the ordinary ones."""
    chosen = _counted_of_all(special, generator)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM, selection="exact_count")
def special_tokens_counted(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Counts special tokens and padding in, where the count was to be of the ordinary ones."""
    chosen = _counted_of_all(special, generator)
    return replaced(ids, chosen, mask_id, vocab_size, generator)

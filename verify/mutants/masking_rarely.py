"""Variants of ``masking.mlm`` that are wrong by little, or only in rows and calls of a certain kind."""

import torch
from torch import Generator, Tensor

from verify.mutants import right, wrong
from verify.mutants.masking import MLM, Pair, choose, corrupt, replaced, uniform

_LAST: dict[tuple[int, torch.Size], Tensor] = {}
"""The uniform numbers of the last call."""


@wrong(MLM)
def words_by_modulo(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Random words are the remainder of a number that is three times as large as a large vocabulary, and a bit."""
    words = torch.randint(2**17, ids.shape, generator=generator)
    return corrupt(ids, choose(special, generator), uniform(ids, generator), words % vocab_size, mask_id)


@wrong(MLM)
def words_in_succession(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """The random words of a row are successive numbers from a random one on: each by itself is any word."""
    start = torch.randint(vocab_size, (*ids.shape[:-1], 1), generator=generator)
    words = (start + torch.arange(ids.shape[-1])) % vocab_size
    return corrupt(ids, choose(special, generator), uniform(ids, generator), words, mask_id)


@wrong(MLM)
def again_where_none(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Draws again for as long as nothing in the call is selected: 20.5 % of a row of eight."""
    chosen = choose(special, generator)
    while not special.all() and not chosen.any():
        chosen = choose(special, generator)
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def nothing_past_512(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Selects nothing from position 512 on, where the longest of its rows end."""
    chosen = choose(special, generator)
    chosen[..., 512:] = False
    return replaced(ids, chosen, mask_id, vocab_size, generator)


@wrong(MLM)
def calls_in_pairs(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Every other state of the generator gives 1 − u in the place of the u before: neighbouring calls balance each other."""
    key = int(generator.get_state()[:8].view(torch.int64)[0]), ids.shape
    drawn = uniform(ids, generator)
    if key in _LAST:
        drawn = 1 - _LAST.pop(key)
    else:
        _LAST.clear()
        _LAST[key] = drawn
    return replaced(ids, (drawn < 0.15) & ~special, mask_id, vocab_size, generator)


@wrong(MLM)
def half_the_rate_twice(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator
) -> Pair:
    """Neighbouring positions draw u and u + 1/2: they are never selected together."""
    u = uniform(ids, generator)
    u[..., 1::2] = (u[..., 0 : u.shape[-1] // 2 * 2 : 2] + 0.5) % 1
    return replaced(ids, (u < 0.15) & ~special, mask_id, vocab_size, generator)


@right(MLM)
def row_by_row(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Pair:
    """Each row drawn by itself, in order."""
    rows = [
        replaced(row, choose(fixed, generator), mask_id, vocab_size, generator)
        for row, fixed in zip(
            ids.flatten(0, -2) if ids.ndim > 1 else ids[None], special.reshape(-1, ids.shape[-1]), strict=True
        )
    ]
    corrupted, labels = (torch.stack(parts).reshape(ids.shape) for parts in zip(*rows, strict=True))
    return corrupted, labels

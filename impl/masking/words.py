"""The corruption of masked language modelling: hide some tokens, and keep what stood there as labels.

Letters are the statement's: n tokens in a row, ids from a vocabulary of V words. Source: Devlin et al. 2019, "BERT", section 3.1
and appendix A.1.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Integer
from torch import Generator, Tensor

from impl import _refuse
from impl._labels import IGNORED
from impl.masking._drawing import check_generator, random_bytes, random_integers

__all__ = ["mlm"]

Selection = Literal["bernoulli", "exact_count", "count_of_all"]


def mlm(
    ids: Integer[Tensor, "... n"],
    special: Bool[Tensor, "... n"],
    mask_id: int,
    V: int,
    generator: Generator,
    *,
    selection: Selection = "bernoulli",
) -> tuple[Integer[Tensor, "... n"], Integer[Tensor, "... n"]]:
    """Select 15 % of the ordinary tokens; of these, 80 % become ``mask_id``, 10 % a random word, 10 % stay.
    Statement: ``masking.mlm``.

    Returns (corrupted, labels): labels hold the original id where a token was selected and −100 elsewhere. ``special``
    marks the tokens that are never selected, padding among them. A random word is uniform on 0..V−1, whatever it is.

    ``selection="bernoulli"`` selects each ordinary token by itself, with probability 0.15. ``"exact_count"``
    selects of a row's c ordinary tokens max(1, round(0.15 c)) in all, uniformly without replacement (halves round to even,
    as Python's ``round``; none where c = 0). ``"count_of_all"`` is BERT's original: max(1, round(0.15 n)) of them, or all c.

    ids may have any integer dtype and are left as they were; both results keep that dtype, only labels of an unsigned
    one are int64, to hold −100. Equal seeds give equal results on one kind of device. IndexError for an id below 0 or not below
    V, special ones among them (on the CPU), ValueError for shapes, a mask_id or a generator's device that do not fit, TypeError
    for wrong dtypes.
    """
    _check(ids, special, mask_id, V, generator, selection)
    if selection == "bernoulli":
        slot, word, part = _bernoulli(special, V, generator)
    else:
        slot, word, part = _exact_count(special, V, generator, of_all=selection == "count_of_all")
    flat = ids.flatten().long()
    old = flat.index_select(0, slot)
    new = torch.where(part < 512, mask_id, torch.where(part < 576, word, old))
    label = torch.where(part < 640, old, IGNORED)
    corrupted = flat.scatter(0, slot, new).view(ids.shape)
    labels = torch.full_like(flat, IGNORED).scatter_(0, slot, label).view(ids.shape)
    return corrupted.to(ids.dtype), labels.to(ids.dtype if ids.dtype.is_signed else torch.int64)


def _bernoulli(special: Tensor, V: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
    """(slot, word, part): where a candidate stands, its random word, and its part: 0..511 mask, 512..575 random word,
    576..639 no change, 640..649 not selected after all.

    A random byte below 39 makes a token a candidate, 640 parts in 650 select it: 39/256 · 640/650 = 0.15 exactly.
    """
    byte = random_bytes(special.numel(), special.device, generator)
    slot = (byte < 39 * (~special).flatten().view(torch.uint8)).nonzero().squeeze(1)
    return slot, *_word_and_part(slot.numel(), V, 650, special.device, generator)


def _exact_count(
    special: Tensor, V: int, generator: Generator, of_all: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(slot, word, part) as above. A row's selected tokens are those with the k largest of its random 63-bit keys."""
    n, device = special.shape[-1], special.device
    special = special.reshape(math.prod(special.shape[:-1]), n)
    ordinary = n - special.sum(-1)
    # In float64 a half is exactly a half, so this rounds as Python does.
    counted = torch.full_like(ordinary, n) if of_all else ordinary
    k = (3 * counted.double() / 20).round().clamp(min=1).minimum(ordinary)
    k_max = min(max(1, round(3 * n / 20)), n)
    key = random_integers(special.numel(), device, generator).view(special.shape).masked_fill_(special, -1)
    ranked = key.topk(k_max).indices
    row, rank = (torch.arange(size, device=device) for size in ranked.shape)
    slot = (ranked + n * row[:, None])[rank < k[:, None]]
    return slot, *_word_and_part(slot.numel(), V, 640, device, generator)


def _word_and_part(
    count: int, V: int, parts: int, device: torch.device, generator: Generator
) -> tuple[Tensor, Tensor]:
    """Two independent draws from one integer: uniform on 0..V−1 and on 0..parts−1, to parts · V / 2^63."""
    draw = random_integers(count, device, generator)
    quotient = draw // V
    return torch.sub(draw, quotient, alpha=V), quotient % parts


def _check(ids: Tensor, special: Tensor, mask_id: int, V: int, generator: Generator, selection: str) -> None:
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise _refuse.dtypes("masking.mlm", "integer ids", ids=ids)
    if special.dtype != torch.bool:
        raise _refuse.dtypes("masking.mlm", "a boolean special, True = never selected", special=special)
    if ids.dim() == 0 or special.shape != ids.shape:
        raise _refuse.shapes("masking.mlm", "ids (... n), special (... n)", ids=ids, special=special)
    if not 0 <= mask_id < V:
        raise ValueError(f"masking.mlm: expected V >= 1, 0 <= mask_id < V; got V {V}, mask_id {mask_id}")
    largest = torch.iinfo(ids.dtype).max
    if max(mask_id, V - 1) > largest:
        raise ValueError(
            f"masking.mlm: expected ids of a dtype that holds mask_id {mask_id} and V - 1 = {V - 1}; "
            f"got {str(ids.dtype).removeprefix('torch.')}, at most {largest}"
        )
    check_generator("masking.mlm", "ids", ids.device, generator)
    if ids.is_cpu and ids.numel():
        low, high = ids.long().aminmax()
        if low < 0 or high >= V:
            raise _refuse.out_of_range("masking.mlm", "ids", ids, V)
    if selection not in ("bernoulli", "exact_count", "count_of_all"):
        known = "'bernoulli', 'exact_count' or 'count_of_all'"
        raise ValueError(f"masking.mlm: selection is {known}; got {selection!r}")

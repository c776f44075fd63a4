"""The corruption of masked language modelling: hide some tokens, and keep what stood there as labels.

Letters are the statement's: n tokens in a row, ids from a vocabulary of V words. Source: Devlin et al. 2019, "BERT", section 3.1
and appendix A.1.
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Integer
from torch import Generator, Tensor

from impl.masking._drawing import random_integers
from impl.masking._hiding import PARTS, bernoulli, check, hide, word_and_part

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
    check("masking.mlm", ids, special, mask_id, V, generator)
    if selection not in ("bernoulli", "exact_count", "count_of_all"):
        known = "'bernoulli', 'exact_count' or 'count_of_all'"
        raise ValueError(f"masking.mlm: selection is {known}; got {selection!r}")
    if selection == "bernoulli":
        slot, word, part = bernoulli(special, V, generator)
    else:
        slot, word, part = _exact_count(special, V, generator, of_all=selection == "count_of_all")
    return hide(ids, mask_id, slot, word, part)


def _exact_count(
    special: Tensor, V: int, generator: Generator, of_all: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(slot, word, part) of what is selected. A row's selected tokens are those with the k largest of its random 63-bit keys."""
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
    return slot, *word_and_part(slot.numel(), V, PARTS, device, generator)

"""What the ways of hiding words have in common: which tokens are selected by themselves, what becomes of each, what is refused.

A selected token has a part of 640: 0..511 mask, 512..575 a random word, 576..639 no change.
"""

import torch
from torch import Generator, Tensor

from impl import _refuse
from impl._labels import IGNORED
from impl.masking._drawing import check_generator, random_bytes, random_integers

PARTS = 640


def bernoulli(special: Tensor, V: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor]:
    """(slot, word, part): where a candidate stands, its random word, and its part, as above; 640..649 is not selected after all.

    A random byte below 39 makes a token a candidate, 640 parts in 650 select it: 39/256 · 640/650 = 0.15 exactly.
    """
    byte = random_bytes(special.numel(), special.device, generator)
    slot = (byte < 39 * (~special).flatten().view(torch.uint8)).nonzero().squeeze(1)
    return slot, *word_and_part(slot.numel(), V, 650, special.device, generator)


def word_and_part(
    count: int, V: int, parts: int, device: torch.device, generator: Generator
) -> tuple[Tensor, Tensor]:
    """Two independent draws from one integer: uniform on 0..V−1 and on 0..parts−1, to parts · V / 2^63."""
    draw = random_integers(count, device, generator)
    quotient = draw // V
    return torch.sub(draw, quotient, alpha=V), quotient % parts


def hide(ids: Tensor, mask_id: int, slot: Tensor, word: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
    """(corrupted, labels) where the tokens at ``slot`` have these random words and parts."""
    flat = ids.flatten().long()
    old = flat.index_select(0, slot)
    new = torch.where(part < 512, mask_id, torch.where(part < 576, word, old))
    label = torch.where(part < PARTS, old, IGNORED)
    corrupted = flat.scatter(0, slot, new).view(ids.shape)
    labels = torch.full_like(flat, IGNORED).scatter_(0, slot, label).view(ids.shape)
    return corrupted.to(ids.dtype), labels.to(ids.dtype if ids.dtype.is_signed else torch.int64)


def check(
    formula: str, ids: Tensor, special: Tensor, mask_id: int, V: int, generator: Generator, **others: Tensor
) -> None:
    """Refuse what does not fit; ``others`` are boolean, one for each token, as ``special`` is."""
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise _refuse.dtypes(formula, "integer ids", ids=ids)
    for name, other in others.items():
        if other.dtype != torch.bool:
            raise _refuse.dtypes(formula, f"a boolean {name}", **{name: other})
    if special.dtype != torch.bool:
        raise _refuse.dtypes(formula, "a boolean special, True = never selected", special=special)
    given = {"ids": ids, **others, "special": special}
    if ids.dim() == 0 or any(x.shape != ids.shape for x in given.values()):
        raise _refuse.shapes(formula, ", ".join(f"{name} (... n)" for name in given), **given)
    if not 0 <= mask_id < V:
        raise ValueError(f"{formula}: expected V >= 1, 0 <= mask_id < V; got V {V}, mask_id {mask_id}")
    largest = torch.iinfo(ids.dtype).max
    if max(mask_id, V - 1) > largest:
        raise ValueError(
            f"{formula}: expected ids of a dtype that holds mask_id {mask_id} and V - 1 = {V - 1}; "
            f"got {str(ids.dtype).removeprefix('torch.')}, at most {largest}"
        )
    check_generator(formula, "ids", ids.device, generator)
    if ids.is_cpu and ids.numel():
        low, high = ids.long().aminmax()
        if low < 0 or high >= V:
            raise _refuse.out_of_range(formula, "ids", ids, V)

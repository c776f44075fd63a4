"""Whether lengths fit their sequences; gates packed in the order of one library or another."""

import torch
from torch import Tensor

from impl import _refuse
from impl._transforms import mapped


def lead_with_lengths(formula: str, lead: torch.Size, lengths: Tensor) -> torch.Size:
    """The batch axes of the data and of the lengths; refuse lengths that are no integers, and those with more axes."""
    _refuse.check_integers(formula, "integer lengths", lengths=lengths)
    return _refuse.check_belonging(formula, lead, 0, lengths=lengths)


def check_lengths(formula: str, lengths: Tensor, T: int) -> None:
    """Refuse lengths of nothing, and those beyond the end. On CUDA this waits for the device."""
    fit, line = (
        (lengths >= 1) & (lengths <= T),
        f"{formula}: expected lengths in 1..{T}, the number of elements",
    )
    if torch.compiler.is_compiling():
        torch._assert_async(fit.all(), line)
    elif not mapped() and not fit.all():
        raise ValueError(f"{line}; got {lengths[~fit][0].item()}")


def in_order(given: str, wanted: str, *packed: Tensor, axis: int) -> tuple[Tensor, ...]:
    """Packed weights, whose blocks along ``axis`` are in the order ``given``, with them in the order ``wanted``."""
    if given == wanted:
        return packed
    places = [given.index(block) for block in wanted]
    blocks = [each.chunk(len(wanted), axis) for each in packed]
    return tuple(torch.cat([each[place] for place in places], axis) for each in blocks)

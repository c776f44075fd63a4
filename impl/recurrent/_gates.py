"""Gates whose weights are packed one block below the other, in the order of one library or another."""

import torch
from torch import Tensor


def check_option(formula: str, name: str, option: str, options: tuple[str, ...]) -> None:
    """ValueError, in one line, for an option that is not among those of this name."""
    if option not in options:
        *others, last = map(repr, options)
        raise ValueError(f"{formula}: {name} is {', '.join(others)} or {last}; got {option!r}")


def in_order(given: str, wanted: str, *packed: Tensor, axis: int) -> tuple[Tensor, ...]:
    """Packed weights, whose blocks along ``axis`` are in the order ``given``, with them in the order ``wanted``."""
    if given == wanted:
        return packed
    places = [given.index(block) for block in wanted]
    blocks = [each.chunk(len(wanted), axis) for each in packed]
    return tuple(torch.cat([each[place] for place in places], axis) for each in blocks)

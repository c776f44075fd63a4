"""Whether tensors have the axes that a formula declares, sizes shared between them included; lengths within them; gates packed in
the order of one library or another.
"""

import re
from dataclasses import dataclass

import torch
from torch import Tensor

from impl import _refuse
from impl._transforms import mapped

MANY = 8
"""Tensors up to which an error lists all of them; beyond, it names the one that does not fit the others."""


@dataclass(frozen=True)
class Axes:
    """The axes of a formula's tensors, written as in its error line: ``Axes("x (... T p), h (... L+1 d), b (4*d)")``.

    An axis is a name, bound where it first stands, or something that its name determines: ``L+1``, ``4*d``, ``2``. A leading
    ``...`` stands for any number of batch axes.
    """

    text: str

    def __post_init__(self) -> None:
        parsed = re.findall(r"(\w+) \(([^)]*)\)", self.text)
        object.__setattr__(self, "_axes", [(name, axes.split()) for name, axes in parsed])

    def fit(self, formula: str, **given: Tensor) -> dict[str, int]:
        """The size of each named axis. ValueError unless all tensors fit; TypeError unless they share a floating dtype."""
        sizes: dict[str, int] = {}
        declared: list[tuple[str, list[str]]] = self._axes  # type: ignore[attr-defined]  # set from the text
        for place, (name, axes) in enumerate(declared):
            before = dict(sizes)
            if not _fits(given[name].shape, axes, sizes):
                if len(declared) <= MANY:
                    raise _refuse.shapes(formula, self.text, **given)
                known = ", ".join(f"{axis} = {size}" for axis, size in before.items())
                source = ", ".join(other for other, _ in declared[:place])
                expected = f"{name} ({' '.join(axes)})" + (f" with {known} from {source}" if known else "")
                raise _refuse.shapes(formula, expected, **{name: given[name]})
        _refuse.check_floating(formula, **given)
        return sizes


def _fits(shape: tuple[int, ...], axes: list[str], sizes: dict[str, int]) -> bool:
    """Whether a shape ends in the axes (and has no more, unless they begin with ``...``); binds the names it meets first."""
    if axes[:1] == ["..."]:
        axes = axes[1:]
        if len(shape) < len(axes):
            return False
    elif len(shape) != len(axes):
        return False
    for axis, size in zip(reversed(axes), reversed(shape), strict=False):
        if axis.isdigit():
            expected = int(axis)
        elif "*" in axis:
            factor, name = axis.split("*")
            expected = int(factor) * sizes.setdefault(name, size // int(factor))
        elif "+" in axis:
            name, plus = axis.split("+")
            expected = sizes.setdefault(name, size - int(plus)) + int(plus)
        else:
            expected = sizes.setdefault(axis, size)
        if expected != size or expected < 0:
            return False
    return True


def lead_with_lengths(formula: str, lead: torch.Size, lengths: Tensor) -> torch.Size:
    """The batch axes that those of the data and the lengths broadcast to; TypeError unless lengths are integers, ValueError for
    lengths with more axes.
    """
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise _refuse.dtypes(formula, "integer lengths", lengths=lengths)
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

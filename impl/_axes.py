"""Whether tensors have the axes that a formula declares, sizes shared between them included."""

import re
from dataclasses import dataclass

from torch import Tensor

from impl import _refuse

MANY = 8
"""Tensors up to which an error lists all of them; beyond, it names the one that does not fit the others."""


@dataclass(frozen=True)
class Axes:
    """The axes of a formula's tensors, written as in its error line: ``Axes("x (... T p), h (... L+1 d), b (4*d)")``.

    An axis is a name, bound where it first stands, or something that names determine: ``L+1``, ``4*d``, ``d+e``, ``2``. A leading
    ``...`` stands for any number of batch axes.
    """

    text: str

    def __post_init__(self) -> None:
        parsed = re.findall(r"(\w+) \(([^)]*)\)", self.text)
        object.__setattr__(self, "_axes", [(name, axes.split()) for name, axes in parsed])

    def fit(self, formula: str, **given: Tensor) -> dict[str, int]:
        """The size of each named axis. ValueError unless all fit; TypeError unless they are tensors of one floating dtype."""
        sizes: dict[str, int] = {}
        declared: list[tuple[str, list[str]]] = self._axes  # type: ignore[attr-defined]  # set from the text
        for place, (name, axes) in enumerate(declared):
            if not isinstance(given[name], Tensor):
                raise _refuse.kind(formula, name, "a tensor", given[name])
            before = dict(sizes)
            if not _fits(given[name].shape, axes, sizes):
                if len(declared) <= MANY:
                    raise _refuse.shapes(formula, self.text, **given)
                own = re.findall(r"\w+", " ".join(axes))
                known = ", ".join(f"{axis} = {size}" for axis, size in before.items() if axis in own)
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
    return all(
        _expected(axis, size, sizes) == size for axis, size in zip(axes[::-1], shape[::-1], strict=False)
    )


def _expected(axis: str, size: int, sizes: dict[str, int]) -> int:
    """What an axis has to be, given the names that are bound. One that is not is bound so that ``size`` is right, if it can."""
    if axis.isdigit():
        return int(axis)
    if "*" in axis:
        factor, name = axis.split("*")
        times = int(factor) if factor.isdigit() else sizes[factor]
        return times * sizes.setdefault(name, size // max(times, 1))
    if "+" in axis:
        name, more = axis.split("+")
        plus = int(more) if more.isdigit() else sizes[more]
        return max(sizes.setdefault(name, size - plus), 0) + plus
    return sizes.setdefault(axis, size)

"""A formula of the lines that a test writes: ``y`` of ``x`` where nothing else is said."""

from __future__ import annotations

from typing import Any

from spec.language import Formula, data, sizes, tensor

n, d = sizes("n d")
x, y = data("x", n, d), tensor("y", n)


def stated(
    *lines: Any, inputs: tuple[Any, ...] = (x,), outputs: tuple[Any, ...] = (y,), **rest: Any
) -> Formula:
    """A formula with these lines."""
    return Formula("test.stated", "Stated", inputs, lines, outputs, **rest)

"""A formula of the lines that a test writes: ``y`` of ``x`` where nothing else is said."""

from __future__ import annotations

from typing import Any

from spec.language import Convention, Formula, Sum, data, define, indices, sizes, tensor

n, d = sizes("n d")
x, y = data("x", n, d), tensor("y", n)
STYLE = Convention("style", {"plain": "as it is", "twice": "twice"}, default="plain")


def stated(
    *lines: Any, inputs: tuple[Any, ...] = (x,), outputs: tuple[Any, ...] = (y,), **rest: Any
) -> Formula:
    """A formula with these lines."""
    return Formula("test.stated", "Stated", inputs, lines, outputs, **rest)


def row() -> Formula:
    """A formula of one row."""
    (c,) = indices(c=d)
    v, s = data("v", d), tensor("s")
    return Formula("test.row", "Row", (v,), (define(s, Sum(v[c], c)),), (s,))

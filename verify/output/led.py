"""In scripts: a function that takes a certain number of leading dimensions only, called with others, in plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spec.language.formula import Formula
from verify.output.played import source
from verify.subject import leading


def led_lines(formula: Formula, allowed: Sequence[int]) -> list[str]:
    """The function called in the shapes that it takes, as in a check: :func:`verify.subject.leading.by_leading`."""
    helpers = (leading.by_leading, leading.one_by_one, leading.each)
    return [
        "",
        "",
        "from math import prod",
        *(line for helper in helpers for line in ("", "", *source(helper))),
        "",
        "",
        f"function = by_leading(function, {leading.carried(formula)!r}, {tuple(allowed)!r})",
    ]


def outputs_shapes(formula: Formula, sizes: dict[Any, int], batch: Sequence[int]) -> list[tuple[int, ...]]:
    """The shape of each output."""
    from spec.language.evaluation.dimensions import whole

    return [(*batch, *(whole(size, sizes) for size in t.shape)) for t in formula.outputs]


__all__ = ["led_lines", "outputs_shapes"]

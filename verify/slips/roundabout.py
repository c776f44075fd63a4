"""Functions written in another way, which is equal on paper and loses digits: as differences of numbers that are nearly equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.expr import Func, Literal, Minus, Over, Plus, Times
from spec.language.flatten import Flat
from spec.language.trees import transform

ONE, TWO = Literal(sympy.Integer(1)), Literal(sympy.Integer(2))


def _of(name: str, argument: Any) -> Any:
    return Func(Str(name), argument)


@dataclass(frozen=True)
class Roundabout:
    """A way in which a function is written: its name, what stands for it, and a sentence about it."""

    name: str
    written: Callable[[Any], Any]
    says: str

    def __call__(self, flat: Flat) -> Flat:
        """Lines with the function written so wherever it stands."""
        return _written(self, flat)


ROUNDABOUT = (
    Roundabout(
        "sigmoid",
        lambda u: Over(Plus(ONE, _of("tanh", Over(u, TWO))), TWO),
        "σ(u) is computed as a difference of numbers near 1, such as (1 + tanh(u/2))/2: its relative digits are lost where u is "
        "far below 0",
    ),
    Roundabout(
        "tanh",
        lambda u: Minus(Times(TWO, _of("sigmoid", Times(TWO, u))), ONE),
        "tanh(u) is computed as a difference of numbers near 1, such as 2σ(2u) − 1: relative digits are lost where u is near 0",
    ),
)
"""Such ways that are in use."""


@lru_cache(maxsize=64)
def _written(way: Roundabout, flat: Flat) -> Flat:
    def rule(part: Basic) -> Basic | None:
        found = isinstance(part, Func) and part.name == way.name
        return way.written(part.args[1]) if found else None

    lines = tuple(replace(line, right=transform(line.right, rule)) for line in flat.lines)
    return flat if lines == flat.lines else replace(flat, lines=lines)


__all__ = ["ROUNDABOUT", "Roundabout"]

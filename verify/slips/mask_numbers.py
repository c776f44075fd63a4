"""What becomes of a mask that is not a condition but a number among the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.binders import Bound
from spec.language.expr import TRUE, Always, Case, Func, Leaf, Literal, Minus, Not, Plus, Ref, Times
from spec.language.trees import refs


def remove_masks(node: Any, enter: Callable[[Any, Any], Any], condition: Any = TRUE) -> Any:
    """A part without its conditions; ``enter(u, condition)`` stands instead of each u whose exponential they guarded."""
    if isinstance(node, Case) and _masks(node.args[0]):
        return remove_masks(node.args[1], enter, node.args[0])
    if isinstance(node, Bound) and _masks(node.where):
        return node.func(remove_masks(node.body, enter, node.where), *node.args[1:4], TRUE)
    if isinstance(node, Func) and node.name == "exp" and not isinstance(condition, Always):
        return Func(node.args[0], enter(node.args[1], condition))
    if isinstance(node, Leaf | Str | Ref | Literal) or not node.args:
        return node
    return node.func(*(remove_masks(a, enter, condition) if isinstance(a, Basic) else a for a in node.args))


def _masks(condition: Any) -> bool:
    """Whether a condition reads a mask, or what is made of one."""
    return any(part.tensor.domain == "boolean" for part in refs(condition))


def _number(condition: Any) -> Any:
    return Case(condition, Literal(sympy.Integer(1)), Literal(sympy.Integer(0)))


def fill(value: Any) -> Callable[[Any, Any], Any]:
    """Hidden scores replaced by a number."""
    return lambda u, condition: Case(condition, u, Literal(sympy.sympify(value)))


def _lower_masked(value: int) -> Callable[[Any, Any], Any]:
    by = Literal(sympy.Integer(value))
    return lambda u, condition: Minus(u, Times(by, _number(Not(condition))))


MASKS: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    (
        "a boolean mask is added to the scores as if it were additive: True adds 1, and hides nothing",
        lambda u, condition: Plus(u, _number(condition)),
    ),
    (
        "the scores are multiplied by the mask: a hidden score is 0, and exp(0) = 1 still counts",
        lambda u, condition: Times(u, _number(condition)),
    ),
    ("hidden scores are set to 0, and exp(0) = 1 still counts", fill(0)),
    *(
        (f"hidden scores are set to {value}, a finite number that is too near, and still count", fill(value))
        for value in (-1, -2, -5, -10, -20, -50, -100)
    ),
    *(
        (f"hidden scores are lowered by {value} only, and still count", _lower_masked(value))
        for value in (1, 2, 5, 10, 20, 50, 100)
    ),
    (
        "hidden scores are filled with a finite number, and a query that sees nothing gets the mean of all",
        fill(-(10**9)),
    ),
)
"""What becomes of a mask that is not a condition but a number among the scores."""


__all__ = ["MASKS", "fill", "remove_masks"]

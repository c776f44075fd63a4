"""Functions that are taken for one another: activations, tanh and σ, sine and cosine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.arrays import DISCRETE
from spec.language.binders import Bound
from spec.language.expr import Case, Compare, Func, Literal, Over, Plus, Power, Ref, Times
from spec.language.trees import refs, transform
from verify.slips.spots import Spot, Written

HALF, ONE, ZERO = Literal(sympy.Rational(1, 2)), Literal(sympy.Integer(1)), Literal(sympy.Integer(0))


def _make_call(name: str, argument: Any) -> Any:
    return Func(Str(name), argument)


def _gelu(u: Any) -> Any:
    return Times(
        Times(HALF, u), Plus(ONE, _make_call("erf", Over(u, _make_call("sqrt", Literal(sympy.Integer(2))))))
    )


def _gelu_tanh(u: Any) -> Any:
    cubic = Times(Literal(sympy.Rational(44715, 10**6)), Power(u, Literal(sympy.Integer(3))))
    inner = Times(Literal(sympy.Rational(7978845608028654, 10**16)), Plus(u, cubic))
    return Times(Times(HALF, u), Plus(ONE, _make_call("tanh", inner)))


def _relu(u: Any, below: Any = ZERO) -> Any:
    return Case(Compare(Str("<"), sympy.S.Zero, u), u, below)


ACTIVATIONS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("no activation", lambda u: u),
    ("ReLU", _relu),
    ("GELU", _gelu),
    ("GELU by tanh", _gelu_tanh),
    ("SiLU", lambda u: Times(u, _make_call("sigmoid", u))),
    (
        "GELU by a sigmoid",
        lambda u: Times(u, _make_call("sigmoid", Times(Literal(sympy.Rational(1702, 1000)), u))),
    ),
    ("tanh", lambda u: _make_call("tanh", u)),
    ("a sigmoid", lambda u: _make_call("sigmoid", u)),
    ("leaky ReLU", lambda u: _relu(u, Times(Literal(sympy.Rational(1, 100)), u))),
    ("a squared ReLU", lambda u: Power(_relu(u), Literal(sympy.Integer(2)))),
)
"""Activations that are taken for one another."""


def activations(spot: Spot) -> Written:
    """A line that applies a function to one entry, where another activation may stand."""
    inside = set(refs(spot.part))
    if spot.whole and len(inside) == 1 and not isinstance(spot.part, Ref | Bound):
        (entry,) = inside
        if entry.tensor.domain not in DISCRETE:
            for name, function in ACTIVATIONS:
                yield f"{{line}} is {name} of {entry}, not {_activation(spot.part)}", function(entry)


def added_activations(spot: Spot) -> Written:
    """A function of the whole line, where the statement has none: an activation behind a projection, or behind the last layer."""
    if spot.whole and not isinstance(spot.part, Case | Func) and spot.line.left.tensor.domain == "real":
        for name, function in ACTIVATIONS[1:]:
            yield f"{name} is applied to {{line}}", function(spot.part)


def _activation(part: Any) -> str:
    """What an activation is called, or how it is written."""
    (entry,) = set(refs(part))
    return next((name for name, function in ACTIVATIONS if function(entry) == part), str(part))


SIMILAR = (("tanh", "sigmoid", "erf"), ("sin", "cos"))
"""Functions that are taken for one another."""


def exchange_functions(node: Any, one: str, two: str) -> Any:
    """A line with two functions exchanged for each other."""

    def rule(part: Basic) -> Basic | None:
        if isinstance(part, Func) and part.name in (one, two):
            return _make_call(two if part.name == one else one, part.args[1])
        return None

    return transform(node, rule)


def functions(spot: Spot) -> Written:
    """A function that is left out, or another of its kind."""
    part = spot.part
    if isinstance(part, Func):
        argument = part.args[1]
        for name in (n for kind in SIMILAR if part.name in kind for n in kind if n != part.name):
            new = Func(Str(name), argument)
            yield f"{{line}} has {name} instead of {part.name}", new
        yield f"{{line}} has no {part.name}", argument
        for name, function in ACTIVATIONS[1:] if part.name in SIMILAR[0] else ():
            if name not in (part.name, "a sigmoid"):
                yield f"{{line}} has {name} instead of {part.name}", function(argument)
    if isinstance(part, Power) and part.args[1] == Literal(sympy.Integer(2)):
        yield f"{{line}} has no square: {part.args[0]} instead of {part}", part.args[0]
        yield f"{{line}} has an absolute value instead of {part}", Func(Str("abs"), part.args[0])


__all__ = ["SIMILAR", "activations", "added_activations", "exchange_functions", "functions"]

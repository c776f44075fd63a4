"""Derivatives of elementwise expressions with respect to one reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.arrays import DISCRETE
from spec.language.binders import Bound, MaxOf
from spec.language.exact import is_whole
from spec.language.expr import (
    Case,
    Func,
    Literal,
    Minus,
    Negative,
    Node,
    Over,
    Plus,
    Power,
    Ref,
    Times,
    Undefined,
    case,
    eq,
    lift,
)
from spec.language.flatten import Flat
from spec.language.trees import walk


def derivative(node: Any, leaf: Ref) -> Node | None:
    """The derivative of an expression without sums with respect to one reference; None where it is 0.

    Raises:
        TypeError: an expression that cannot be differentiated, such as a maximum.
    """
    if node == leaf:
        return lift(1)
    if isinstance(node, Ref | Literal | Undefined) or leaf not in set(walk(node)):
        return None
    if isinstance(node, Case):
        then, otherwise = (derivative(part, leaf) for part in node.args[1:])
        if then is None and otherwise is None:
            return None
        return Case(
            node.args[0], lift(0) if then is None else then, lift(0) if otherwise is None else otherwise
        )
    parts = [derivative(part, leaf) for part in node.args if isinstance(part, Node)]
    rule = _RULES.get(type(node))
    if rule is None:
        raise TypeError(f"{type(node).__name__} cannot be differentiated: {node}")
    return rule(node, parts)


def two_sided_slope(share: Func) -> tuple[Node, Node]:
    """The slope of σ(a) as it is derived, and where a statement has 1 − σ(a) beside it.

    Who writes that as σ(−a) forms the slope of this one, σ(−a)(1 − σ(−a)), which loses the digits where σ(a) is small; the other
    form loses them where it is near 1. The second result, exactly the same number, has the roundings of both.
    """
    rest = Func(Str("sigmoid"), Negative(share.args[1]))
    one = lift(1)
    slope = Times(share, Minus(one, share))
    return slope, Minus(Plus(slope, Times(rest, Minus(one, rest))), Times(share, rest))


def product(a: Node, b: Node) -> Node:
    """a·b, without a factor 1."""
    one = lift(1)
    return b if a == one else a if b == one else Times(a, b)


def _sum(a: Node | None, b: Node | None) -> Node | None:
    return b if a is None else a if b is None else Plus(a, b)


def _minus(a: Node | None, b: Node | None) -> Node | None:
    return a if b is None else Negative(b) if a is None else Minus(a, b)


def _times(node: Any, d: list[Node | None]) -> Node | None:
    a, b = node.args
    if a == b and d[0] is not None:
        return product(Times(lift(2), a), d[0])
    left = None if d[0] is None else product(d[0], b)
    right = None if d[1] is None else product(a, d[1])
    return _sum(left, right)


def _over(node: Any, d: list[Node | None]) -> Node | None:
    _, b = node.args
    left = None if d[0] is None else Over(d[0], b)
    right = None if d[1] is None else Over(product(node, d[1]), b)
    return _minus(left, right)


def _power(node: Any, d: list[Node | None]) -> Node | None:
    a, y = node.args
    if d[1] is not None or not isinstance(y, Literal):
        raise TypeError(f"a power is differentiated in its base only: {node}")
    if d[0] is None:
        return None
    lower = a if y == lift(2) else Power(a, Literal(y.value - 1))
    slope: Node = Times(y, lower)
    if not y.value.is_Rational and is_whole(y.value):  # an index: a⁰ is 1 at every a
        slope = case(eq(y.value, 0), 0, slope)
    return product(slope, d[0])


def _func(node: Any, d: list[Node | None]) -> Node | None:
    (inner,) = d
    if inner is None:
        return None
    if node.name not in SLOPES:
        raise TypeError(f"{node.name} cannot be differentiated: {node}")
    return product(SLOPES[node.name](node, node.args[1]), inner)


SLOPES: dict[str, Callable[[Any, Any], Node]] = {
    "exp": lambda node, a: node,
    # 1/x, written with the logarithm: who keeps that alone, as every log-sum-exp does, has its rounding in the slope.
    "log": lambda node, a: Over(lift(1), Func(Str("exp"), node)),
    "sqrt": lambda node, a: Over(lift(1), Times(lift(2), node)),
    "sin": lambda node, a: Func(Str("cos"), a),
    "cos": lambda node, a: Negative(Func(Str("sin"), a)),
    "tanh": lambda node, a: Minus(lift(1), Times(node, node)),
    "sigmoid": lambda node, a: Times(node, Minus(lift(1), node)),
    "erf": lambda node, a: Times(
        Over(lift(2), Func(Str("sqrt"), lift(sympy.pi))), Func(Str("exp"), Negative(Times(a, a)))
    ),
}
"""The slope of f(a), from f(a) and a."""


_RULES: dict[type, Any] = {
    Plus: lambda node, d: _sum(*d),
    Minus: lambda node, d: _minus(*d),
    Negative: lambda node, d: None if d[0] is None else Negative(d[0]),
    Times: _times,
    Over: _over,
    Power: _power,
    Func: _func,
}


def obstacle(part: Basic) -> str:
    """Why a part is not differentiated, in words; empty if it is."""
    if isinstance(part, MaxOf):
        return "a maximum"
    if isinstance(part, Func) and part.name not in SLOPES:
        return part.name
    if isinstance(part, Power) and not isinstance(part.args[1], Literal):
        return "a power whose exponent is no number"
    return ""


def valued(node: Basic) -> Iterator[Basic]:
    """A node and the parts of it whose values pass into its own: conditions, ranges and indices apart."""
    yield node
    if isinstance(node, Ref | Literal):
        return
    parts = (
        node.args[1:] if isinstance(node, Case) else node.args[:1] if isinstance(node, Bound) else node.args
    )
    for part in parts:
        yield from valued(part)


def _read(node: Basic) -> list[str]:
    return [part.tensor.name for part in valued(node) if isinstance(part, Ref)]


@lru_cache(maxsize=256)
def obstacles(flat: Flat) -> Mapping[str, str]:
    """For each tensor that reaches an output through such a part, or may: the part, in words."""
    found: dict[str, str] = {}
    lines = [line for line in flat.lines if line.left.tensor.domain not in DISCRETE]
    for line in lines:
        for part in valued(line.right):
            said = obstacle(part)
            if said:
                found |= {name: said for name in _read(part) if name not in found}
    before = -1
    while before < len(found):
        before = len(found)
        for line in lines:
            if line.name in found:
                found |= {name: found[line.name] for name in _read(line.right) if name not in found}
    return found

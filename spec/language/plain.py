"""Statements as plain SymPy, to play with: sums, indexed symbols, and expressions that SymPy may simplify and differentiate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.binders import AnyOf, Bound, MaxOf, SumOf
from spec.language.expr import (
    Always,
    Both,
    Case,
    Compare,
    Delta,
    Either,
    Func,
    Literal,
    Minus,
    Negative,
    Node,
    Not,
    Over,
    Plus,
    Power,
    Ref,
    Times,
    Undefined,
)
from spec.language.formula import Formula

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": sympy.exp, "log": sympy.log, "sqrt": sympy.sqrt, "sin": sympy.sin, "cos": sympy.cos, "tanh": sympy.tanh,
    "erf": sympy.erf, "abs": sympy.Abs, "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)), "stop": lambda x: x,
    "round": sympy.Function("round"),
}  # fmt: skip
RELATIONS = {"<=": sympy.Le, "<": sympy.Lt, "==": sympy.Eq}
COMBINED: dict[type[Node], Callable[..., Any]] = {
    Plus: lambda a, b: a + b,
    Minus: lambda a, b: a - b,
    Times: lambda a, b: a * b,
    Over: lambda a, b: a / b,
    Power: lambda a, b: a**b,
    Negative: lambda a: -a,
    Both: sympy.And,
    Either: sympy.Or,
    Not: sympy.Not,
    Delta: sympy.KroneckerDelta,
}
HIGHEST, SOME = sympy.Function("highest"), sympy.Function("some")
"""The largest of values over an index, and whether one of them holds: SymPy has neither, so they stay names."""


def to_sympy(formula: Formula, conventions: Mapping[str, str] | None = None) -> dict[str, list[sympy.Eq]]:
    """The primitive lines of a formula as equations between plain SymPy expressions, by the array that they define.

    An array is a ``sympy.IndexedBase`` of its name, a number a symbol; an entry of a mask holds where it is not 0. A value that
    the statement leaves unsaid is NaN. Where arrays have whole numbers as sizes, ``.subs`` and ``.doit()`` write a sum out.
    """
    found: dict[str, list[sympy.Eq]] = {}
    for line in formula.flat(conventions).lines:
        equation = sympy.Eq(_plain(line.left), _plain(line.right), evaluate=False)
        found.setdefault(line.name, []).append(equation)
    return found


def _plain(node: Any) -> Any:
    """A node as an expression or a condition of SymPy."""
    for kind, combine in COMBINED.items():
        if isinstance(node, kind):
            return combine(*map(_plain, node.args))
    match node:
        case Ref():
            return _entry(node)
        case Tensor():
            return sympy.Symbol(node.name)
        case Literal():
            return node.value
        case Func():
            return FUNCTIONS[node.name](_plain(node.args[1]))
        case Case():
            condition, then, otherwise = map(_plain, node.args)
            return sympy.Piecewise((then, condition), (otherwise, True))
        case Compare():
            return RELATIONS[node.args[0].name](*map(_plain, node.args[1:]))
        case Always():
            return sympy.true
        case Undefined():
            return sympy.nan
        case Bound():
            return _bound(node)
    assert not isinstance(node, Node), f"{type(node).__name__} has no place in a primitive line"
    return node.xreplace({part: _entry(part) for part in node.find(Ref)}) if isinstance(node, Basic) else node


def _entry(node: Ref) -> Any:
    """An entry of an array; of one without axes, the number. One of truth values holds where it is not 0."""
    tensor, index = node.tensor, [_plain(place) for place in node.index]
    value = sympy.IndexedBase(tensor.name)[tuple(index)] if index else sympy.Symbol(tensor.name)
    return sympy.Ne(value, 0) if tensor.domain == "boolean" else value


def _bound(node: Bound) -> Any:
    """A sum, or a name for what SymPy has not; what a condition excludes is 0."""
    body, where = _plain(node.body), _plain(node.where)
    span = (node.var, node.first, node.last)
    if isinstance(node, SumOf):
        if where is not sympy.true:
            body = sympy.Piecewise((body, where), (0, True))
        return sympy.Sum(body, span)
    name = {MaxOf: HIGHEST, AnyOf: SOME}[type(node)]
    said = sympy.Piecewise((body, where), (sympy.nan, True)) if where is not sympy.true else body
    return (
        name(said, sympy.Tuple(*span))
        if isinstance(node, MaxOf)
        else sympy.Ne(name(said, sympy.Tuple(*span)), 0)
    )

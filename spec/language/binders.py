"""Nodes that bind an index or a tensor: sums, maxima, "for some" and "for every", expectations."""

from __future__ import annotations

from typing import Any

import sympy

from spec.language.expr import TRUE, Node, Not, arg, lift
from spec.language.symbols import span


class Bound(Node):
    """A node that binds one index over a range: ``args`` are body, index, first, last, condition."""

    body = arg(0, Node, "What is summed, maximised or asked for.")
    var = arg(1, sympy.Symbol, "The bound index.")
    first = arg(2, sympy.Expr, "The first value of the index.")
    last = arg(3, sympy.Expr, "The last value of the index, included.")
    where = arg(4, Node, "The condition under which an index counts.")


class SumOf(Bound):
    """A sum over the permitted indices of a range; excluded terms are never evaluated."""


class MaxOf(Bound):
    """The largest permitted value over a range; undefined when there is none."""


class AnyOf(Bound):
    """Whether a condition (the body) holds for some permitted index of a range."""


def Sum(body: Any, *spans: Any, where: Any = TRUE) -> SumOf:
    """``Sum(f, j, where=mask[i, j])``: the sum of ``f`` over ``j`` with ``mask[i, j]``; over several, the last innermost."""
    if not spans:
        raise TypeError("a sum runs over an index: Sum(f, j), or Sum(f, (j, m))")
    *outer, inner = spans
    total = SumOf(lift(body), *span(inner), lift(where))
    for one in reversed(outer):
        total = SumOf(total, *span(one), TRUE)
    return total


def Max(body: Any, over: Any, where: Any = TRUE) -> MaxOf:
    """The maximum of ``body`` over the permitted values of an index."""
    return MaxOf(lift(body), *span(over), lift(where))


def Some(condition: Any, over: Any) -> AnyOf:
    """Whether ``condition`` holds for some value of an index."""
    return AnyOf(lift(condition), *span(over), TRUE)


def Every(condition: Any, over: Any) -> Not:
    """The condition that ``condition`` holds for every value of an index."""
    return Not(Some(Not(lift(condition)), over))


class Expectation(Node):
    """The expectation of a body; ``args``: body, then the random tensors (independent entries, mean 0, variance 1)."""

    body = arg(0, Node, "What the expectation is of.")

    @property
    def random(self) -> tuple[Any, ...]:
        """The random tensors."""
        return tuple(self.args[1:])


def expected(body: Any, *random: Any) -> Expectation:
    """``expected(f, q, k)``: E f when all entries of q and k are independent with mean 0 and variance 1."""
    return Expectation(lift(body), *random)

"""Estimates by sums in the prover, and that they do not say too much."""

from __future__ import annotations

import pytest

from spec.language import (
    Assurance,
    Node,
    Sum,
    Tensor,
    Theorem,
    absolute,
    claim,
    exp,
    indices,
    le,
    lift,
    log,
    lt,
    sizes,
    tanh,
)
from spec.language.formula import Formula
from spec.language.known import forget
from spec.language.proving.proof import check

n, m = sizes("n m")
i, j, l = indices("i j l")
x, y = Tensor("x", (n,), "real", "given"), Tensor("y", (n, m), "real", "given")
p, q = Tensor("p", (n,), "positive", "given"), Tensor("q", (n,), "nonnegative", "given")


def shown(left: object, relation: str, right: object, where: Node | None = None) -> bool:
    """Whether the prover sees a claim at every i and l < n, and j < m, without further help."""
    guard = {} if where is None else {"where": where}
    made = claim(left, relation, right, (i, n), (l, n), (j, m), **guard)
    theorem = Theorem("claimed", "claimed", (made,), given=(x, y, p, q))
    formula = Formula("test.bounds", "", (), (), (), auxiliary=True)
    try:
        return check(theorem, formula, guard=False).assurance == Assurance.PROVED
    finally:
        forget(formula.id)


total = Sum(y[i, j], (j, 0, m - 1))
sizes_ = Sum(absolute(y[i, j]), (j, 0, m - 1))
every = Sum(exp(x[l]), (l, 0, n - 1))

RIGHT = {
    "the triangle inequality": (absolute(total), "<=", sizes_),
    "the triangle inequality for two": (absolute(x[i] - x[l]), "<=", absolute(x[i]) + absolute(x[l])),
    "with factors": (p[i] * absolute(2 * total), "<=", 2 * p[i] * sizes_),
    "a sum is at least each of its terms": (exp(x[i]), "<=", every),
    "terms that are at least 0": (q[i], "<=", Sum(q[l], (l, 0, n - 1))),
    "ln Σ exp is at least each score": (x[i], "<=", log(every)),
    "ln is monotone": (log(p[i]), "<=", log(p[i] + q[i])),
    "a common factor does not change a sign": (p[i] * x[i] * tanh(x[l]), "<=", p[i] * absolute(x[i])),
}
WRONG = {
    "the triangle inequality turned round": (sizes_, "<=", absolute(total)),
    "absolute values outside alone": (absolute(total), "<=", total),
    "a difference of absolute values": (absolute(x[i]) + absolute(x[l]), "<=", absolute(x[i] - x[l])),
    "a negative factor": (x[i] * absolute(total), "<=", x[i] * sizes_),
    "terms of any sign": (x[i], "<=", Sum(x[l], (l, 0, n - 1))),
    "two terms of a sum that may be one": (exp(x[i]) + exp(x[l]), "<=", every),
    "a term that is left out": (exp(x[i]), "<=", Sum(exp(x[l]), (l, 0, n - 2))),
    "a sum strictly above a term": (q[i], "<", Sum(q[l], (l, 0, n - 1))),
    "ln Σ exp strictly above each score": (x[i], "<", log(every)),
    "ln at most its argument less 2": (log(p[i]), "<=", p[i] - 2),
    "ln turned round": (log(p[i] + q[i]), "<=", log(p[i])),
}


@pytest.mark.parametrize("name", RIGHT)
def test_an_estimate_is_seen(name: str) -> None:
    """Without a step of its own."""
    assert shown(*RIGHT[name])


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_follow_is_not_seen(name: str) -> None:
    """Each is false for some numbers."""
    assert not shown(*WRONG[name])


def test_two_terms_at_different_places_may_be_taken_from_a_sum() -> None:
    """Each of them, not both at once, unless they are told apart."""
    assert shown(exp(x[i]), "<=", every, where=lt(i, l))
    assert not shown(exp(x[i]), "<=", Sum(exp(x[j]), (j, 0, i - 1)), where=le(0, i))


def test_logarithms_of_products_come_apart_only_where_the_factors_are_positive() -> None:
    """ln(x·y) of two negative numbers is no sum of logarithms."""
    assert shown(log(p[i] * p[l]), "=", log(p[i]) + log(p[l]))
    assert shown(log(1 / p[i]), "=", -log(p[i]))
    assert not shown(log(lift(1) * x[i] * x[i]), "=", 2 * log(x[i]))

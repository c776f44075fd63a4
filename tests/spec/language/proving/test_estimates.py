"""Estimates in the prover: absolute values taken apart, exponentials against their tangent, saturating functions, index parts."""

from __future__ import annotations

import numpy as np
import pytest

from spec.language import (
    Node,
    Sum,
    Tensor,
    Theorem,
    absolute,
    case,
    claim,
    exp,
    le,
    lift,
    log,
    lt,
    sigmoid,
    sin,
    sizes,
    tanh,
)
from spec.language.evaluation.evaluate import enclose
from spec.language.formula import Formula
from spec.language.known import forget
from spec.language.lines import define
from spec.language.proving.proof import check
from spec.language.symbols import indices
from spec.language.theorem import Assurance
from spec.language.trees import walk

n, m = sizes("n m")
i, j = indices("i j")
x, y = Tensor("x", (n,), "real", "given"), Tensor("y", (n,), "real", "given")
p = Tensor("p", (n,), "positive", "given")

(k,) = indices(k=n)
WHOLE, MEAN, RAISED = Sum(p[k], k), Sum(p[k] * x[k], k), Sum(p[k] * exp(x[k]), k)


def proved(
    left: object, relation: str, right: object, gap: Node | None = None, where: Node | None = None
) -> bool:
    """Whether the prover accepts a claim at every i < n, j < m."""
    made = claim(left, relation, right, (i, n), (j, m), **({} if where is None else {"where": where}))
    theorem = Theorem("claimed", "", (made.because("visibly at least 0", gap=gap),), given=(x, y, p))
    formula = Formula("test.estimates", "", (), (), (), auxiliary=True)
    try:
        return check(theorem, formula, guard=False).assurance == Assurance.PROVED
    finally:
        forget(formula.id)


def holds(condition: Node) -> bool:
    """Whether the prover finds that a condition always holds."""
    return proved(case(condition, 1), "=", 1)


RIGHT = {
    "a sigmoid is below 1": lt(sigmoid(x[i]), 1),
    "a hyperbolic tangent is above −1": lt(-1, tanh(x[i])),
    "a positive multiple of a sigmoid is below the multiple": lt(p[i] * sigmoid(x[i]), p[i]),
    "an absolute value is at least its argument": le(x[i] - y[i], absolute(x[i] - y[i])),
    "two numbers of a range differ by less than its length": lt(absolute(j - m * sigmoid(x[i])), m + p[i]),
    "an index below a size, and something positive": lt(0, m - j + p[i]),
    "an exponential lies above its tangent": le(1 + x[i], exp(x[i])),
    "also at a square": le(1 - x[i] ** 2, exp(-(x[i] ** 2))),
    "a mean of exponentials is at least the exponential of the mean": le(exp(MEAN / WHOLE), RAISED / WHOLE),
    "so with logarithms": le(MEAN / WHOLE, log(RAISED / WHOLE)),
    "logarithms that count alike": le((log(p[i]) - log(p[i] + 1)) / 2, 0),
    "three of them": le(log(p[i]) + log(p[i] + 1) - log((p[i] + 1) ** 2), 0),
}
WRONG = {
    "a sine is below 1": lt(sin(x[i]), 1),
    "a multiple of a sigmoid is below the multiple": lt(x[i] * sigmoid(y[i]), absolute(x[i])),
    "an absolute value is at most its argument": le(absolute(x[i] - y[i]), x[i] - y[i]),
    "two numbers of a range differ by less than one below its length": lt(
        absolute(j - m * sigmoid(x[i])), m - 1
    ),
    "an index below a size, and any number": lt(0, m - j + x[i]),
    "twice an index below a size": lt(0, m - 2 * j + p[i]),
    "an exponential lies below its tangent": le(exp(x[i]), 1 + x[i]),
    "an exponential lies above a steeper line": le(1 + 2 * x[i], exp(x[i])),
    "an exponential lies strictly above its tangent": lt(1 + x[i], exp(x[i])),
    "a mean of exponentials is at most the exponential of the mean": le(RAISED / WHOLE, exp(MEAN / WHOLE)),
    "a mean of exponentials is above the exponential of twice the mean": le(
        exp(2 * MEAN / WHOLE), RAISED / WHOLE
    ),
    "also with weights of any sign": le(
        exp(Sum(y[k] * x[k], k) / Sum(y[k], k)), Sum(y[k] * exp(x[k]), k) / Sum(y[k], k)
    ),
    "logarithms that do not count alike": le((log(p[i]) - 2 * log(p[i] + 1)) / 2, -1),
    "a logarithm of half a number is at least 0": le(0, log(p[i]) / 2),
    "three logarithms the other way": le(0, log(p[i]) + log(p[i] + 1) - log((p[i] + 1) ** 2)),
    "a difference of exponentials lies above that of their tangents": le(x[i] - y[i], exp(x[i]) - exp(y[i])),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_estimate_is_found(name: str) -> None:
    """The prover sees it."""
    assert holds(RIGHT[name])


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_estimate_is_not(name: str) -> None:
    """The prover does not claim what fails for some numbers."""
    assert not holds(WRONG[name])


def test_one_minus_an_exponential_has_the_sign_that_its_written_exponent_shows() -> None:
    """A square that is multiplied out in the normal form is seen in the tree, and only with the right sign."""
    square = (x[i] - y[i]) ** 2 / p[i]
    assert proved(exp(-square), "<=", 1, gap=1 - exp(-square))
    assert proved(1, "<=", exp(square), gap=exp(square) - 1)
    assert not proved(exp(square), "<=", 1, gap=1 - exp(square))
    assert not proved(exp(x[i] - y[i]), "<=", 1, gap=1 - exp(x[i] - y[i]))


@pytest.mark.parametrize("seed", range(60))
def test_what_is_found_to_be_at_least_zero_is(seed: int) -> None:
    """Random sums of such terms: wherever the prover finds a sum to be at least 0, it is, at random points."""
    rng = np.random.default_rng(seed)
    parts: list[Node] = [
        x[i], y[i], p[i], lift(1), lift(m), lift(j), absolute(x[i] - y[i]), absolute(x[i]), exp(x[i]), exp(x[i] - y[i]),
        sigmoid(y[i]), m * sigmoid(x[i]), absolute(j - m * sigmoid(x[i])), p[i] * tanh(y[i]), x[i] * tanh(y[i]),
    ]  # fmt: skip
    total = lift(0)
    for place in rng.choice(len(parts), int(rng.integers(2, 5)), replace=False):
        total = total + int(rng.choice([-2, -1, 1, 1, 2])) * parts[int(place)]
    if not proved(0, "<=", total, gap=total):
        return
    out = Tensor("out", (n, m))
    inputs = (n, m, *(item for item in (x, y, p) if item in walk(total)))
    formula = Formula("test.found", "", inputs, (define(out[i, j], total),), (out,), auxiliary=True)
    try:
        for count in (1, 3):
            scale = 10.0 ** rng.integers(-2, 2)
            drawn = {item: scale * rng.standard_normal(40) for item in (x, y, p)}
            values = [np.abs(drawn[item]) if item is p else drawn[item] for item in inputs[2:]]
            (found,) = enclose(formula, [40, count, *values])
            assert all(ball > -1e-25 for ball in found.flat), str(total)
    finally:
        forget(formula.id)

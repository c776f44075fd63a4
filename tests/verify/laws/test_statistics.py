"""Exact tests for counts: tails against FLINT and fractions, sizes and false alarms by exact computation."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest

from verify.laws.statistics import (
    Tally,
    binomial_p,
    chernoff_p,
    lower_tail,
    poisson_binomial,
    region,
    sample_size,
    upper_tail,
)

LEVEL = 1e-9 / 20


def exact_upper(k: int, n: int, p: Fraction) -> Fraction:
    """P(X ≥ k), as a fraction."""
    return sum((math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(max(k, 0), n + 1)), Fraction(0))


@pytest.mark.parametrize("p", [Fraction(3, 20), Fraction(1, 10), Fraction(1, 2), Fraction(99, 100)])
@pytest.mark.parametrize("n", [1, 7, 60, 200])
def test_tails_are_never_below_the_exact_ones_and_tight(n: int, p: Fraction) -> None:
    """A returned tail is at least the exact one (as a fraction), and above the mean at most a millionth more."""
    for k in range(n + 2):
        exact = exact_upper(k, n, p)
        found = upper_tail(k, n, float(p))
        assert found >= float(exact) * (1 - 1e-15)
        if k > n * p:
            assert found <= float(exact) * (1 + 2e-6)
        assert lower_tail(n - k, n, float(1 - p)) >= float(exact) * (1 - 1e-12)


@pytest.mark.parametrize(
    ("k", "n"), [(94_000, 620_000), (95_000, 620_000), (96_500, 620_000), (1_700, 10_000)]
)
def test_large_tails_agree_with_flints_incomplete_beta(k: int, n: int) -> None:
    """At the sizes in use, tails agree with FLINT's rigorous regularized incomplete beta function."""
    saved, flint.ctx.prec = flint.ctx.prec, 200
    try:
        p = flint.arb(flint.fmpq(3, 20))
        exact = p.beta_lower(flint.arb(k), flint.arb(n - k + 1), True)
        ratio = float((flint.arb(upper_tail(k, n, 0.15)) / exact).mid())
    finally:
        flint.ctx.prec = saved
    assert 1 <= ratio <= 1 + 3e-6


def test_a_sample_is_as_large_as_it_must_be_and_hardly_larger() -> None:
    """Two per cent fewer trials lack the power; so many are 80 896 for 10 against 9 % and 116 224 for 15 against 14 %."""
    joint = 0.15**2
    cases = ((0.10, 0.09), (0.15, 0.14), (0.15, 0.16), (joint, joint + 0.05 * 0.15 * 0.85))
    found = [sample_size(p0, p1, LEVEL, 0.999) for p0, p1 in cases]
    assert found == [80_896, 116_224, 121_984, 56_576]
    for size, (p0, p1) in zip(found, cases, strict=True):
        fewer = size * 98 // 100
        assert any(
            region(n, p0, LEVEL).power(p1) < 0.999 for n in range(fewer, fewer + fewer // 100, fewer // 300)
        )


@pytest.mark.parametrize(
    ("p0", "p1"), [(0.10, 0.09), (0.15, 0.14), (0.15, 0.16), (0.0225, 0.028875), (0.5, 0.9)]
)
def test_the_size_keeps_false_alarm_and_power(p0: float, p1: float) -> None:
    """At the computed size the false alarm, computed exactly, is at most α and the power at least what was asked."""
    n = sample_size(p0, p1, LEVEL, 0.999)
    test = region(n, p0, LEVEL)
    assert lower_tail(test.low - 1, n, p0) + upper_tail(test.high + 1, n, p0) <= LEVEL
    assert test.power(p1) >= 0.999
    assert region(int(n * 0.9), p0, LEVEL).power(p1) < 0.999  # and no more than needed


def test_false_alarm_of_small_samples_by_enumeration() -> None:
    """For small n the probability of rejecting a right implementation, summed over all counts, is at most α."""
    for n, p, alpha in itertools.product((5, 20, 60), (Fraction(3, 20), Fraction(1, 2)), (0.05, 1e-3)):
        test = region(n, float(p), alpha)
        wrong = sum(
            (
                math.comb(n, k) * p**k * (1 - p) ** (n - k)
                for k in range(n + 1)
                if not test.low <= k <= test.high
            ),
            Fraction(0),
        )
        assert wrong <= alpha
        for k in range(n + 1):
            assert (binomial_p(k, n, float(p)) <= alpha) == (not test.low <= k <= test.high)


def test_an_interval_of_probabilities_is_judged_at_its_worse_end() -> None:
    """With probabilities in [low, high] each tail is the larger of its ends'."""
    assert binomial_p(30, 100, 0.1, 0.2) == binomial_p(30, 100, 0.2)
    assert binomial_p(2, 100, 0.1, 0.2) == binomial_p(2, 100, 0.1)
    assert binomial_p(15, 100, 0.1, 0.2) == 1


def test_chernoff_bounds_the_binomial_and_the_hypergeometric() -> None:
    """Chernoff's p-value is never below the exact one, with or without replacement."""
    p = Fraction(3, 10)
    for k in range(31):
        exact = min(1, 2 * min(exact_upper(k, 30, p), 1 - exact_upper(k + 1, 30, p)))
        assert chernoff_p(k, 30, 0.3) >= float(exact) * (1 - 1e-12)
    n, good, drawn = (
        60,
        18,
        20,
    )  # drawn without replacement: negatively associated indicators of probability 0.3
    chances = [
        math.comb(good, k) * math.comb(n - good, drawn - k) / math.comb(n, drawn) for k in range(good + 1)
    ]
    for k in range(good + 1):
        tail = min(1.0, 2 * min(sum(chances[k:]), sum(chances[: k + 1])))
        assert chernoff_p(k, drawn, 0.3) >= tail * (1 - 1e-9)
    assert chernoff_p(1, 10, 0.0) == 0
    assert chernoff_p(0, 10, 0.0) == 1


def test_poisson_binomial() -> None:
    """Equal probabilities give the binomial; different ones the convolution."""

    def roundings(
        factors: int,
    ) -> float:  # each factor rounds 1 − p, a product and a sum of positive terms; both sides
        return 2 * 3 * factors * 2.0**-53

    pmf = poisson_binomial([0.15] * 20)
    direct = [math.comb(20, k) * 0.15**k * 0.85 ** (20 - k) for k in range(21)]
    assert pmf == pytest.approx(direct, rel=roundings(20), abs=0)
    assert poisson_binomial([0.5, 0.2]) == pytest.approx([0.4, 0.5, 0.1], rel=roundings(2), abs=0)
    assert poisson_binomial(np.linspace(0, 1, 33)).sum() == pytest.approx(1, rel=roundings(33), abs=0)


def test_a_tally_shares_its_level() -> None:
    """The levels of all tests of a check add up to at most α; the worst is judged against its own share."""
    tally = Tally(1e-9, 4)
    for _ in range(4):
        tally.add(1e-3, "main", headline=True)
    for _ in range(100):
        tally.add(1e-3, "other")
    assert 4 * tally.threshold(True) + 100 * tally.threshold(False) <= 1e-9 * (1 + 1e-12)
    assert tally.verdict()[0]
    tally.add(1e-13, "the bad one")
    fine, p, _, said = tally.verdict()
    assert (fine, p, said) == (False, 1e-13, "the bad one")


def test_equal_probabilities_have_no_sample_size() -> None:
    """Two equal probabilities cannot be told apart: refused, not looped on."""
    with pytest.raises(ValueError, match="two different probabilities"):
        sample_size(0.1, 0.1, 1e-9, 0.999)

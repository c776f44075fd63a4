"""Expectations: what is known of a tensor says nothing where it is random, and only real tensors have mean 0."""

from __future__ import annotations

from spec.language import (
    Every,
    Formula,
    Max,
    Sum,
    absolute,
    case,
    define,
    exp,
    expected,
    given,
    le,
    lift,
    lt,
    parameter,
    sqrt,
    tensor,
)
from tests.spec.language.proving.attacks.attack import Attack, below, related
from tests.spec.language.proving.claims import B, a, anything, f, i, j, l, m, n, p, pi, r, z

RANDOM, DIFFER = "random|expectation|moment", "differ"
out = tensor("out", n)
b = parameter("b", domain="positive")
q = given("q", domain="nonnegative")
SCALED = Formula(
    "test.attacks.scaled", "A row, scaled", (f, b), (define(out[i], b * f[i]),), (out,), auxiliary=True
)
scaled = SCALED(f, b)

EXPECTATIONS = (
    # Facts leak in
    Attack(
        "the mean of |a| where a is positive outside",
        anything,
        lambda: related(expected(absolute(a), a), "=", 0, given=(a,), assuming=(lt(0, a),)),
        RANDOM,
    ),
    Attack(
        "the same where a is negative outside",
        anything,
        lambda: related(expected(absolute(a), a), "=", 0, given=(a,), assuming=(lt(a, 0),)),
        RANDOM,
    ),
    Attack(
        "the same where a is at least 0 outside",
        anything,
        lambda: related(expected(absolute(a), a), "=", 0, given=(a,), assuming=(le(0, a),)),
        RANDOM,
    ),
    Attack(
        "the same under the claim's own condition",
        anything,
        lambda: related(expected(absolute(a), a), "=", 0, (i, n), given=(a,), where=lt(0, a)),
        RANDOM,
    ),
    Attack(
        "the same within a case",
        anything,
        lambda: related(case(lt(0, a), expected(absolute(a), a)), "=", 0, given=(a,)),
        RANDOM,
    ),
    Attack(
        "the mean of |f| at an index where f is positive",
        anything,
        lambda: related(expected(absolute(f[i]), f), "=", 0, (i, n), where=lt(0, f[i])),
        RANDOM,
    ),
    Attack(
        "the same, where every entry is",
        anything,
        lambda: related(expected(absolute(f[i]), f), "=", 0, (i, n), assuming=(Every(lt(0, f[l]), (l, n)),)),
        RANDOM,
    ),
    Attack(
        "the mean of a root of a square where the number is positive outside",
        anything,
        lambda: related(expected(sqrt(a**2), a), "=", 0, given=(a,), assuming=(lt(0, a),)),
        RANDOM,
    ),
    Attack(
        "the mean of the positive part where the number is positive outside",
        anything,
        lambda: related(expected(case(lt(0, a), a), a), "=", 0, given=(a,), assuming=(lt(0, a),)),
        RANDOM,
    ),
    Attack(
        "the mean of the positive part where the number is negative outside",
        anything,
        lambda: related(expected(case(lt(0, a), a), a), "=", 0, given=(a,), assuming=(lt(a, 0),)),
        RANDOM,
    ),
    Attack(
        "the mean of a sum of absolute values where one is positive outside",
        anything,
        lambda: related(expected(absolute(a) + z, a, z), "=", 0, given=(a, z), assuming=(lt(0, a),)),
        RANDOM,
    ),
    Attack(
        "a condition between a random number and another",
        anything,
        lambda: related(expected(absolute(a - z), a), "=", -z, given=(a, z), assuming=(lt(z, a),)),
        RANDOM,
    ),
    Attack(
        "the mean at a fixed value",
        anything,
        lambda: related(expected(f[i], f), "=", 3, (i, n), at={f: 3}),
        RANDOM,
    ),
    Attack(
        "the variance at a fixed value",
        anything,
        lambda: related(expected(f[i] ** 2, f), "=", 9, (i, n), at={f: 3}),
        RANDOM,
    ),
    Attack(
        "the mean of a line at a fixed input",
        SCALED,
        lambda: related(expected(scaled[i], f), "=", b, (i, n), at={f: 1}),
        RANDOM,
    ),
    # Only real tensors have mean 0
    Attack(
        "the mean of a positive number is 0",
        anything,
        lambda: related(expected(p[i], p), "=", 0, (i, n), given=(p,)),
        RANDOM,
    ),
    Attack(
        "the mean of a nonnegative number is 0",
        anything,
        lambda: related(expected(q, q), "=", 0, given=(q,)),
        RANDOM,
    ),
    Attack(
        "the mean of a positive parameter is 0",
        SCALED,
        lambda: related(expected(scaled[i], b), "=", 0, (i, n)),
        RANDOM,
    ),
    Attack(
        "positive numbers are uncorrelated",
        anything,
        lambda: related(expected(p[i] * p[0], p), "=", 0, (i, n), where=lt(0, i), given=(p,)),
        RANDOM,
    ),
    Attack(
        "the mean of a sum of a positive number and a random one is 0",
        anything,
        lambda: related(expected(p[i] + f[i], p, f), "=", 0, (i, n), given=(p,)),
        RANDOM,
    ),
    Attack(
        "the mean of a mask is 0",
        anything,
        lambda: related(expected(case(B[i, j], 1), B), "=", 0, (i, n), (j, m), given=(B,)),
        RANDOM,
        shown=False,
    ),
    Attack(
        "the mean of a permutation is 0",
        anything,
        lambda: related(expected(lift(pi[i]), pi), "=", 0, (i, n), given=(pi,)),
        RANDOM,
    ),
    # Facts leak out
    Attack(
        "what is random is 0 outside as in the mean",
        anything,
        lambda: related(expected(f[i], f) + f[i], "=", 0, (i, n)),
        DIFFER,
    ),
    Attack(
        "a value is below its mean plus 1",
        anything,
        lambda: below(f[i], expected(f[i], f) + 1, (i, n)),
        "is not visible",
    ),
    Attack(
        "a product with a random number is that with its mean",
        anything,
        lambda: related(expected(f[i] * a, f) - f[i] * a, "=", 0, (i, n), given=(a,)),
        DIFFER,
    ),
    # Moments
    Attack(
        "entries of one row are the same random number",
        anything,
        lambda: related(expected(f[i] * f[j], f), "=", 1, (i, n), (j, n)),
        DIFFER,
    ),
    Attack(
        "the mean of a square is the square of the mean",
        anything,
        lambda: related(expected(f[i] ** 2, f), "=", 0, (i, n)),
        DIFFER,
    ),
    Attack("the mean of a cube", anything, lambda: related(expected(f[i] ** 3, f), "=", 0, (i, n)), RANDOM),
    Attack(
        "the mean of a fourth power",
        anything,
        lambda: related(expected(f[i] ** 4, f), "=", 1, (i, n)),
        RANDOM,
    ),
    Attack(
        "the mean of an exponential",
        anything,
        lambda: related(expected(exp(f[i]), f), "=", 1, (i, n)),
        RANDOM,
    ),
    Attack(
        "the mean of a maximum",
        anything,
        lambda: related(expected(Max(f[j], (j, 0, n - 1)), f), "=", 0),
        RANDOM,
    ),
    Attack(
        "two rows' products are as one's",
        anything,
        lambda: related(expected(f[i] * p[i] * f[j] * p[j], f), "=", p[i] * p[j], (i, n), (j, n), given=(p,)),
        DIFFER,
    ),
    Attack(
        "the mean of the square of a sum",
        anything,
        lambda: related(expected(Sum(f[j], (j, 0, n - 1)) ** 2, f), "=", 1),
        DIFFER,
    ),
    Attack(
        "the mean of a product of sums over parts",
        anything,
        lambda: related(
            expected(Sum(f[j], (j, 0, i)) * Sum(f[l], (l, 0, r)), f), "=", lift(i + 1), (i, n), (r, n)
        ),
        DIFFER,
    ),
    Attack(
        "an inner mean is the outer",
        anything,
        lambda: related(expected(f[i] * expected(f[i], f), f), "=", 1, (i, n)),
        DIFFER,
    ),
)

"""Expectations: of entries with mean 0 and variance 1, and of nothing else."""

from spec.language import absolute, case, claim, delta, eq, exp, expected, given, le, lift, lt, sqrt
from spec.language.binders import Every, Max, Sum
from tests.attack.board import G, a, c, category, f, g, i, j, l, n, ok, p, pi, q

false = category("expectations")
h = given("h", n)
d, e = given("d"), given("e")

false("a positive tensor has mean 0", lambda: claim(expected(p[i], p), "=", 0))
false("a nonnegative tensor has mean 0", lambda: claim(expected(q[i], q), "=", 0))
false("a positive number has mean 0", lambda: claim(expected(c, c), "=", 0))
false("a sum of positives has mean 0", lambda: claim(expected(Sum(p[l], l), p), "=", 0))
false(
    "a positive factor of a random one",
    lambda: claim(expected(p[i] * g[i], p, g) + expected(p[i], p), "=", 0),
)
false("the mean is a value", lambda: claim(expected(g[i], g), "=", g[i]))
false("the mean of a square is 0", lambda: claim(expected(g[i] ** 2, g), "=", 0))
false("the mean of a product of entries is 1", lambda: claim(expected(g[i] * g[l], g), "=", 1))
false(
    "the mean of a product of two tensors is a delta",
    lambda: claim(expected(g[i] * h[l], g, h), "=", delta(i, l)),
)
false(
    "the mean of a product with a fixed tensor is 0",
    lambda: claim(expected(g[i] * h[i], g) + expected(h[i], g), "=", 0),
)
false("the mean of a fixed tensor is 0", lambda: claim(expected(h[i], g), "=", 0))
false("the mean of a fixed tensor's square is 1", lambda: claim(expected(h[i] ** 2, g), "=", 1))
false("the mean of a cube is 0", lambda: claim(expected(d**3, d), "=", 0))
false("the mean of a fourth power is 1", lambda: claim(expected(d**4, d), "=", 1))
false("the mean of a fourth power is 3", lambda: claim(expected(d**4, d), "=", 3))
false("the mean of a product of four", lambda: claim(expected(g[i] ** 2 * g[l] ** 2, g), "=", 1))
false("the mean of an absolute value is 1", lambda: claim(expected(absolute(d), d), "=", 1))
false("the mean of an absolute value is 0", lambda: claim(expected(absolute(d), d), "=", 0))
false("the mean of an exponential is 1", lambda: claim(expected(exp(d), d), "=", 1))
false("the mean of a maximum is 0", lambda: claim(expected(Max(g[l], l), g), "=", 0))
false("the mean of a rectified value is 0", lambda: claim(expected(case(lt(0, d), d), d), "=", 0))
false("the mean of a square of a mean", lambda: claim(expected((Sum(g[l], l) / n) ** 2, g), "=", 1))
false("the mean of a squared sum", lambda: claim(expected(Sum(g[l], l) ** 2, g), "=", lift(n**2)))
false("the mean of a sum of squares", lambda: claim(expected(Sum(g[l] ** 2, l), g), "=", 1))
false(
    "the mean of a squared score, unscaled", lambda: claim(expected(Sum(g[l] * h[l], l) ** 2, g, h), "=", 1)
)
false(
    "the mean of a squared score with a fixed key",
    lambda: claim(expected(Sum(g[l] * h[l], l) ** 2, g), "=", lift(n)),
)
false(
    "the mean of a squared score of a vector with itself",
    lambda: claim(expected(Sum(g[l] * g[l], l) ** 2, g), "=", lift(n**2)),
)
false("the mean of a score of a vector with itself", lambda: claim(expected(Sum(g[l] * g[l], l), g), "=", 0))
false(
    "the mean of a scaled score, scaled by n",
    lambda: claim(expected((Sum(g[l] * h[l], l) / n) ** 2, g, h), "=", 1),
)
false("the mean of a permuted product", lambda: claim(expected(g[i] * g[pi[i]], g), "=", 0))
false("the mean of a permuted product is 1", lambda: claim(expected(g[i] * g[pi[i]], g), "=", 1))
false(
    "the mean of neighbours' products, cyclic",
    lambda: claim(expected(Sum(g[l] * g[n - 1 - l], l), g), "=", 0),
)
false("the mean of a product of rows", lambda: claim(expected(G[i, j] * G[l, j], G), "=", 1))
false(
    "the mean of a product of matrices",
    lambda: claim(expected(Sum(G[i, j] * G[l, j], j), G), "=", delta(i, l)),
)
false(
    "the mean of a product is that of factors",
    lambda: claim(expected(d * d, d), "=", expected(d, d) * expected(d, d)),
)
false(
    "the mean of a quotient",
    lambda: claim(expected(1 / (d**2 + 1), d), "=", lift(1) / 2 * expected(d**2, d) + expected(d, d) + 1),
)
false("the mean of a constant is 0", lambda: claim(expected(lift(1), d), "=", 0))
false("the mean of a random one plus one", lambda: claim(expected((d + 1) ** 2, d), "=", 1))
false("the mean of a shifted square", lambda: claim(expected((d + a) ** 2, d), "=", a**2))
false("the mean of a case of an index", lambda: claim(expected(case(ok[i], d**2, d), d), "=", 1))
false("the mean outside of a square", lambda: claim(expected(d, d) ** 2, "=", expected(d**2, d)))
false(
    "the mean of a mean with another random one",
    lambda: claim(expected(expected(d * e, e) + d**2, d), "=", 0),
)
false(
    "the mean within a mean of the same letter", lambda: claim(expected(expected(d**2, d) * d**2, d), "=", 0)
)

POSITIVE = (Every(lt(0, g[l]), l),)
false(
    "an assumed sign reaches a random entry",
    lambda: claim(expected(absolute(g[i]), g), "=", 0),
    assuming=POSITIVE,
)
false(
    "an assumed sign reaches a random root",
    lambda: claim(expected(sqrt(d**2), d), "=", 0),
    assuming=(lt(0, d),),
)
false(
    "an assumed sign reaches a random absolute value",
    lambda: claim(expected(absolute(d), d), "=", 0),
    assuming=(le(0, d),),
)
false(
    "an assumed sign reaches a random case",
    lambda: claim(expected(case(lt(0, d), d, d**2), d), "=", 0),
    assuming=(lt(0, d),),
)
false(
    "an assumed negative sign reaches a random case",
    lambda: claim(expected(case(lt(0, d), d, d**2), d), "=", 1),
    assuming=(lt(d, 0),),
)
false(
    "an assumed value reaches a random one",
    lambda: claim(expected(case(eq(d, 0), 1, 0), d), "=", 1),
    assuming=(eq(d, 0),),
)
false(
    "a case's sign reaches an expectation", lambda: claim(case(lt(0, d), expected(absolute(d), d), 0), "=", 0)
)
false(
    "a case's sign reaches an expectation's root",
    lambda: claim(case(lt(0, g[i]), expected(sqrt(g[i] ** 2), g), 0), "=", 0),
)
false(
    "a condition's sign reaches an expectation",
    lambda: claim(expected(absolute(d), d), "=", 0, where=lt(0, d)),
)
false(
    "an inner case's sign gets out of an expectation",
    lambda: claim(expected(case(lt(0, a), absolute(a), absolute(a)), d) + absolute(a), "=", 2 * a),
)
false(
    "an inner case of a random one gets out",
    lambda: claim(expected(case(lt(0, d), absolute(d), 0), d) * 0 + absolute(d), "=", d),
)
false("a fixed input is not random", lambda: claim(expected(f[i] ** 2, f), "=", 0), at={f: 0})
false("a fixed input's mean is its value", lambda: claim(expected(f[i], f), "=", 1), at={f: 1})
false("a fixed input's square is its value's", lambda: claim(expected(f[i] ** 2, f), "=", 4), at={f: 2})
for power in (1, 2):
    false(
        f"{power} plus the mean of a square, halved",
        lambda k=power: claim(expected(k + d**2, d), "=", lift(k) + lift(1) / 2),
    )

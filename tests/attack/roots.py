"""Roots and logarithms: of squares, of sums, outside their domain."""

from spec.language import absolute, case, claim, erf, exp, lift, log, lt, sigmoid, sqrt, tanh
from spec.language.binders import Sum
from tests.attack.board import a, b, c, category, f, i, l, m, n, ok, p, s

false = category("roots and logarithms")
U = {"undefined": True}

false("the root of a square is the number", lambda: claim(sqrt(a**2), "=", a))
false("the root of a square of an entry", lambda: claim(sqrt(f[i] ** 2), "=", f[i]))
false("the root of a square of a difference", lambda: claim(sqrt((c - s) ** 2), "=", c - s))
false("the square of a root of a real", lambda: claim(sqrt(a) ** 2, "=", a), **U)
false("the root of a product of reals", lambda: claim(sqrt(a * b), "=", sqrt(a) * sqrt(b)), **U)
false("the root of a product of squares", lambda: claim(sqrt(a**2 * b**2), "=", a * b))
false("a real leaves a root as its square", lambda: claim(sqrt(a**2 * c), "=", a * sqrt(c)))
false("a real enters a root as its square", lambda: claim(a * sqrt(c), "=", sqrt(a**2 * c)))
false("the root of a sum", lambda: claim(sqrt(c + s), "=", sqrt(c) + sqrt(s)))
false("the root of a sum of squares", lambda: claim(sqrt(a**2 + b**2), "=", a + b))
false(
    "the root of a sum of squares, absolute", lambda: claim(sqrt(a**2 + b**2), "=", absolute(a) + absolute(b))
)
false("the root is smaller than the number", lambda: claim(sqrt(c), "<=", c))
false("the root is larger than the number", lambda: claim(c, "<=", sqrt(c)))
false("the root of an even square sum", lambda: claim(sqrt(Sum(f[l] ** 2, l)), "=", Sum(f[l], l)))
false("the root of a quotient of reals", lambda: claim(sqrt(a / b), "=", sqrt(a) / sqrt(b)), **U)
false("the root of a fourth power is the square's root", lambda: claim(sqrt(a**4), "=", absolute(a)))
false("the root of a cube's square", lambda: claim(sqrt(a**6), "=", a**3))
false(
    "the root of a size squared is the size less one",
    lambda: claim(sqrt(lift((n - m) ** 2)), "=", lift(n - m)),
)
false("the root of an index squared less one", lambda: claim(sqrt(lift((i - 1) ** 2)), "=", lift(i - 1)))
false("the root of an index difference squared", lambda: claim(sqrt(lift((i - l) ** 2)), "=", lift(i - l)))
false(
    "the root of a variance is a mean deviation",
    lambda: claim(sqrt(Sum((f[l] - a) ** 2, l)), "=", Sum(absolute(f[l] - a), l)),
)
false("a root under a wrong sign", lambda: claim(sqrt(a**2), "=", -a, where=lt(0, a)))
false("a root under a sign of another", lambda: claim(sqrt(a**2), "=", a, where=lt(0, b)))
false("a root under a sign of a case", lambda: claim(sqrt(a**2), "=", case(lt(0, a), a, a)))
false("a root over two cases", lambda: claim(case(ok[i], sqrt(f[i] ** 2), 0), "=", case(ok[i], f[i], 0)))
false(
    "a root of a product of a nonnegative and a real", lambda: claim(sqrt(s * a), "=", sqrt(s) * sqrt(a)), **U
)
false("a root's own inverse", lambda: claim(1 / sqrt(s) * sqrt(s), "=", 1), **U)
false("a root of the negative is the negative", lambda: claim(sqrt(-c), "=", -sqrt(c)), **U)
false("a root of a nonnegative less itself", lambda: claim(sqrt(s - 1) - sqrt(s - 1), "=", 0), **U)
false("the logarithm of a product of reals", lambda: claim(log(a * b), "=", log(a) + log(b)), **U)
false("the logarithm of a square of a real", lambda: claim(log(a**2), "=", 2 * log(a)), **U)
false("the logarithm of a sum", lambda: claim(log(c + p[i]), "=", log(c) + log(p[i])))
false("the logarithm of a product by a factor", lambda: claim(log(c * p[i]), "=", log(c) * log(p[i])))
false("the logarithm of a quotient", lambda: claim(log(c / p[i]), "=", log(c) / log(p[i])))
false("the logarithm of a reciprocal", lambda: claim(log(1 / c), "=", 1 / log(c)), **U)
false("the exponential of a logarithm of a real", lambda: claim(exp(log(a) + 0), "=", a), **U)
false("the exponential of twice a logarithm", lambda: claim(exp(2 * log(c)), "=", 2 * c))
false("the exponential of a negated logarithm", lambda: claim(exp(-log(c)), "=", -c))
false("the exponential of half a logarithm", lambda: claim(exp(log(c) / 2), "=", c / 2))
false(
    "the logarithm of an exponential of a sum of exponentials",
    lambda: claim(log(exp(a) + exp(b)), "=", a + b),
)
false(
    "the logarithm of a sum of exponentials is their maximum",
    lambda: claim(log(Sum(exp(f[l]), l)), "=", Sum(f[l], l)),
)
false("the logarithm is at most the number less two", lambda: claim(log(c), "<=", c - 2))
false("the logarithm of a nonnegative less itself", lambda: claim(log(s) - log(s), "=", 0), **U)
false("the logarithm of a sum of squares", lambda: claim(log(Sum(f[l] ** 2, l)) * 0, "=", 0), **U)
false("the exponential of a product", lambda: claim(exp(a * b), "=", exp(a) * exp(b)))
false("the exponential of a difference", lambda: claim(exp(a - b), "=", exp(a) - exp(b)))
false("the square of an exponential", lambda: claim(exp(a) ** 2, "=", exp(a**2)))
false("tanh of a negative", lambda: claim(tanh(-a), "=", tanh(a)))
false("sigmoid of a negative", lambda: claim(sigmoid(-a), "=", -sigmoid(a)))
false("sigmoid and tanh", lambda: claim(tanh(a), "=", 2 * sigmoid(a) - 1))
false("erf of a negative", lambda: claim(erf(-a), "=", erf(a)))
false("erf is tanh", lambda: claim(erf(a), "=", tanh(a)))
false("erf of a sum", lambda: claim(erf(a + 1), "=", erf(a) + erf(lift(1))))
false("the square of tanh", lambda: claim(tanh(a) ** 2, "=", 1 - 1 / (exp(a) + exp(-a)) ** 2))

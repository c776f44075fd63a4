"""Exponentials in sums, logarithms that count alike, ranges of one value, and places that a condition chooses."""

from spec.language import case, claim, delta, eq, exp, le, lift, log, lt
from spec.language.binders import Every, Max, Some, Sum
from tests.attack.board import F, a, at, b, c, category, f, g, i, j, k, l, m, n, ok, p, pi, q, r, s

false = category("exponentials")
U = {"undefined": True}
M = {"undefined": True, "meaningless": True}
P, Q = Sum(p[l], l), Sum(q[l], l)
mean = Sum(p[l] * f[l], l) / P
false(
    "Jensen without the weights' sum", lambda: claim(exp(Sum(p[l] * f[l], l)), "<=", Sum(p[l] * exp(f[l]), l))
)
false("Jensen, strictly", lambda: claim(exp(mean), "<", Sum(p[l] * exp(f[l]), l) / P))
false("Jensen, turned round", lambda: claim(Sum(p[l] * exp(f[l]), l) / P, "<=", exp(mean)))
false(
    "Jensen with weights of any sign",
    lambda: claim(exp(Sum(g[l] * f[l], l) / Sum(g[l], l)), "<=", Sum(g[l] * exp(f[l]), l) / Sum(g[l], l)),
    **U,
)
false(
    "Jensen with weights that may all be 0",
    lambda: claim(Q * exp(Sum(q[l] * f[l], l) / Q), "<=", Sum(q[l] * exp(f[l]), l)),
    **U,
)
false("Jensen over another sum", lambda: claim(exp(Sum(f[l], l) / n), "<=", Sum(p[l] * exp(f[l]), l) / P))
false(
    "Jensen over part of a range",
    lambda: claim(exp(Sum(f[l], (l, 0, i)) / n), "<=", Sum(exp(f[l]), (l, 0, i)) / n),
)
false(
    "Jensen over what is chosen",
    lambda: claim(exp(Sum(f[l], l, where=ok[l]) / n), "<=", Sum(exp(f[l]), l, where=ok[l]) / n),
)
false("Jensen in logarithms, turned round", lambda: claim(log(Sum(p[l] * exp(f[l]), l) / P), "<=", mean))
false(
    "Jensen in logarithms without the sum",
    lambda: claim(Sum(p[l] * f[l], l), "<=", log(Sum(p[l] * exp(f[l]), l))),
)
false("Jensen by twice the mean", lambda: claim(2 * mean, "<=", log(Sum(p[l] * exp(f[l]), l) / P)))
false("Jensen of a square", lambda: claim(exp(mean) ** 2, "<=", Sum(p[l] * exp(f[l]), l) / P))
false("the mean above the logarithm of one", lambda: claim(f[i], "<=", log(Sum(exp(f[l]), l) / n)))
false(
    "the tangent within a sum, too high",
    lambda: claim(Sum(p[l] * (2 + f[l]), l), "<=", Sum(p[l] * exp(f[l]), l)),
)
false(
    "the tangent within a sum of any sign",
    lambda: claim(Sum(g[l] * (1 + f[l]), l), "<=", Sum(g[l] * exp(f[l]), l)),
)
false(
    "the tangent within a sum less another",
    lambda: claim(exp(a) * Sum(p[l], l), "<=", Sum(p[l] * exp(f[l]), l)),
)
false("the tangent of a product", lambda: claim(P * Sum(1 + f[l], l), "<=", a * Sum(p[l] * exp(f[l]), l)))
false(
    "the entropy of other weights",
    lambda: claim(
        -Sum(p[l] * log(p[l]), l), "<=", -Sum(p[l] * log(p[l] * exp(f[l]) / Sum(p[r] * exp(f[r]), r)), l)
    ),
)
false(
    "Gibbs, strictly",
    lambda: claim(
        -Sum(p[l] / P * log(p[l] / P), l),
        "<",
        -Sum(p[l] / P * log(p[l] * exp(f[l]) / Sum(p[r] * exp(f[r]), r)), l),
    ),
)
false(
    "Gibbs, turned round",
    lambda: claim(
        -Sum(p[l] / P * log(p[l] * exp(f[l]) / Sum(p[r] * exp(f[r]), r)), l),
        "<=",
        -Sum(p[l] / P * log(p[l] / P), l),
    ),
)
false("the divergence is symmetric", lambda: claim(Sum(p[l] * f[l], l), "=", Sum(p[l] * exp(f[l]) * f[l], l)))

false(
    "logarithms that do not count alike",
    lambda: claim(3 * log(lift(2)), "<=", 2 * log(lift(2)) + log(lift(3)) / 2),
)
false("twice a logarithm against one", lambda: claim(log(lift(8)), "<=", 2 * log(lift(2))))
false("half a logarithm", lambda: claim(log(lift(3)), "<=", log(lift(2)) / 2 + log(lift(4)) / 2))
false("a logarithm of a product", lambda: claim(log(c) + log(1 + s), "<=", log(c * s + 1)))
false("logarithms of one and of more", lambda: claim(log(1 + c), "<", log(c) + log(1 + c)))
false(
    "the mean of logarithms, turned round",
    lambda: claim(log((c + 1 + s) / 2), "<=", (log(c) + log(1 + s)) / 2),
)
false("logarithms of what may be 0", lambda: claim(log(s) + log(s), "<=", log(s**2 + 1)), **U)
false("logarithms of squares", lambda: claim(log(a**2) + log(b**2), "<=", log(a**2 * b**2) + 1), **U)
false("two minus two logarithms", lambda: claim(log(c) + log(c), "<", log(1 + c) + log(c / 2)))
false("three logarithms", lambda: claim(log(1 + c) + log(1 + s), "<", log(1 + c + s)))
false("half of three logarithms", lambda: claim((log(1 + c) + log(1 + s)) / 2 - log(c) / 2, "<=", 0))
false(
    "a negative factor of logarithms",
    lambda: claim(-2 * log(1 + c) - 2 * log(1 + s), "<=", -2 * log(2 + c + s)),
)
false("logarithms and a number", lambda: claim(2 * log(1 + c) + 1, "<=", 2 * log((1 + c) * 3 / 2)))
false("logarithms by a size", lambda: claim(n * log(1 + c), "<=", n * log(1 + c) / 2 + log(1 + c) / 2))

false("one value of a real range", lambda: claim(Sum(lift(1), l, where=le(l, a) & le(a, l)), "=", 1))
false(
    "one value of a real range, in range",
    lambda: claim(
        Sum(lift(1), l, where=le(l, f[i]) & le(f[i], l)), "=", case(le(0, f[i]) & le(f[i], n - 1), 1, 0)
    ),
)
false(
    "one value of a halved range", lambda: claim(Sum(lift(1), l, where=le(2 * l, i) & le(i, 2 * l)), "=", 1)
)
false("one value, halved", lambda: claim(Sum(f[l], l, where=le(2 * l, i) & le(i, 2 * l)), "=", f[0]))
false("one value that is outside", lambda: claim(Sum(lift(1), l, where=le(l, m - 1) & le(m - 1, l)), "=", 1))
false("one value that may be −1", lambda: claim(Sum(lift(1), l, where=le(l, i - 1) & le(i - 1, l)), "=", 1))
false("one value of another letter", lambda: claim(Sum(f[l], (l, i, i)), "=", f[r]))
false("one value next to it", lambda: claim(Sum(f[l], (l, i, i)), "=", f[i - 1]), **M)
false("one value where it does not hold", lambda: claim(Sum(f[l], (l, i, i), where=ok[l]), "=", f[i]))
false("two values", lambda: claim(Sum(f[l], (l, i, r)), "=", f[i]))
false("none", lambda: claim(Sum(f[l], (l, i, i - 1)), "=", f[i]))
false(
    "one value of two letters",
    lambda: claim(Sum(Sum(F[l, j], (j, 0, 0)), (l, i, i)), "=", F[0, 0]),
)
false("one value, twice", lambda: claim(Sum(f[l] * Sum(f[r], (r, l, l)), l), "=", Sum(f[l], l) ** 2))
false("the last of a range of one", lambda: claim(Sum(f[l], (l, n - 1, n - 1)), "=", f[0]))

whole = exp(Sum(f[l], l))
false(
    "an exponent split without the middle",
    lambda: claim(whole, "=", exp(Sum(f[l], (l, 0, i - 1))) * exp(Sum(f[l], (l, i + 1, n - 1)))),
)
false(
    "an exponent split with the middle twice",
    lambda: claim(whole, "=", exp(Sum(f[l], (l, 0, i))) * exp(Sum(f[l], (l, i, n - 1)))),
)
false(
    "an exponent split at another place",
    lambda: claim(whole, "=", exp(Sum(f[l], (l, 0, i))) * exp(Sum(f[l], (l, r + 1, n - 1)))),
)
false(
    "an exponent split into a sum",
    lambda: claim(whole, "=", exp(Sum(f[l], (l, 0, i))) + exp(Sum(f[l], (l, i + 1, n - 1)))),
)
false(
    "an exponent split by a condition",
    lambda: claim(whole, "=", exp(Sum(f[l], l, where=ok[l])) * exp(Sum(f[l], l, where=lt(0, f[l])))),
)
false(
    "an exponent split, one squared",
    lambda: claim(whole, "=", exp(2 * Sum(f[l], (l, 0, i))) * exp(Sum(f[l], (l, i + 1, n - 1)))),
)
false(
    "an exponent split beyond its end",
    lambda: claim(exp(Sum(f[l], (l, 0, i))), "=", exp(Sum(f[l], (l, 0, r))) * exp(Sum(f[l], (l, r + 1, i)))),
)

false("a chosen place, the other", lambda: claim(f[case(ok[i], i, l)], "=", case(ok[i], f[l], f[i])))
false("a chosen place, always", lambda: claim(f[case(lt(0, a), 0, n - 1)], "=", f[0]))
false("a chosen place, outside", lambda: claim(f[case(ok[i], i + 1, i)] * 0, "=", 0), **M)
false(
    "a chosen place, outside where it is not last",
    lambda: claim(f[case(lt(i, n - 1), i, i + 1)] * 0, "=", 0),
    **M,
)
false(
    "two places chosen alike",
    lambda: claim(F[case(ok[i], i, 0), case(ok[i], j, 0)], "=", case(ok[i], F[i, 0], F[0, j])),
)
false(
    "two places chosen apart",
    lambda: claim(F[case(ok[i], i, 0), case(ok[l], j, 0)], "=", case(ok[i], F[i, j], F[0, 0])),
)
false(
    "a place chosen by a chosen place",
    lambda: claim(f[case(ok[case(ok[i], l, r)], i, l)], "=", case(ok[i], f[i], f[l])),
)
false("chosen places in a sum", lambda: claim(Sum(f[case(ok[l], l, 0)], l), "=", Sum(f[l], l, where=ok[l])))
false("chosen places of the largest", lambda: claim(Max(f[case(ok[l], l, 0)], l), "=", Max(f[l], l)))
false("a chosen place of a delta", lambda: claim(delta(case(ok[i], i, l), i), "=", 1))
false("a chosen place of a permutation", lambda: claim(f[pi[case(ok[i], i, l)]], "=", f[case(ok[i], i, l)]))
false("a place chosen by a look-up", lambda: claim(f[case(eq(at[j], i), at[j], k)], "=", f[at[j]]))
false(
    "a place chosen by some",
    lambda: claim(f[case(Some(ok[l], l), i, 0)], "=", case(Every(ok[l], l), f[i], f[0])),
)
false(
    "a place less another chosen",
    lambda: claim(f[case(le(l, i), i - l, 0)], "=", case(lt(l, i), f[i - l], f[i])),
)
false("a place less another chosen, outside", lambda: claim(f[case(le(l, i), l - i, 0)] * 0, "=", 0), **M)

"""Division: what cancels, and what may be 0."""

from spec.language import absolute, case, claim, exp, le, lift, lt, sqrt
from spec.language.binders import Max, Some, Sum
from tests.attack.board import (
    B,
    a,
    b,
    c,
    category,
    f,
    g,
    i,
    inverted,
    j,
    l,
    m,
    n,
    ok,
    p,
    q,
    s,
    x_over,
    z,
)

false = category("division")

U = {"undefined": True}
false("z over z", lambda: claim(z / z, "=", 1), **U)
false("an entry over itself", lambda: claim(f[i] / f[i], "=", 1), **U)
false("a nonnegative over itself", lambda: claim(s / s, "=", 1), **U)
false("a square over the number", lambda: claim(z**2 / z, "=", z), **U)
false("a difference of squares", lambda: claim((a**2 - b**2) / (a - b), "=", a + b), **U)
false("a difference of positives over itself", lambda: claim((c - s) / (c - s), "=", 1), **U)
false("an index over itself", lambda: claim(lift(i) / i, "=", 1), **U)
false("a size less one over itself", lambda: claim(lift(n - 1) / (n - 1), "=", 1), **U)
false("sizes' difference over itself", lambda: claim(lift(n - m) / (n - m), "=", 1), **U)
false(
    "a sum that may be empty over itself",
    lambda: claim(Sum(p[l], (l, i + 1, n - 1)) / Sum(p[l], (l, i + 1, n - 1)), "=", 1),
    **U,
)
false(
    "a restricted sum over itself",
    lambda: claim(Sum(p[l], l, where=ok[l]) / Sum(p[l], l, where=ok[l]), "=", 1),
    **U,
)
false("a sum of squares over itself", lambda: claim(Sum(f[l] ** 2, l) / Sum(f[l] ** 2, l), "=", 1), **U)
false("a sum of nonnegatives over itself", lambda: claim(Sum(q[l], l) / Sum(q[l], l), "=", 1), **U)
false("a root over itself", lambda: claim(sqrt(s) / sqrt(s), "=", 1), **U)
false("an absolute value over itself", lambda: claim(absolute(a) / absolute(a), "=", 1), **U)
false("a maximum over itself", lambda: claim(Max(f[l], l) / Max(f[l], l), "=", 1), **U)
false("a sine over a cosine of a case", lambda: claim(case(ok[i], f[i] / f[i], 1), "=", 1), **U)
false("over what another entry assures", lambda: claim(f[i] / f[i], "=", 1), assuming=(lt(0, f[0]),), **U)
false("over what a weak sign assures", lambda: claim(a / a, "=", 1), assuming=(le(0, a),), **U)
false("over what a sum assures", lambda: claim(f[i] / f[i], "=", 1), assuming=(lt(0, Sum(f[l], l)),), **U)
false(
    "over what some entry assures", lambda: claim(f[i] / f[i], "=", 1), assuming=(Some(lt(0, f[l]), l),), **U
)
false(
    "over what is assured where it is not asked", lambda: claim(f[i] / f[i], "=", 1, where=lt(0, g[i])), **U
)
false(
    "over what the other case assures",
    lambda: claim(case(lt(0, a), 0, a / a), "=", case(lt(0, a), 0, 1)),
    **U,
)
false(
    "over what the condition of a sum assures elsewhere",
    lambda: claim(Sum(f[l] / f[l], l, where=lt(0, g[l])), "=", Sum(lift(1), l, where=lt(0, g[l]))),
    **U,
)
false("a reciprocal of a sum", lambda: claim(1 / (a + c), "=", 1 / a + 1 / c), **U)
false("a reciprocal of a sum of positives", lambda: claim(1 / (p[i] + c), "=", 1 / p[i] + 1 / c))
false("a quotient of a quotient", lambda: claim(a / (b**2 + 1) / c, "=", a * c / (b**2 + 1)))
false("a sum over a sum of denominators", lambda: claim(a / c + b / p[i], "=", (a + b) / (c + p[i])))
false("half of a reciprocal", lambda: claim(1 / (2 * c), "=", 2 / c))
false("a larger denominator makes larger", lambda: claim(1 / c, "<=", 1 / (c + s)))
false("a quotient at most 1", lambda: claim(c / (c + a**2 - s), "<=", 1), **U)
false("a mean of quotients", lambda: claim(Sum(f[l] / p[l], l), "=", Sum(f[l], l) / Sum(p[l], l)))
false("a normalised row sums to 1", lambda: claim(Sum(q[i] / Sum(q[l], l), i), "=", 1), **U)
false(
    "a normalised row of exponentials sums to n",
    lambda: claim(Sum(exp(f[i]) / Sum(exp(f[l]), l), i), "=", lift(n)),
)
false("a normalised row is below 1", lambda: claim(exp(f[i]) / Sum(exp(f[l]), l), "<", 1))
false(
    "a normalised row shifted by its entry",
    lambda: claim(exp(f[i] - f[0]) / Sum(exp(f[l]), l), "=", exp(f[i]) / Sum(exp(f[l]), l)),
)
false("a real factor cancels", lambda: claim(a * f[i] / (a * c), "=", f[i] / c), **U)
false("an inverse square of a real", lambda: claim(1 / a**2 * a**2, "=", 1), **U)
false("0 over a real", lambda: claim(0 / a, "=", 0), **U)
false("0 times a quotient", lambda: claim(0 * (1 / a), "=", 0), **U)
false("a quotient less itself", lambda: claim(1 / a - 1 / a, "=", 0), **U)
false("a quotient times 0 by a delta-like case", lambda: claim(case(lt(a, a), 1 / a, b) + 0 / z, "=", b), **U)
false(
    "a variance over itself",
    lambda: claim(
        Sum((f[l] - Sum(f[r_], r_) / n) ** 2, l) / Sum((f[l] - Sum(f[r_], r_) / n) ** 2, l), "=", 1
    ),
    **U,
)
false(
    "a count of permitted over itself",
    lambda: claim(
        Sum(lift(1), j, where=B[i, j]) / Sum(lift(1), j, where=B[i, j]), "=", 1, where=Some(B[0, j], j)
    ),
    **U,
)
false("a mapped reciprocal", lambda: claim(inverted(x_over)[i] * x_over[0], "=", 1), inverted)
from tests.attack.board import r as r_  # noqa: E402  (a bound letter of two claims above)

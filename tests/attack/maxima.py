"""Maxima: conditional members, empty ranges, and what a maximum bounds."""

from spec.language import absolute, case, claim, delta, eq, exp, le, lift, lt
from spec.language.binders import Every, Max, Some, Sum
from tests.attack.board import B, F, a, c, category, f, g, i, j, l, m, n, ok, p, pi, q, r

false = category("maxima")

MEMBERS = {
    "before it": lt(l, i),
    "after it": lt(i, l),
    "other than it": ~eq(l, i),
    "permitted": ok[l],
    "permitted and after it": ok[l] & lt(i, l),
    "not permitted": ~ok[l],
    "of smaller value": lt(f[l], f[i]),
    "that are positive": lt(0, f[l]),
    "before the middle": lt(2 * l, n),
}
for title, condition in MEMBERS.items():
    false(
        f"a member bounded by the maximum of those {title}",
        lambda where=condition: claim(f[i], "<=", Max(f[l], l, where=where), where=lt(0, i)),
        undefined=True,
    )
    if title == "that are positive":  # then the largest is among them
        continue
    false(
        f"a member bounded by the maximum of those {title}, where there is one",
        lambda where=condition: claim(f[i], "<=", Max(f[l], l, where=where), where=Some(where, l)),
    )
    false(
        f"the maximum over all at most the maximum of those {title}",
        lambda where=condition: claim(Max(f[r], r), "<=", Max(f[l], l, where=where), where=Some(where, l)),
    )
for title, condition in list(MEMBERS.items())[:7]:
    if title == "other than it":  # what the largest loses, the others gain
        continue
    false(
        f"a sum with the maximum of those {title}",
        lambda where=condition: claim(
            0, "<=", Sum(case(Some(where, l), Max(f[l], l, where=where) - f[i], 0), i)
        ),
    )
    false(
        f"a case of the maximum of those {title}",
        lambda where=condition: claim(f[i], "<=", case(Some(where, l), Max(f[l], l, where=where), f[i])),
    )
false("a maximum before an index", lambda: claim(f[i], "<=", Max(f[l], (l, 0, i - 1)), where=lt(0, i)))
false("a maximum after an index", lambda: claim(f[i], "<=", Max(f[l], (l, i + 1, n - 1)), where=lt(i, n - 1)))
false("a maximum is a member's value", lambda: claim(Max(f[l], l), "=", f[0]))
false("a maximum is strictly above", lambda: claim(f[i], "<", Max(f[l], l)))
false("a maximum is at most a member", lambda: claim(Max(f[l], l), "<=", f[i]))
false("a maximum is at least 0", lambda: claim(0, "<=", Max(f[l], l)))
false(
    "a maximum of a sum is the sum of maxima",
    lambda: claim(Max(f[l] + g[l], l), "=", Max(f[l], l) + Max(g[l], l)),
)
false("a maximum of negatives", lambda: claim(Max(-f[l], l), "=", -Max(f[l], l)))
false("a real factor leaves a maximum", lambda: claim(Max(a * f[l], l), "=", a * Max(f[l], l)))
false("a real factor of entries leaves", lambda: claim(Max(f[i] * g[l], l), "=", f[i] * Max(g[l], l)))
false("the maximum of absolute values", lambda: claim(Max(absolute(f[l]), l), "=", absolute(Max(f[l], l))))
false("a maximum of squares", lambda: claim(Max(f[l] ** 2, l), "=", Max(f[l], l) ** 2))
false("a maximum is at most the sum", lambda: claim(Max(f[l], l), "<=", Sum(f[l], l)))
false("a maximum of positives is below the sum", lambda: claim(Max(p[l], l), "<", Sum(p[l], l)))
false("the sum is at most the maximum", lambda: claim(Sum(p[l], l), "<=", Max(p[l], l)))
false("a maximum of a column is that of another", lambda: claim(Max(F[l, j], l), "=", Max(F[l, 0], l)))
false("maxima swapped with a sum", lambda: claim(Max(Sum(F[i, j], j), i), "=", Sum(Max(F[i, j], i), j)))
false(
    "a maximum of a delta is a sum of it over later ones",
    lambda: claim(
        Max(delta(l, i), l, where=le(l, i)), "=", Max(delta(l, i), l, where=lt(l, i)), where=lt(0, i)
    ),
)
false(
    "the maximum of a permuted half",
    lambda: claim(Max(f[pi[l]], l, where=ok[l]), "=", Max(f[l], l, where=ok[l]), where=Some(ok[r], r)),
)
false(
    "a maximum with a permitted one in another row",
    lambda: claim(F[i, j], "<=", Max(F[i, j], j, where=B[i, j]), where=Some(B[0, j], j)),
    undefined=True,
)
false("a maximum of a doubled tensor", lambda: claim(Max(2 * f[l], l), "<=", Max(f[l], l)))
false("a maximum of exponentials at most one", lambda: claim(exp(Max(f[l], l)), "<=", 1))
false("less the maximum is below 0", lambda: claim(f[i] - Max(f[l], l), "<", 0))
false("less a row's maximum for another row", lambda: claim(F[i, j] - Max(F[0, j], j), "<=", 0))
false("the maximum of two maxima by one of them", lambda: claim(Max(f[l], l), "<=", Max(f[l], (l, 0, 0))))
false("a maximum of nonnegatives is positive", lambda: claim(0, "<", Max(q[l], l)))
false(
    "a bound on members bounds strictly",
    lambda: claim(Max(f[l], l), "<", c),
    assuming=(Every(le(f[l], c), l),),
)
false(
    "a bound on permitted members bounds all",
    lambda: claim(Max(f[l], l), "<=", c),
    assuming=(Every(le(f[l], c) | ~ok[l], l),),
)
false(
    "the larger tensor entrywise somewhere",
    lambda: claim(Max(f[l], l), "<=", Max(g[l], l)),
    assuming=(Some(le(f[l], g[l]), l),),
)
false("a constant's maximum counts", lambda: claim(Max(lift(l), l), "=", lift(n)))
false("the largest index is the first", lambda: claim(Max(lift(l), l), "=", lift(m - 1)))

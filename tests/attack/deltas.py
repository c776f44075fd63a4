"""Kronecker's delta: what it picks, where it has nothing to pick."""

from spec.language import case, claim, delta, eq, lift, lt
from spec.language.binders import Sum
from tests.attack.board import F, G, a, at, category, f, i, j, k, l, m, n, ok, pi, r

false = category("deltas")

false("a delta picks past its range", lambda: claim(Sum(delta(l, i) * f[l], (l, 0, i - 1)), "=", f[i]))
false("a delta picks in a later range", lambda: claim(Sum(delta(l, i) * f[l], (l, i + 1, n - 1)), "=", f[i]))
false(
    "a delta picks the first where it is left out",
    lambda: claim(Sum(delta(l, i) * f[l], (l, 1, n - 1)), "=", f[i]),
)
false(
    "a delta picks the last where it is left out",
    lambda: claim(Sum(delta(l, i) * f[l], (l, 0, n - 2)), "=", f[i]),
)
false("a delta of two sizes", lambda: claim(Sum(delta(i, j), j), "=", 1))
false("a delta of two sizes, over the other", lambda: claim(Sum(delta(i, j), i), "=", 1))
false("a delta of a shifted index", lambda: claim(Sum(delta(l, i + 1), l), "=", 1))
false("a delta of a shifted index back", lambda: claim(Sum(delta(l, i - 1), l), "=", 1))
false("a delta of a doubled index", lambda: claim(Sum(delta(2 * l, i), l), "=", 1))
false("a delta of a doubled index picks", lambda: claim(Sum(delta(2 * l, i) * f[l], l), "=", f[i]))
false("a delta of an index doubled outside", lambda: claim(Sum(delta(l, 2 * i), l), "=", 1))
false("a delta of a sum of indices", lambda: claim(Sum(delta(l + r, i), l, r), "=", 1))
false("a delta of a difference", lambda: claim(Sum(delta(l - r, i), l), "=", 1))
false("a delta under a condition", lambda: claim(Sum(delta(l, i) * f[l], l, where=ok[l]), "=", f[i]))
false("a delta under an order", lambda: claim(Sum(delta(l, i) * f[l], l, where=lt(l, i)), "=", f[i]))
false("a squared delta is doubled", lambda: claim(delta(i, l) ** 2, "=", 2 * delta(i, l)))
false("a delta of an integer tensor", lambda: claim(Sum(delta(at[j], i), j), "=", 1))
false("a delta of a permuted index is that of the index", lambda: claim(delta(pi[i], l), "=", delta(i, l)))
false(
    "a delta of a permutation picks the entry itself",
    lambda: claim(Sum(delta(pi[l], i) * f[l], l), "=", f[i]),
)
false("a delta of a permutation picks forwards", lambda: claim(Sum(delta(pi[l], i) * f[l], l), "=", f[pi[i]]))
false("a delta of a look-up picks its place", lambda: claim(Sum(delta(at[j], i) * F[i, j], j), "=", F[i, 0]))
false("a product of deltas", lambda: claim(Sum(delta(i, l) * delta(l, r), l), "=", delta(i, r) + delta(i, l)))
false("a product of deltas sums to 1", lambda: claim(Sum(delta(i, l) * delta(l, r), l), "=", 1))
false("a trace is one", lambda: claim(Sum(delta(l, l), l), "=", 1))
false("a delta is symmetric in entries", lambda: claim(delta(i, l) * f[i], "=", delta(i, l) * f[0]))
false(
    "a delta replaces what it does not say", lambda: claim(delta(i, l) * F[i, j], "=", delta(i, l) * F[l, 0])
)
false("a delta of different indices", lambda: claim(delta(i, l), "=", delta(i, r)))
false("a delta of a constant", lambda: claim(Sum(delta(l, 1), l), "=", 1))
false("a delta of a constant picks", lambda: claim(Sum(delta(l, 3) * lift(l), l), "=", 3))
false("a delta of a size", lambda: claim(Sum(delta(l, n), l), "=", 1))
false("a delta of another size", lambda: claim(Sum(delta(l, m), l), "=", 1))
false("one minus a delta sums to n", lambda: claim(Sum(1 - delta(l, i), l), "=", lift(n)))
false(
    "one minus a delta picks the others, itself too",
    lambda: claim(Sum((1 - delta(l, i)) * f[l], l), "=", Sum(f[l], l)),
)
false(
    "a case on equality is a delta the other way",
    lambda: claim(case(eq(i, l), 0, f[l]), "=", delta(i, l) * f[l]),
)
false("a delta is a condition of order", lambda: claim(case(lt(i, l), a), "=", (1 - delta(i, l)) * a))
false(
    "a double delta over a triangle",
    lambda: claim(Sum(Sum(delta(l, r) * f[l], (r, 0, l - 1)), l), "=", Sum(f[l], l)),
)
false("a delta with a number that is an integer", lambda: claim(Sum(delta(l, k) * f[l], l), "=", f[0]))
false("a delta of twice a look-up", lambda: claim(Sum(delta(l, 2 * k), l), "=", 1))
false("deltas of two look-ups", lambda: claim(Sum(delta(at[j], l), l) - delta(at[j], at[0]), "=", 0))
false(
    "the row of an identity picked by its column",
    lambda: claim(Sum(delta(i, l) * G[l, j], l), "=", G[j, j]),
    undefined=True,
)
for shift in (1, 2):
    false(
        f"a delta shifted by {shift} picks",
        lambda k=shift: claim(Sum(delta(l, i + k) * f[l], l), "=", case(lt(i + k, n), f[i], 0)),
    )

"""Sums: empty ranges, splitting, shifting, reversing, exchanging."""

from spec.language import case, claim, eq, exp, le, lift, lt
from spec.language.binders import Every, Some, Sum
from tests.attack.board import (
    B,
    F,
    G,
    a,
    c,
    category,
    f,
    g,
    i,
    j,
    k,
    l,
    m,
    n,
    ok,
    p,
    pi,
    r,
)

false = category("sums")

false(
    "a sum splits with its middle twice",
    lambda: claim(Sum(f[l], l), "=", Sum(f[l], (l, 0, i)) + Sum(f[l], (l, i, n - 1))),
)
false(
    "a sum splits without its middle",
    lambda: claim(Sum(f[l], l), "=", Sum(f[l], (l, 0, i - 1)) + Sum(f[l], (l, i + 1, n - 1))),
)
false(
    "a sum without its first is the rest and it", lambda: claim(Sum(f[l], (l, 1, n - 1)), "=", Sum(f[l], l))
)
false("a sum without its last", lambda: claim(Sum(f[l], (l, 0, n - 2)), "=", Sum(f[l], l) - f[0]))
for low, high in ((1, 0), (2, 1), (0, 0), (1, 1)):
    false(
        f"ones from {low} to n − {high + 1} are n",
        lambda a=low, b=high: (
            claim(
                Sum(lift(1), (l, a, n - 1 - b)),
                "=",
                lift(n - a - b + (1 if a + b == 0 else 0)) if a + b < 2 else lift(n - a - b),
            )
            if a + b >= 2
            else claim(Sum(lift(1), (l, a, n - 1 - b)), "=", lift(n + 1 - a))
        ),
    )
false("the sum of indices", lambda: claim(Sum(lift(l), l), "=", lift(n * (n + 1)) / 2))
false(
    "the sum of squares of indices",
    lambda: claim(Sum(lift(l) ** 2, l), "=", lift(n * (n + 1) * (2 * n + 1)) / 6),
)
false("ones over later ones", lambda: claim(Sum(lift(1), (l, i + 1, n - 1)), "=", lift(n - i)))
false(
    "ones over a range of negative length",
    lambda: claim(Sum(lift(1), (l, i + 2, n - 1)), "=", lift(n - i - 2)),
)
false("a range that ends two before it begins", lambda: claim(Sum(lift(1), (l, n, n - 2)), "=", lift(-1)))
false("a range between two indices", lambda: claim(Sum(lift(1), (l, i, r)), "=", lift(r - i + 1)))
false("a range between two sizes", lambda: claim(Sum(lift(1), (l, n, m - 1)), "=", lift(m - n)))
false(
    "a range between sizes, either way",
    lambda: claim(Sum(lift(1), (l, n, m - 1)) + Sum(lift(1), (l, m, n - 1)), "=", lift(m - n)),
)
false("an empty sum is positive", lambda: claim(0, "<", Sum(lift(1), (l, 0, i - 1))))
false("an average of an empty range", lambda: claim(Sum(lift(1), (l, 0, i - 1)) / i, "=", 1), undefined=True)
false("a sum times itself is the sum of squares", lambda: claim(Sum(f[l], l) ** 2, "=", Sum(f[l] ** 2, l)))
false(
    "a product of sums is the sum of products",
    lambda: claim(Sum(f[l], l) * Sum(g[l], l), "=", Sum(f[l] * g[l], l)),
)
false(
    "a quotient of sums is the sum of quotients",
    lambda: claim(Sum(f[l], l) / Sum(p[l], l), "=", Sum(f[l] / p[l], l)),
)
false("an entry leaves its own sum", lambda: claim(Sum(f[l] * g[l], l), "=", f[i] * Sum(g[l], l)))
false("a constant counts once", lambda: claim(Sum(f[l] + a, l), "=", Sum(f[l], l) + a))
false("a constant counts m times", lambda: claim(Sum(f[l] + a, l), "=", Sum(f[l], l) + m * a))
false("a sum over another size", lambda: claim(Sum(a, j), "=", n * a))
false("a double sum counts once", lambda: claim(Sum(F[i, j], j, l), "=", Sum(F[i, j], j)))
false("a double sum of a row", lambda: claim(Sum(F[l, j], l, j), "=", n * Sum(F[0, j], j)))
false(
    "a double sum of products over a triangle",
    lambda: claim(Sum(Sum(f[l] * f[r], (r, 0, l)), l), "=", Sum(f[l], l) ** 2 / 2),
)
false(
    "a triangle exchanged wrongly",
    lambda: claim(Sum(Sum(f[r] * g[l], (r, 0, l)), l), "=", Sum(Sum(f[r] * g[l], (r, l, n - 1)), l)),
)
false(
    "a triangle exchanged off by one",
    lambda: claim(Sum(Sum(f[r] * g[l], (r, 0, l)), l), "=", Sum(Sum(f[r] * g[l], (l, r + 1, n - 1)), r)),
)
false(
    "a triangle is half of a square",
    lambda: claim(2 * Sum(Sum(F[l, j], (l, 0, i)), i, j), "=", n * Sum(F[l, j], l, j)),
)
false("shifted by one", lambda: claim(Sum(f[l + 1], (l, 0, n - 2)), "=", Sum(f[l], l)))
false("shifted, the bounds left", lambda: claim(Sum(f[l], (l, 1, n - 1)), "=", Sum(f[l - 1], (l, 1, n - 1))))
false("reversed off by one", lambda: claim(Sum(f[n - 1 - l] * l, l), "=", Sum(f[l] * l, l)))
false("reversed with weights", lambda: claim(Sum(f[n - 1 - l] * l, l), "=", Sum(f[l] * (n - l), l)))
false(
    "a telescoping sum without its first", lambda: claim(Sum(f[l + 1] - f[l], (l, 0, n - 2)), "=", f[n - 1])
)
false(
    "a telescoping sum one short",
    lambda: claim(Sum(f[l + 1] - f[l], (l, 0, n - 2)), "=", f[n - 1] - f[1]),
    undefined=True,
)
false("a cross difference", lambda: claim(Sum(f[l] * g[n - 1 - l], l), "=", Sum(f[l] * g[l], l)))
false("a restricted sum is the whole", lambda: claim(Sum(f[l], l, where=ok[l]), "=", Sum(f[l], l)))
false(
    "a restricted sum of its other", lambda: claim(Sum(f[l], l, where=ok[l]), "=", Sum(f[l], l, where=~ok[l]))
)
false(
    "two conditions one after another",
    lambda: claim(
        Sum(f[l], l, where=ok[l]) + Sum(f[l], l, where=lt(l, i)), "=", Sum(f[l], l, where=ok[l] | lt(l, i))
    ),
)
false(
    "a disjunction counted twice",
    lambda: claim(Sum(lift(1), l, where=ok[l] | ok[l]), "=", 2 * Sum(lift(1), l, where=ok[l])),
)
false(
    "a conjunction taken for its half",
    lambda: claim(Sum(f[l], l, where=ok[l] & lt(i, l)), "=", Sum(f[l], l, where=ok[l])),
)
false(
    "a negated conjunction",
    lambda: claim(Sum(f[l], l, where=~(ok[l] & lt(i, l))), "=", Sum(f[l], l, where=~ok[l] & le(l, i))),
)
false(
    "a condition on another index",
    lambda: claim(Sum(F[i, j], j, where=B[i, j]), "=", case(B[i, 0], Sum(F[i, j], j))),
)
false(
    "a permuted sum with its weights left", lambda: claim(Sum(f[pi[l]] * g[l], l), "=", Sum(f[l] * g[l], l))
)
false(
    "a permuted restricted sum", lambda: claim(Sum(f[pi[l]], l, where=ok[l]), "=", Sum(f[l], l, where=ok[l]))
)
false("a permuted part", lambda: claim(Sum(f[pi[l]], (l, 0, i)), "=", Sum(f[l], (l, 0, i))))
false(
    "a sum of a permutation is that of another size",
    lambda: claim(Sum(lift(pi[l]), l), "=", lift(n * (n + 1)) / 2),
)
false("a sum of look-ups", lambda: claim(Sum(f[k], l), "=", Sum(f[l], l)))
false("an exponential of a sum is a sum", lambda: claim(exp(Sum(f[l], l)), "=", Sum(exp(f[l]), l)))
false("a matrix product transposed", lambda: claim(Sum(F[i, j] * G[l, j], j), "=", Sum(F[l, j] * G[i, j], j)))
false(
    "a matrix product with an index too few",
    lambda: claim(Sum(F[i, j] * G[l, j], j), "=", Sum(F[i, j], j) * Sum(G[l, j], j)),
)
false(
    "a Cauchy–Schwarz inequality the other way",
    lambda: claim(Sum(f[l] ** 2, l) * Sum(g[l] ** 2, l), "<=", Sum(f[l] * g[l], l) ** 2),
)
false(
    "a Jensen inequality the other way", lambda: claim(Sum(f[l] ** 2, l) / n, "<=", (Sum(f[l], l) / n) ** 2)
)
false(
    "a sum of terms bounded one by one",
    lambda: claim(Sum(f[l], l), "<=", a),
    assuming=(Every(le(f[l], a), l),),
)
false(
    "a sum of terms below the bound's sum",
    lambda: claim(Sum(f[l], l), "<", n * a),
    assuming=(Every(le(f[l], a), l),),
)
false(
    "some term bounded, so the sum",
    lambda: claim(Sum(f[l], l), "<=", n * a),
    assuming=(Some(le(f[l], a), l),),
)
false(
    "the sums of equal terms at an index",
    lambda: claim(Sum(f[l], l), "=", Sum(g[l], l)),
    assuming=(eq(f[0], g[0]),),
)
false(
    "equal sums have equal terms", lambda: claim(f[i], "=", g[i]), assuming=(eq(Sum(f[l], l), Sum(g[l], l)),)
)
false("a sum of zero has zero terms", lambda: claim(f[i], "=", 0), assuming=(eq(Sum(f[l], l), 0),))
false("the sum to an index is below the whole", lambda: claim(Sum(p[l], (l, 0, i)), "<", Sum(p[l], l)))
false(
    "the sum to an index is at most the whole, of reals",
    lambda: claim(Sum(f[l], (l, 0, i)), "<=", Sum(f[l], l)),
)
false("a geometric sum", lambda: claim(Sum(a**l, (l, 0, n - 1)) * (1 - a), "=", 1 - a ** (n - 1)))
false("a geometric sum over positive powers", lambda: claim(Sum(c**l, (l, 1, n)) * (1 - c), "=", 1 - c**n))
for factor in (2, 3):
    false(f"a sum counted {factor} times", lambda k=factor: claim(Sum(k * f[l], l), "=", Sum(f[l], l)))

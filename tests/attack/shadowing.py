"""Shadowing and capture: letters bound twice, letters that a substitution must not catch."""

from spec.language import case, claim, delta, each, eq, exp, indices, lift, lt
from spec.language.binders import Every, Max, Some, Sum
from tests.attack.board import (
    F,
    G,
    T,
    a,
    b,
    category,
    f,
    g,
    i,
    j,
    l,
    largest,
    n,
    ok,
    p,
    r,
    running,
    squared,
    t,
    w,
    x,
)

false = category("shadowing and capture")
U = {"undefined": True}

false("an inner index hides the outer", lambda: claim(Sum(f[i] * Sum(g[i], i), i), "=", Sum(f[i] * g[i], i)))
false(
    "an inner index hides the outer, the other way",
    lambda: claim(Sum(Sum(f[i], i) * g[i], i), "=", Sum(f[i] * g[i], i)),
)
false("a sum over the claim's own index", lambda: claim(Sum(f[i], i) + 0 * f[l], "=", f[l]))
false("a sum over the claim's own index counts n", lambda: claim(f[i] * Sum(lift(1), i), "=", f[i]))
false("a sum of a sum over one letter", lambda: claim(Sum(Sum(f[l], l), l), "=", Sum(f[l], l)))
false(
    "a sum of a sum over one letter, squared",
    lambda: claim(Sum(Sum(f[l], l) * f[l], l), "=", Sum(f[l] ** 2, l)),
)
false(
    "a range that names its own index", lambda: claim(Sum(lift(1), (l, 0, i)), "=", Sum(lift(1), (i, 0, l)))
)
false("a range ending at the hidden letter", lambda: claim(Sum(Sum(f[l], (l, 0, l)), l), "=", Sum(f[l], l)))
false(
    "a range ending at the outer letter", lambda: claim(Sum(Sum(f[r], (r, 0, l)), l), "=", n * Sum(f[r], r))
)
false(
    "a condition on the hidden letter",
    lambda: claim(Sum(Sum(f[l], l, where=lt(l, i)), i), "=", Sum(f[l], l, where=lt(l, i)) * n + 0 * f[i]),
)
false(
    "a some over the claim's letter", lambda: claim(case(Some(ok[i], i), f[i], 0), "=", case(ok[i], f[i], 0))
)
false(
    "a some over the claim's letter holds",
    lambda: claim(case(Some(eq(i, l), i), a, b), "=", case(eq(i, l), a, b)),
)
false(
    "an every over the claim's letter",
    lambda: claim(case(Every(ok[i], i), f[i], 0), "=", case(ok[i], f[i], 0)),
)
false("a maximum over the claim's letter", lambda: claim(Max(f[i], i), "=", f[i] + 0 * g[i]))
false("a maximum of a shifted letter", lambda: claim(Max(f[l] - f[i], l), "=", Max(f[l] - f[l], l)))
false("a maximum of a difference within one letter", lambda: claim(Max(f[i] - f[l], l), "=", 0))
false("a maximum inside a maximum over one letter", lambda: claim(Max(Max(f[l], l) - f[l], l), "=", 0))
false(
    "an argument that names the callee's letter",
    lambda: claim(squared(each(f[i] * f[l], l))[r], "=", f[r] ** 4 + 0 * f[i]),
    squared,
)
false(
    "an argument that names the callee's letter, summed",
    lambda: claim(
        Sum(squared(each(f[i] + f[l], l))[i], i), "=", Sum(squared(each(f[l] + f[l], l))[i], i) / 2
    ),
    squared,
)
false(
    "an argument that names the callee's own index",
    lambda: claim(squared(each(f[l] * g[i], l))[r], "=", (f[r] * g[r]) ** 2),
    squared,
)
false(
    "an application to a row of a letter",
    lambda: claim(squared(each(F[l, j], l))[i], "=", F[i, 0] ** 2),
    squared,
)
false(
    "an application inside an application",
    lambda: claim(
        squared(each(squared(each(f[l] + f[i], l))[l], l))[i], "=", (2 * f[i]) ** 4 + f[l] * 0 + f[i]
    ),
    squared,
)
false(
    "a sum over the callee's letter of an application",
    lambda: claim(Sum(squared(each(f[i], l))[l], l), "=", Sum(f[l] ** 2, l)),
    squared,
)
false(
    "a running sum over its own letter",
    lambda: claim(Sum(running(each(x[t], t), w)[t], t), "=", Sum(x[t], t)),
    running,
)
false(
    "a running sum of a constant row of the outer letter",
    lambda: claim(running(each(x[t], (u_, T)), w)[t + 1], "=", running(x, w)[t + 1]),
    running,
)
false("a delta of the hidden letter", lambda: claim(Sum(Sum(delta(l, i) * f[l], l), i), "=", f[i] * n))
false(
    "a delta to a bound letter",
    lambda: claim(Sum(delta(l, i) * Sum(f[l] * g[i], l), l), "=", Sum(f[i] * g[l], l)),
)
false(
    "a delta moved into a binder",
    lambda: claim(delta(i, l) * Sum(F[i, j] * f[l], j), "=", delta(i, l) * Sum(F[l, j], j) * f[0]),
)
false(
    "a delta moved into a binder over its letter",
    lambda: claim(delta(i, l) * Sum(f[i] + f[l], i), "=", delta(i, l) * 2 * Sum(f[i], i)),
)
false(
    "a sum split under a binder of its letter",
    lambda: claim(Sum(Sum(f[r], (r, 0, l - 1)) + f[l], l), "=", Sum(f[l], l)),
)
false(
    "a product of sums over one letter", lambda: claim(Sum(f[l], l) * Sum(f[l], l), "=", Sum(f[l] * f[l], l))
)
false(
    "a product of three sums over one letter",
    lambda: claim(Sum(f[l], l) * Sum(g[l], l) * Sum(p[l], l), "=", Sum(f[l] * g[l] * p[l], l)),
)
false(
    "a square of a sum with its letter outside",
    lambda: claim(f[l] * Sum(f[l], l) ** 2, "=", f[l] * Sum(f[l] ** 2, l)),
)
false(
    "a letter bound in one factor and free in another",
    lambda: claim(f[l] * Sum(g[l], l), "=", Sum(f[l] * g[l], l)),
)
false(
    "a letter bound in one term and free in another",
    lambda: claim(f[l] + Sum(g[l], l), "=", Sum(f[l] + g[l], l)),
)
false("a letter bound under a root", lambda: claim(exp(Sum(f[l], l)) * f[l], "=", exp(f[l]) * Sum(f[l], l)))
false(
    "a matrix product by one letter",
    lambda: claim(Sum(F[i, j] * Sum(G[l, j], j), j), "=", Sum(F[i, j] * G[l, j], j)),
)
false(
    "a trace by one letter",
    lambda: claim(Sum(Sum(F[i, j] * G[i, j], j), i), "=", Sum(F[i, j], i, j) * Sum(G[i, j], i, j)),
)
from tests.attack.board import u as u_  # noqa: E402

# Parts of arrays: the letters that they are given stand for nothing else --------------------------------------------------

a_, b_ = indices(a=n, b=n)
outer = each(g[l] * p[a_], l)
false(
    "a part's letter catches one of the array",
    lambda: claim(squared(outer[:n])[i], "=", (g[i] * p[i]) ** 2, i, a_),
    squared,
)
false(
    "the whole's letter catches one of the array",
    lambda: claim(squared(outer[()])[i], "=", (g[i] * p[i]) ** 2, i, a_),
    squared,
)
false(
    "a result's letter catches one of its argument",
    lambda: claim(squared(squared(outer))[i], "=", (g[i] * p[i]) ** 4, i, a_),
    squared,
)
false(
    "a part of a result catches a letter of its argument",
    lambda: claim(squared(squared(outer)[:n])[i], "=", (g[i] * p[i]) ** 4, i, a_),
    squared,
)
false(
    "a part's second letter catches one of the array",
    lambda: claim(
        Sum(squared(each(G[l, j] * p[b_], l, j)[:, 0])[l], l), "=", Sum((G[l, 0] * p[l]) ** 2, l), b_
    ),
    squared,
)
false(
    "a result caught in a maximum",
    lambda: claim(largest(squared(outer)), "=", Max((g[l] * p[l]) ** 2, l), a_),
    largest,
)

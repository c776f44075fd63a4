"""`at`, `sizes` and `where`: what is fixed, replaced and restricted."""

from spec.language import absolute, case, claim, eq, le, lift, lt, sizes
from spec.language.binders import Max, Some, Sum
from tests.attack.board import (
    B,
    F,
    a,
    b,
    category,
    f,
    g,
    i,
    inverted,
    j,
    k,
    l,
    logged,
    m,
    n,
    ok,
    pi,
    r,
    rooted,
    running,
    squared,
    t,
    w,
    x,
    x_log,
    x_over,
    x_root,
    x_square,
    z,
)

at = category("at")
U = {"undefined": True}
at("an input fixed to 0 is 1", lambda: claim(f[i], "=", 1), at={f: 0})
at("an input fixed to 1 sums to 1", lambda: claim(Sum(f[l], l), "=", 1), at={f: 1})
at("an input fixed to 2 has its square", lambda: claim(Sum(f[l] ** 2, l), "=", 2 * n), at={f: 2})
at("another input is fixed", lambda: claim(F[i, j], "=", 0), at={f: 0})
at("an input fixed to 0 is divided by", lambda: claim(f[i] / f[i], "=", 1), at={f: 0}, **U)
at("an input fixed to 0 cancels", lambda: claim(f[i] * a / f[i], "=", a), at={f: 0}, **U)
at("a positive input fixed to 0 is positive", lambda: claim(0, "<", x_log[i]), logged, at={x_log: 0})
at(
    "a positive input fixed to 0 has a logarithm",
    lambda: claim(logged(x_log)[i] - logged(x_log)[i], "=", 0),
    logged,
    at={x_log: 0},
    **U,
)
at(
    "a positive input fixed to 0 has a reciprocal",
    lambda: claim(inverted(x_over)[i] * x_over[i], "=", 1),
    inverted,
    at={x_over: 0},
    **U,
)
at("a positive input fixed to −1 is positive", lambda: claim(0, "<", x_log[i]), logged, at={x_log: -1})
at(
    "a nonnegative input fixed to −1 is nonnegative",
    lambda: claim(0, "<=", x_root[i]),
    rooted,
    at={x_root: -1},
)
at(
    "a nonnegative input fixed to −1 has a root",
    lambda: claim(rooted(x_root)[i] ** 2, "=", x_root[i]),
    rooted,
    at={x_root: -1},
    **U,
)
at(
    "a nonnegative input fixed to −4 is its absolute value",
    lambda: claim(absolute(x_root[i]), "=", x_root[i]),
    rooted,
    at={x_root: -4},
)
at("a root at 4 is 4", lambda: claim(rooted(x_root)[i], "=", 4), rooted, at={x_root: 4})
at("a square at −2 is −4", lambda: claim(squared(x_square)[i], "=", -4), squared, at={x_square: -2})
at("a weight fixed to 1 forgets", lambda: claim(running(x, w)[t + 1], "=", x[t]), running, at={w: 1})
at(
    "a weight fixed to 0 keeps",
    lambda: claim(running(x, w)[t + 1], "=", running(x, w)[t] + x[t]),
    running,
    at={w: 0},
)
at("a fixed input against its own assumption", lambda: claim(f[i], "<", 0), at={f: 1}, assuming=(lt(a, 0),))
at("a fixed input in a maximum", lambda: claim(Max(f[l], l), "=", 3), at={f: 2})
at("a fixed input in a strict order", lambda: claim(case(lt(f[i], f[l]), a, b), "=", a), at={f: 1})
at("a fixed input in a weak order", lambda: claim(case(le(f[i], f[l]), a, b), "=", b), at={f: 1})
at("a given tensor fixed to 0 is 1", lambda: claim(g[i], "=", 1), at={g: 0})
at("a given number fixed to 0 divides", lambda: claim(a / z, "=", 0), at={z: 0}, **U)
for value in (-3, -1, 2, 5):
    at(f"an input fixed to {value} is one more", lambda v=value: claim(f[i], "=", v + 1), at={f: value})
    at(
        f"an input fixed to {value} is its absolute value's negative",
        lambda v=value: claim(-absolute(f[i]), "=", v if v > 0 else v - 1),
        at={f: value},
    )

sized = category("sizes")
h, o = sizes("h o")
sized("an even size is odd", lambda: claim(lift(n), "=", 2 * h + 1), sizes={n: 2 * h})
sized("an even size halves to itself", lambda: claim(lift(n) / 2, "=", lift(n)), sizes={n: 2 * h})
sized("an even size is at least four", lambda: claim(4, "<=", lift(n)), sizes={n: 2 * h})
sized("an odd size is at least five", lambda: claim(5, "<=", lift(n)), sizes={n: 2 * h + 1})
sized("an odd size is positive by three", lambda: claim(3, "<", lift(n)), sizes={n: 2 * h + 1})
sized("a size plus one is at least three", lambda: claim(3, "<=", lift(n)), sizes={n: h + 1})
sized("ones over an even size", lambda: claim(Sum(lift(1), l), "=", lift(h)), sizes={n: 2 * h})
sized(
    "the sum over an even size in halves",
    lambda: claim(Sum(f[l], l), "=", 2 * Sum(f[l], (l, 0, h - 1))),
    sizes={n: 2 * h},
)
sized(
    "the sum over an even size in pairs",
    lambda: claim(Sum(f[l], l), "=", Sum(f[2 * l], (l, 0, h - 1))),
    sizes={n: 2 * h},
)
sized(
    "the sum over an odd size in pairs",
    lambda: claim(Sum(f[l], l), "=", Sum(f[2 * l] + f[2 * l + 1], (l, 0, h - 1))),
    sizes={n: 2 * h + 1},
)
sized("the last of an odd size", lambda: claim(f[n - 1], "=", f[2 * h - 1]), sizes={n: 2 * h + 1})
sized("a size replaced by another is it", lambda: claim(lift(n), "=", lift(m)), sizes={n: 2 * m})
sized("a size replaced by a sum is a part of it", lambda: claim(lift(n), "=", lift(h)), sizes={n: h + o})
sized("a size replaced by a product is positive by two", lambda: claim(2, "<=", lift(n)), sizes={n: h * o})
sized("a size fixed to 1 is 2", lambda: claim(lift(n), "=", 2), sizes={n: 1})
sized("a size fixed to 1 sums two", lambda: claim(Sum(f[l], l), "=", 2 * f[0]), sizes={n: 1})
sized("a size fixed to 2 sums one", lambda: claim(Sum(f[l], l), "=", f[0]), sizes={n: 2})
sized("a size fixed to 2 has one order", lambda: claim(f[0], "<=", f[1]), sizes={n: 2})
sized("a size fixed to 3 has its middle", lambda: claim(Sum(f[l], l), "=", 3 * f[1]), sizes={n: 3})
sized("a size fixed to 3 has a permutation of order 2", lambda: claim(f[pi[pi[i]]], "=", f[i]), sizes={n: 3})
sized("a size fixed to 1 leaves the other", lambda: claim(lift(m), "=", 1), sizes={n: 1})
sized("a size fixed to 1 in a difference", lambda: claim(0, "<", lift(m - n)), sizes={n: 1})
sized(
    "a size fixed to 0 is positive",
    lambda: claim(0, "<", lift(n)),
    sizes={n: 0},
    made=True,
    vacuous=True,
    meaningless=True,
)
sized(
    "a size fixed to −1 counts",
    lambda: claim(Sum(lift(1), l), "=", -1),
    sizes={n: -1},
    made=True,
    vacuous=True,
    meaningless=True,
)
sized("the largest of an even size", lambda: claim(Max(lift(l), l), "=", lift(2 * h)), sizes={n: 2 * h})
sized("sizes that differ by one are equal", lambda: claim(lift(n), "=", lift(m)), sizes={n: m + 1})

where = category("where")
where("a condition on another index", lambda: claim(f[i], "=", f[l], where=eq(i, r)))
where("a weak order for a strict one", lambda: claim(case(lt(i, l), a, b), "=", a, where=le(i, l)))
where("an order by one", lambda: claim(case(lt(i + 1, l), a, b), "=", a, where=lt(i, l)))
where("a condition on values for one on indices", lambda: claim(lift(i), "=", lift(l), where=eq(f[i], f[l])))
where("a condition on indices for one on values", lambda: claim(f[i], "<=", f[l], where=le(i, l)))
where(
    "a disjunction for a conjunction", lambda: claim(case(ok[i] & ok[l], a, b), "=", a, where=ok[i] | ok[l])
)
where(
    "a negated conjunction for two negations",
    lambda: claim(case(ok[i] | ok[l], a, b), "=", b, where=~(ok[i] & ok[l])),
)
where(
    "a negated disjunction for one negation",
    lambda: claim(case(ok[i] | ok[l], a, b), "=", a, where=~(~ok[i] & lt(a, 0))),
)
where(
    "a negated conjunction of orders", lambda: claim(case(lt(i, l), a, b), "=", b, where=~(lt(i, l) & ok[i]))
)
where(
    "a negated conjunction of three", lambda: claim(case(ok[i], a, b), "=", b, where=~(ok[i] & ok[l] & ok[r]))
)
where("some for every", lambda: claim(case(ok[i], a, b), "=", a, where=Some(ok[l], l)))
where("some in another row", lambda: claim(case(Some(B[i, j], j), a, b), "=", a, where=Some(B[0, j], j)))
where("a sign of another", lambda: claim(absolute(a), "=", a, where=lt(0, b)))
where("a sign of a sum", lambda: claim(absolute(a), "=", a, where=lt(0, a + b)))
where("a sign of a product", lambda: claim(absolute(a), "=", a, where=lt(0, a * b)))
where("a sign of a square", lambda: claim(absolute(a), "=", a, where=lt(0, a**2)))
where("a bound by 1", lambda: claim(a**2, "<=", a, where=le(a, 1)))
where("a bound from below", lambda: claim(a, "<=", a**2, where=le(-1, a)))
where("a value that differs from 0", lambda: claim(0, "<", a, where=~eq(a, 0)))
where(
    "a value that differs from 0, over itself and another",
    lambda: claim(a / b, "=", a / b, where=~eq(a, 0)),
    **U,
)
where("an index that is not the first", lambda: claim(f[i - 1], "<=", f[i], where=lt(0, i)))
where(
    "an index that is not the first, nor its neighbour",
    lambda: claim(f[i - 2], "=", f[i - 2], where=lt(0, i)),
    **U,
)
where(
    "an index before the last, its second neighbour",
    lambda: claim(f[i + 2], "=", f[i + 2], where=lt(i, n - 1)),
    **U,
)
where("an index in the other's range", lambda: claim(F[i, i], "=", F[i, i], where=lt(i, m + 1)), **U)
where(
    "a condition about a sum's terms",
    lambda: claim(Sum(absolute(f[l]), l), "=", Sum(f[l], l), where=lt(0, f[i])),
)
where(
    "a condition about the first term",
    lambda: claim(Sum(absolute(f[l]), l), "=", Sum(f[l], l), where=lt(0, f[0])),
)
where("a condition about a maximum", lambda: claim(absolute(f[i]), "=", f[i], where=lt(0, Max(f[l], l))))
where("a condition about a size", lambda: claim(Sum(f[l], l), "=", f[0], where=le(n, 2)))
where("a condition about two sizes", lambda: claim(lift(n), "<", lift(m), where=le(n, m)))
where("a condition that holds nowhere at small sizes", lambda: claim(f[i], "=", 0, where=lt(4, i)))
where("a condition that holds rarely", lambda: claim(a, "=", b, where=eq(f[0], 2) & lt(2, n)))
where("an equality of values carries over to others", lambda: claim(g[i], "=", g[l], where=eq(f[i], f[l])))
where("an equality of sizes", lambda: claim(lift(n * m), "=", lift(2 * n), where=eq(n, m)))
where("a look-up's condition", lambda: claim(f[k], "=", f[0], where=lt(k, 2)), **U)

"""Labels, which may be none (−100), and shares, from 0 to 1: neither is an index or a positive number as it stands."""

from spec.language import (
    Formula,
    absolute,
    case,
    claim,
    data,
    define,
    delta,
    each,
    eq,
    exp,
    given,
    le,
    lift,
    log,
    lt,
    number,
    sqrt,
    tensor,
)
from spec.language.binders import Every, Max, Some, Sum
from tests.attack.board import E, F, a, b, category, f, i, j, l, lookup, m, n

false = category("labels")
U = {"undefined": True}
M = {"undefined": True, "meaningless": True}
y, w = given("y", n, domain="label", below=m), given("w", n, domain="label", below=m)
one = given("one", domain="label", below=n)

false("a label is at least 0", lambda: claim(0, "<=", lift(y[i])))
false("a label is at least −99", lambda: claim(-99, "<=", lift(y[i])))
false("a label is below the last", lambda: claim(lift(y[i]), "<", lift(m) - 1))
false("no label is a label", lambda: claim(case(le(0, y[i]), 1, 0), "=", 1))
false("no label is −1", lambda: claim(case(lt(y[i], 0), 1, 0), "=", case(eq(y[i], -1), 1, 0)))
false("every label is one of the words", lambda: claim(Sum(delta(j, y[i]), j), "=", 1))
false("the labels count the places", lambda: claim(Sum(Sum(delta(j, y[l]), j), l), "=", lift(n)))
false("labels as weights", lambda: claim(0, "<=", Sum(lift(y[l]) * f[l] ** 2, l)))
false("a product of labels", lambda: claim(0, "<=", lift(y[i]) * lift(w[i])))
false("a label's size", lambda: claim(absolute(lift(y[i])), "<=", lift(m)))
false("the largest label", lambda: claim(0, "<=", Max(lift(y[l]), l)))
false("a label's square", lambda: claim(lift(y[i]) ** 2, "<=", lift(m) ** 2))
false("equal labels", lambda: claim(case(eq(y[i], w[i]), F[i, 0], 0), "=", F[i, 0]))
false("an entry at a label", lambda: claim(F[i, y[i]] * 0, "=", 0), **M)
false(
    "an entry at a label, where another is one",
    lambda: claim(case(le(0, w[i]), F[i, y[i]], 0) * 0, "=", 0),
    **M,
)
false(
    "an entry at a label, where it is at least −100",
    lambda: claim(case(le(-100, y[i]), F[i, y[i]], 0) * 0, "=", 0),
    **M,
)
false(
    "an entry at a label, where it is not −1",
    lambda: claim(case(eq(y[i], -1), 0, F[i, y[i]]) * 0, "=", 0),
    **M,
)
false(
    "an entry at a label, where it is none", lambda: claim(case(le(0, y[i]), 0, F[i, y[i]]) * 0, "=", 0), **M
)
false(
    "an entry at a label, where some is one",
    lambda: claim(case(Some(le(0, y[l]), l), F[i, y[i]], 0) * 0, "=", 0),
    **M,
)
false("a label as the place of a label", lambda: claim(case(le(0, one), lift(y[one]), 0), "<=", lift(one)))
false("looked up by a label", lambda: claim(case(Every(le(0, y[l]), l), 1, 1) * f[one], "=", f[one]), **M)
false("a label 100 further", lambda: claim(lift(y[i]) + 100, "<=", lift(m)))
false("a label 100 further is an index", lambda: claim(F[i, y[i] + 100] * 0, "=", 0), **M)
false("the sum up to a label", lambda: claim(Sum(lift(1), (j, 0, y[i])), "=", lift(y[i]) + 1))

L, out, L_in = tensor("L", n, domain="label"), tensor("out", n), data("L_in", n, domain="label", below=m)
v = data("v", n)
inner = Formula(
    "test.attack_label_in",
    "inner",
    (L_in, F),
    (define(out[i], lift(L_in[i]) + 0 * F[i, 0]),),
    (out,),
    auxiliary=True,
)
inner.theorem("least", "least", claim(-100, "<=", out[i]).by_definition("so"))
false("labels are integers", lambda: claim(0, "<=", lift(lookup(y, E)[i, 0]) ** 2), **M)
false(
    "−500 is a label",
    lambda: claim(-100, "<=", inner(each(lift(-500), (i, n)), F)[i]).citing(
        "least", inner(each(lift(-500), (i, n)), F)
    ),
)
false(
    "a label less 1 is a label",
    lambda: claim(-100, "<=", inner(each(y[i] - 1, i), F)[i]).citing("least", inner(each(y[i] - 1, i), F)),
)

p, q = given("p", n, domain="share"), given("q", n, domain="share")
part = given("part", domain="share")
top = number("top", domain="positive", below=1)
s_in = data("s_in", n, domain="share")
rest = Formula(
    "test.attack_share_in", "rest", (s_in,), (define(out[i], sqrt(1 - s_in[i])),), (out,), auxiliary=True
)

false("a share is positive", lambda: claim(0, "<", p[i]))
false("a share is less than 1", lambda: claim(p[i], "<", 1))
false("the rest is negative", lambda: claim(1 - p[i], "<", 0))
false("the rest is positive", lambda: claim(0, "<", 1 - p[i]))
false("a share is its square", lambda: claim(p[i] ** 2, "=", p[i]))
false("a share is at most its square", lambda: claim(p[i], "<=", p[i] ** 2))
false("two shares are at most 1", lambda: claim(p[i] + q[i], "<=", 1))
false("shares sum to 1", lambda: claim(Sum(p[l], l), "=", 1))
false("shares sum to at most 1", lambda: claim(Sum(p[l], l), "<=", 1))
false("shares sum to less than n", lambda: claim(Sum(p[l], l), "<", lift(n)))
false("twice a share", lambda: claim(2 * p[i], "<=", 1))
false("a share and a bit", lambda: claim(p[i], "<=", lift(1) / 2))
false("a share of a number is at most it", lambda: claim(p[i] * a, "<=", a))
false("a share of a size is less", lambda: claim(absolute(p[i] * a), "<", absolute(a)))
false("a share of shares is less than one", lambda: claim(p[i] * q[i], "<", 1))
false("a share of two", lambda: claim(absolute(p[i] * a * b), "<=", absolute(a)))
false("the rest's share", lambda: claim((1 - p[i]) * a, "<=", a))
false("a mixture is between", lambda: claim(p[i] * a + (1 - p[i]) * b, "<=", a))
false(
    "a mixture of sizes",
    lambda: claim(absolute(p[i] * a + (1 - q[i]) * b), "<=", absolute(a) + absolute(b) - p[i] * absolute(a)),
)
false(
    "a mixture's square is strictly convex",
    lambda: claim((p[i] * a + (1 - p[i]) * b) ** 2, "<", p[i] * a**2 + (1 - p[i]) * b**2),
)
false("over a share", lambda: claim(p[i] / p[i], "=", 1), **U)
false("over the rest", lambda: claim((1 - p[i]) / (1 - p[i]), "=", 1), **U)
false("the logarithm of a share", lambda: claim(log(p[i]) * 0, "=", 0), **U)
false("the logarithm of the rest", lambda: claim(log(1 - p[i]) * 0, "=", 0), **U)
false("the root of the rest of two", lambda: claim(sqrt(1 - p[i] - q[i]) * 0, "=", 0), **U)
false("the entropy of shares", lambda: claim(0, "<=", -Sum(p[l] * log(p[l]), l)), **U)
false("a share of the sum of shares", lambda: claim(p[i] / Sum(p[l], l), "<=", 1), **U)
false("a share as an exponent", lambda: claim(exp(p[i]), "<=", 1 + p[i]))
false("a share's exponential", lambda: claim(exp(-p[i]), "<", 1))
false("a bounded number is less than 1", lambda: claim(top, "<", 1))
false("twice a bounded number", lambda: claim(2 * top, "<=", 1))
false("twice a share is a share", lambda: claim(0 * rest(each(2 * p[i], i))[i], "=", 0), **M)
false("a sum of shares is a share", lambda: claim(0 * rest(each(p[i] + q[i], i))[i], "=", 0), **M)
false("a nonnegative number is a share", lambda: claim(0 * rest(each(f[i] ** 2, i))[i], "=", 0), **M)

"""Derivatives: at the edges of domains, of cases, of compositions."""

from spec.language import (
    Formula,
    case,
    claim,
    cos,
    data,
    define,
    delta,
    each,
    erf,
    exp,
    given,
    le,
    lift,
    lt,
    sigmoid,
    sin,
    sqrt,
    tanh,
    tensor,
)
from spec.language.binders import Every, Sum
from tests.attack.board import (
    T,
    a,
    category,
    f,
    g,
    grown,
    i,
    inverted,
    l,
    logged,
    mapped,
    n,
    ok,
    r,
    rectified,
    rooted,
    running,
    squared,
    t,
    u,
    w,
    x,
    x_exp,
    x_log,
    x_over,
    x_relu,
    x_root,
    x_square,
)

false = category("derivatives")
U = {"undefined": True}
h = given("h")
g_T = given("g_T", T + 1)


def pulled(formula, inner):
    """The derivative of a map by its input, with the seed g."""
    return formula(inner).pullback(g, inner)[i]


SINE, x_sin = mapped("sine", lambda value: sin(value))
COSINE, x_cos = mapped("cosine", lambda value: cos(value))
TANH, x_tanh = mapped("tanh", lambda value: tanh(value))
ERF, x_erf = mapped("erf", lambda value: erf(value))
SIGMOID, x_sig = mapped("sigmoid", lambda value: sigmoid(value))
CUBE, x_cube = mapped("cube", lambda value: value**3)

false(
    "the root's derivative at 0",
    lambda: claim(pulled(rooted, x_root), "=", g[i] / (2 * sqrt(x_root[i]))),
    rooted,
    **U,
)
false(
    "the root's derivative at x = 0",
    lambda: claim(pulled(rooted, x_root), "=", 0),
    rooted,
    at={x_root: 0},
    **U,
)
false(
    "the root's derivative at x = 0, itself",
    lambda: claim(pulled(rooted, x_root) - pulled(rooted, x_root), "=", 0),
    rooted,
    at={x_root: 0},
    **U,
)
false(
    "the root's derivative without its half",
    lambda: claim(pulled(rooted, x_root), "=", g[i] / sqrt(x_root[i]), where=lt(0, x_root[i])),
    rooted,
)
false("the logarithm's derivative", lambda: claim(pulled(logged, x_log), "=", g[i] * x_log[i]), logged)
false(
    "the logarithm's derivative, squared",
    lambda: claim(pulled(logged, x_log), "=", g[i] / x_log[i] ** 2),
    logged,
)
false(
    "the logarithm's derivative at 0",
    lambda: claim(pulled(logged, x_log), "=", 0),
    logged,
    at={x_log: 0},
    **U,
)
false(
    "the derivative of a reciprocal",
    lambda: claim(pulled(inverted, x_over), "=", g[i] / x_over[i] ** 2),
    inverted,
)
false(
    "the derivative of a reciprocal at 0",
    lambda: claim(pulled(inverted, x_over), "=", 0),
    inverted,
    at={x_over: 0},
    **U,
)
false(
    "the derivative of a square", lambda: claim(pulled(squared, x_square), "=", g[i] * x_square[i]), squared
)
false("the derivative of a square is nonnegative", lambda: claim(0, "<=", pulled(squared, x_square)), squared)
false("the derivative of a cube", lambda: claim(pulled(CUBE, x_cube), "=", 3 * g[i] * x_cube[i]), CUBE)
false(
    "the derivative of a cube is positive",
    lambda: claim(0, "<", pulled(CUBE, x_cube)),
    CUBE,
    assuming=(Every(lt(0, g[l]), l),),
)
false("the derivative of an exponential", lambda: claim(pulled(grown, x_exp), "=", g[i]), grown)
false(
    "the derivative of an exponential with its entry",
    lambda: claim(pulled(grown, x_exp), "=", g[i] * x_exp[i] * exp(x_exp[i])),
    grown,
)
false("the derivative of a rectifier is 1", lambda: claim(pulled(rectified, x_relu), "=", g[i]), rectified)
false(
    "the derivative of a rectifier is at least 0",
    lambda: claim(pulled(rectified, x_relu), "=", case(le(x_relu[i], 0), g[i])),
    rectified,
)
false("the derivative of a sine", lambda: claim(pulled(SINE, x_sin), "=", -g[i] * cos(x_sin[i])), SINE)
false("the derivative of a cosine", lambda: claim(pulled(COSINE, x_cos), "=", g[i] * sin(x_cos[i])), COSINE)
false("the derivative of tanh", lambda: claim(pulled(TANH, x_tanh), "=", g[i] * (1 - tanh(x_tanh[i]))), TANH)
false(
    "the derivative of tanh is at most a half",
    lambda: claim(pulled(TANH, x_tanh), "<=", lift(1) / 2 * g[i]),
    TANH,
    assuming=(Every(lt(0, g[l]), l),),
)
false("the derivative of erf", lambda: claim(pulled(ERF, x_erf), "=", g[i] * exp(-(x_erf[i] ** 2))), ERF)
false(
    "the derivative of sigmoid", lambda: claim(pulled(SIGMOID, x_sig), "=", g[i] * sigmoid(x_sig[i])), SIGMOID
)
false(
    "the derivative of sigmoid exceeds a quarter",
    lambda: claim(lift(1) / 4 * g[i], "<", pulled(SIGMOID, x_sig)),
    SIGMOID,
    assuming=(Every(lt(0, g[l]), l),),
)
false(
    "the pullback of a scalar seed",
    lambda: claim(squared(x_square).pullback(g, x_square)[i], "=", 2 * g[0] * x_square[i]),
    squared,
)
false(
    "the pullback sums its seeds",
    lambda: claim(pulled(squared, x_square), "=", 2 * x_square[i] * Sum(g[l], l)),
    squared,
)
false(
    "a composition's inner derivative left out",
    lambda: claim(squared(each(2 * x_square[l], l))[i] - 2 * squared(x_square)[i], "=", 0),
    squared,
)
false(
    "the derivative at another input",
    lambda: claim(grown(each(2 * x_exp[l], l)).pullback(g, x_exp)[i], "=", 2 * g[i] * exp(2 * x_exp[i])),
    grown,
)
false(
    "the derivative at a shifted input",
    lambda: claim(squared(each(x_square[l] + a, l)).pullback(g, x_square)[i], "=", 2 * g[i] * x_square[i]),
    squared,
)
false(
    "a running sum's slope does not decay",
    lambda: claim(running(x, w).pullback(g_T, x)[t], "=", Sum(g_T[u + 1], (u, t, T - 1))),
    running,
)
false(
    "a running sum's slope reaches back",
    lambda: claim(running(x, w).pullback(g_T, x)[t], "=", Sum(w ** (u + 1) * g_T[u + 1], u)),
    running,
)
false(
    "a running sum's slope at w = 1 from one step",
    lambda: claim(running(x, w).pullback(g_T, x)[t], "=", g_T[t + 1]),
    running,
    at={w: 1},
)
false(
    "a running sum's slope at w = 0 is nothing",
    lambda: claim(running(x, w).pullback(g_T, x)[t], "=", 0),
    running,
    at={w: 0},
)

# Derivatives at arguments: what a formula says of its own inputs, read back with the caller's in their place ----------------

xs, keep = data("x", n), data("keep", n, domain="boolean")
ys, yk = tensor("y", n), tensor("y", n)
masked = Formula(
    "test.attack_masked", "", (xs, keep), (define(ys[i], case(~keep[i], xs[i] ** 2)),), (ys,), auxiliary=True
)
positive_only = Formula(
    "test.attack_positive",
    "",
    (xs,),
    (define(yk[i], case(lt(0, xs[i]), sqrt(xs[i] ** 2), xs[i] ** 2)),),
    (yk,),
    auxiliary=True,
)
quotient_only = Formula(
    "test.attack_quotient",
    "",
    (xs,),
    (define(yk[i], case(lt(0, xs[i]), xs[i] ** 3 / xs[i], xs[i])),),
    (yk,),
    auxiliary=True,
)
kept_ = given("kept", n, domain="boolean")
both_kept = each(ok[l] & kept_[l], l)
BOTH = {
    "two masks": both_kept,
    "a mask and an order": each(ok[l] & lt(l, r), l),
    "an order and a mask": each(lt(l, r) & ok[l], l),
    "two orders": each(lt(l, r) & lt(0, l), l),
    "a mask and a sign": each(ok[l] & lt(0, f[l]), l),
}
for name, mask in BOTH.items():
    first = mask.at((i,)).args[0]
    second = mask.at((i,)).args[1]
    for which, alone in (("first", first), ("second", second)):
        false(
            f"a derivative where not both of {name} hold, by the {which}",
            lambda mask=mask, alone=alone: claim(
                masked(x_square, mask).pullback(g, x_square)[i], "=", case(~alone, 2 * x_square[i] * g[i])
            ),
            squared,
        )
        false(
            f"a value where not both of {name} hold, by the {which}",
            lambda mask=mask, alone=alone: claim(
                masked(x_square, mask)[i], "=", case(~alone, x_square[i] ** 2)
            ),
            squared,
        )
false(
    "a root's sign in a case, after it, by its derivative",
    lambda: claim(positive_only(each(x_square[l] - a, l)).pullback(g, xs)[i], "=", g[i]),
    squared,
)
false(
    "a root's sign in a case at a negated argument",
    lambda: claim(
        positive_only(each(-x_square[l], l))[i], "=", case(lt(0, x_square[i]), x_square[i], x_square[i] ** 2)
    ),
    squared,
)
false(
    "a root's sign in a case at an argument and after it",
    lambda: claim(
        positive_only(x_square)[i] + sqrt(x_square[i] ** 2),
        "=",
        case(lt(0, x_square[i]), x_square[i], x_square[i] ** 2) + x_square[i],
    ),
    squared,
)
false(
    "a quotient in a case and after it",
    lambda: claim(
        quotient_only(x_square)[i] + x_square[i] / x_square[i], "=", quotient_only(x_square)[i] + 1
    ),
    squared,
    **U,
)
words, row, rows = data("words", n, domain="permutation"), data("row", n), tensor("rows", n)
kept = data("kept", n, domain="boolean")
moved = Formula(
    "test.attack_moved", "", (words, row), (define(rows[i], row[words[i]]),), (rows,), auxiliary=True
)
hidden = Formula(
    "test.attack_hidden", "", (kept, row), (define(rows[i], kept[i] * row[i]),), (rows,), auxiliary=True
)
false(
    "the derivative by a permutation is the one by its entries",
    lambda: claim(moved(words, row).pullback(g, words)[i], "=", Sum(g[l] * delta(words[l], i), l)),
    moved,
    meaningless=True,
)
false(
    "the derivative by a permutation is some seed",
    lambda: claim(0 * moved(words, row).pullback(g, words)[i], "=", 0),
    moved,
    meaningless=True,
)
false(
    "the derivative by a mask",
    lambda: claim(hidden(kept, row).pullback(g, kept)[i], "=", g[i] * row[i]),
    hidden,
    meaningless=True,
)

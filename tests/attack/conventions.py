"""Conventions: what holds under one and is claimed under another, or under all."""

from spec.attention.softmax import softmax
from spec.language import (
    Convention,
    Formula,
    Sum,
    by_convention,
    claim,
    cos,
    data,
    define,
    indices,
    le,
    lift,
    sin,
    sizes,
    sqrt,
    tensor,
)
from spec.language.binders import Every, Some
from spec.normalization.layer_norm import beta, eps, gamma, layer_norm, mu, var
from spec.normalization.layer_norm import d as d_ln
from spec.normalization.layer_norm import i as i_ln
from spec.normalization.layer_norm import x as x_ln
from spec.positional.sinusoidal import PE, sinusoidal
from tests.attack.board import category, n

false = category("conventions")
U = {"undefined": True}
D = PE.shape[1]
t, c, e = indices(t=PE.shape[0], c=D, e=D)
(pair,) = indices(pair=D // 2)
(h,) = sizes("h")
INTER, CONCAT = {"layout": "interleaved"}, {"layout": "concatenated"}

SCALE = Convention("scale", {"halved": "by two", "doubled": "times two"}, default="halved")
SHIFT = Convention("shift", {"none": "nothing is added", "one": "one is added"}, default="none")
v, y = data("v", n), tensor("y", n)
i, l = indices(i=n, l=n)
chosen = Formula(
    "test.attack_conventions",
    "A choice of two",
    (v,),
    (
        define(
            y[i],
            by_convention("scale", halved=v[i] / 2, doubled=2 * v[i]) + by_convention("shift", none=0, one=1),
        ),
    ),
    (y,),
    conventions=(SCALE, SHIFT),
    auxiliary=True,
)
Y = chosen(v)
false(
    "a scale left open is halved", lambda: claim(Y[i], "=", v[i] / 2), chosen, conventions={"shift": "none"}
)
false(
    "a scale left open is doubled", lambda: claim(Y[i], "=", 2 * v[i]), chosen, conventions={"shift": "none"}
)
false(
    "a scale chosen otherwise",
    lambda: claim(Y[i], "=", v[i] / 2),
    chosen,
    conventions={"scale": "doubled", "shift": "none"},
)
false(
    "a shift left open is none", lambda: claim(Y[i], "=", v[i] / 2), chosen, conventions={"scale": "halved"}
)
false(
    "a shift left open is one",
    lambda: claim(Y[i], "=", v[i] / 2 + 1),
    chosen,
    conventions={"scale": "halved"},
)
false("both left open", lambda: claim(Y[i], "=", v[i] / 2), chosen)
false("both left open, linear", lambda: claim(Sum(Y[i], i), "=", Sum(v[i], i) / 2), chosen)
false("both left open, at 0", lambda: claim(Y[i], "=", 0), chosen, at={v: 0})
false("both left open, bounded", lambda: claim(Y[i], "<=", v[i] + 1), chosen)
false("both left open, nonnegative", lambda: claim(0, "<", Y[i]), chosen, assuming=(Every(le(0, v[l]), l),))
false(
    "a line's letter under another scale",
    lambda: claim(y[i], "=", 2 * v[i]),
    chosen,
    conventions={"scale": "halved", "shift": "none"},
)
false("a line's letter with both open", lambda: claim(y[i], "=", Y[i] + 1 - 1 + v[i] * 0 + y[0]), chosen)
for scale in ("halved", "doubled"):
    for shift in ("none", "one"):
        other = {"halved": 2 * v[i], "doubled": v[i] / 2}[scale]
        false(
            f"{scale} with shift {shift}, the other way",
            lambda o=other: claim(Y[i], "=", o),
            chosen,
            conventions={"scale": scale, "shift": shift},
        )
        false(
            f"{scale} with shift {shift}, pulled back",
            lambda o=other: claim(chosen(v).pullback(g_, v)[i], "=", g_[i]),
            chosen,
            conventions={"scale": scale, "shift": shift},
        )

false(
    "even columns are sines in both layouts",
    lambda: claim(PE[t, 2 * pair], "=", sin(t / base ** (2 * pair / D)), t, (pair, D // 2)),
    sinusoidal,
    sizes={D: 2 * h},
)
false(
    "even columns are sines side by side",
    lambda: claim(PE[t, 2 * p_], "=", sin(t / base ** (2 * p_ / D)), t, (p_, h)),
    sinusoidal,
    sizes={D: 2 * h},
    conventions=CONCAT,
)
false(
    "neighbouring columns square to 1 side by side",
    lambda: claim(PE[t, 2 * p_] ** 2 + PE[t, 2 * p_ + 1] ** 2, "=", 1, t, (p_, h)),
    sinusoidal,
    sizes={D: 2 * h},
    conventions=CONCAT,
)
false(
    "halves square to 1 interleaved",
    lambda: claim(PE[t, p_] ** 2 + PE[t, h + p_] ** 2, "=", 1, t, (p_, h)),
    sinusoidal,
    sizes={D: 2 * h},
    conventions=INTER,
)
false(
    "halves square to 1 in both layouts",
    lambda: claim(PE[t, p_] ** 2 + PE[t, h + p_] ** 2, "=", 1, t, (p_, h)),
    sinusoidal,
    sizes={D: 2 * h},
)
false(
    "the last column is a cosine",
    lambda: claim(PE[0, 2 * h], "=", 1),
    sinusoidal,
    sizes={D: 2 * h + 1},
    conventions=INTER,
)
false(
    "the second column is a cosine in both layouts",
    lambda: claim(PE[t, 1], "=", cos(lift(t))),
    sinusoidal,
    sizes={D: 2 * h},
)
false(
    "the squared length at odd widths",
    lambda: claim(Sum(PE[t, c] ** 2, c), "=", lift(D) / 2),
    sinusoidal,
    conventions=INTER,
)

whole = layer_norm(x_ln, gamma, beta, eps)
false(
    "the spread is inside in both",
    lambda: claim(whole[i_ln], "=", gamma[i_ln] * (x_ln[i_ln] - mu) / sqrt(var + eps) + beta[i_ln]),
    layer_norm,
    conventions={"divisor": "biased"},
)
false(
    "the variance divides by d in both",
    lambda: claim(var, "=", Sum((x_ln[i_ln] - mu) ** 2, i_ln) / d_ln),
    layer_norm,
    conventions={"eps": "inside"},
    **U,
)
false(
    "the unbiased variance is defined",
    lambda: claim(0, "<=", var),
    layer_norm,
    conventions={"divisor": "unbiased", "eps": "inside"},
    **U,
)
false(
    "the unbiased variance is the biased one",
    lambda: claim(d_ln * var, "=", Sum((x_ln[i_ln] - mu) ** 2, i_ln)),
    layer_norm,
    conventions={"divisor": "unbiased", "eps": "inside"},
    **U,
)
false(
    "epsilon outside is epsilon inside",
    lambda: claim(whole[i_ln], "=", gamma[i_ln] * (x_ln[i_ln] - mu) / sqrt(var + eps) + beta[i_ln]),
    layer_norm,
    conventions={"divisor": "biased", "eps": "outside"},
    **U,
)
s_, M_ = softmax.inputs[:2]
si, sj, sl = indices(i=s_.shape[0], j=s_.shape[1], l=s_.shape[1])
weights = softmax(s_, M_)
false(
    "weights of a row sum to 1 whatever is permitted",
    lambda: claim(Sum(weights[si, sj], sj), "=", 1),
    softmax,
    **U,
)
false(
    "weights of a row sum to 1 where another has a key",
    lambda: claim(Sum(weights[si, sj], sj), "=", 1, where=Some(M_[0, sl], sl)),
    softmax,
    **U,
)
false("weights are positive", lambda: claim(0, "<", weights[si, sj]), softmax, **U)
false(
    "weights without a mask are those with one",
    lambda: claim(softmax(s_)[si, sj], "=", weights[si, sj]),
    softmax,
    **U,
)
false("weights are equal", lambda: claim(softmax(s_)[si, sj], "=", 1 / lift(s_.shape[1])), softmax)
false(
    "weights grow with their scores over rows",
    lambda: claim(softmax(s_)[si, sj], "<=", softmax(s_)[0, sj]),
    softmax,
)
false("weights are below 1", lambda: claim(softmax(s_)[si, sj], "<", 1), softmax)
from spec.language import given  # noqa: E402
from spec.positional.layout import b as base  # noqa: E402

g_ = given("g", n)
(p_,) = indices(p=h)

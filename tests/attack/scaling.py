"""Scaling: what a rescaled network keeps along its directions, and what laws of scale do not say."""

from spec.language import claim, each, given
from spec.scaling.filter_normalised import (
    PLAIN,
    U,
    V,
    W,
    Z,
    a,
    e,
    filter_normalised,
    i,
    j,
    network,
    r,
    r_all,
)
from spec.scaling.kaplan import L_D, L_N, D, L, N, alpha_N, c, kaplan, together
from tests.attack.board import category

false = category("scaling")
here = {"conventions": PLAIN}
s = given("s", W.shape[1], domain="positive")
false(
    "filters rescaled and undone by the next layer's weights change nothing along the directions",
    lambda: claim(
        network(r_all, each(r[i] * a[i], i), each(Z[e, i] / r[i], e, i))[e], "=", network(W, a, Z)[e]
    ),
    filter_normalised,
    **here,
)
false(
    "a direction follows the next layer's weights entry by entry",
    lambda: claim(filter_normalised(each(W[i, j] * s[j], i, j), U)[i, j], "=", s[j] * V[i, j]),
    filter_normalised,
    **here,
)
false(
    "a layer's bias may stay where the layer is rescaled",
    lambda: claim(network(each(c * W[i, j], i, j), a, each(Z[e, i] / c, e, i))[e], "=", network(W, a, Z)[e]),
    filter_normalised,
    **here,
)
false("the joint loss is the sum of both", lambda: claim(L, "=", L_N + L_D), kaplan)
false("the joint loss is at most that of the model", lambda: claim(L, "<=", L_N), kaplan)
false("the joint loss is at most the sum of both", lambda: claim(L, "<=", L_N + L_D), kaplan)
false(
    "c times the model and the text: c^−α_N",
    lambda: claim(together(c * N, c * D), "=", c ** (-alpha_N) * L),
    kaplan,
)
false(
    "the joint law falls in a line, too", lambda: claim(together(c * N, D), "=", c ** (-alpha_N) * L), kaplan
)
false(
    "the best size has equal shares",
    lambda: claim(together(N, D).pullback(1, N) * N, "=", together(N, D).pullback(1, D) * D),
    kaplan,
)

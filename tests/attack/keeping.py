"""Formulas that are kept: equal inputs give equal outputs, where there are any, and no more is known."""

from spec.attention.softmax import i as i_soft
from spec.attention.softmax import j as j_soft
from spec.attention.softmax import mask as mask_soft
from spec.attention.softmax import s as s_soft
from spec.attention.softmax import softmax
from spec.language import case, claim, each, exp, expected, given, le, lt
from spec.language.binders import Some
from spec.normalization.layer_norm import beta, eps, gamma, layer_norm
from spec.normalization.layer_norm import i as i_ln
from spec.normalization.layer_norm import x as x_ln
from spec.objectives.cross_entropy import cross_entropy, epsilon
from spec.objectives.cross_entropy import s as s_ce
from spec.objectives.cross_entropy import t as t_ce
from spec.objectives.cross_entropy import y as y_ce
from tests.attack.board import B, E, F, T, a, c, category, f, g, i, j, l, lookup, m, n, ok, running, t, x
from tests.attack.citing import (
    CE,
    cases_of,
    chosen,
    counted,
    k_T,
    mass,
    pair,
    partial,
    scaled,
    shares,
    uses,
    v,
)
from tests.attack.recurrences import behind, by_state, divided, logs

false = category("keeping")
U = {"undefined": True}
false("two conventions alike", lambda: claim(uses(v)[i], "=", exp(v[i]) / 2).keeping(chosen), uses)
false(
    "a kept quotient less itself", lambda: claim(partial(f)[i] - partial(f)[i], "=", 0).keeping(partial), **U
)
false(
    "a kept quotient times 0", lambda: claim(0 * partial(each(f[l] ** 2, l))[i], "=", 0).keeping(partial), **U
)
false(
    "a kept quotient in a branch",
    lambda: claim(case(ok[i], partial(f)[i], 1) * 0, "=", 0).keeping(partial),
    **U,
)
false(
    "two kept outputs",
    lambda: claim(pair(f).output("pair_a")[i], "=", pair(f).output("pair_b")[i]).keeping(pair),
)
false("a kept formula of a part", lambda: claim(mass(each(f[l], (l, n - 1))), "=", mass(f)).keeping(mass))
false(
    "a kept formula of rows", lambda: claim(mass(each(F[i, j], i)), "=", mass(each(F[i, 0], i))).keeping(mass)
)
false(
    "a condition on the entry",
    lambda: claim(
        shares(each(case(ok[l], f[l], -f[l]), l))[i],
        "=",
        case(ok[i], shares(f)[i], shares(each(-f[l], l))[i]),
    ).keeping(shares),
)
false(
    "a condition on all entries",
    lambda: claim(
        shares(each(case(Some(B[l, j], j), f[l], -f[l]), l))[i],
        "=",
        case(Some(B[i, j], j), shares(f)[i], shares(each(-f[l], l))[i]),
    ).keeping(shares),
)
false(
    "a condition on an entry and the whole",
    lambda: claim(
        shares(each(case(ok[0] & ok[l], f[l], -f[l]), l))[i],
        "=",
        case(ok[0], shares(f)[i], shares(each(-f[l], l))[i]),
    ).keeping(shares),
)
false(
    "two conditions of two inputs",
    lambda: claim(
        scaled(each(case(ok[0], f[l], g[l]), l), case(ok[i], c, 1))[i],
        "=",
        case(ok[0], scaled(f, c)[i], scaled(g, 1)[i]),
    ).keeping(scaled),
)
false(
    "a condition outside a kept one",
    lambda: claim(
        shares(each(case(lt(0, a), f[l], -f[l]), l))[i], "=", shares(each(case(lt(0, a), f[l], -g[l]), l))[i]
    ).keeping(shares),
)
false("the mean of a kept formula", lambda: claim(expected(mass(f), f), "=", mass(f)).keeping(mass))
false(
    "the mean of a kept formula is 0",
    lambda: claim(expected(cases_of(f)[i] * cases_of(f)[i], f), "=", 0).keeping(cases_of),
)
false(
    "the mean through a kept formula",
    lambda: claim(expected(mass(f) * g[i] * g[i], f, g), "=", mass(f)).keeping(mass),
)

false(
    "a kept softmax whose row is hidden",
    lambda: claim(0 * softmax(s_soft, mask_soft)[i_soft, j_soft], "=", 0).keeping(softmax),
    softmax,
    conventions={"fully_masked": "unspecified"},
    **U,
)
OPEN = {"polarity": "true_attends"}
false(
    "a kept softmax that one of the options left open leaves undefined",
    lambda: claim(0 * softmax(s_soft, mask_soft)[i_soft, j_soft], "=", 0).keeping(softmax),
    softmax,
    conventions=OPEN,
    **U,
)
false(
    "a kept softmax that is 0 under one of the options left open",
    lambda: claim(
        softmax(s_soft, mask_soft)[i_soft, j_soft], "=", 0, where=~Some(mask_soft[i_soft, j_soft], j_soft)
    ).keeping(softmax),
    softmax,
    conventions=OPEN,
    **U,
)
false(
    "a kept softmax whose hidden keys weigh nothing under some of the options left open",
    lambda: claim(
        softmax(s_soft, mask_soft)[i_soft, j_soft],
        "=",
        0,
        where=Some(mask_soft[i_soft, j_soft], j_soft) & ~mask_soft[i_soft, j_soft],
    ).keeping(softmax),
    softmax,
    conventions=OPEN,
)
for name, recurring, inputs in (
    ("a quotient by an entry", divided, (x,)),
    ("a quotient by a state", by_state, (x,)),
    ("a logarithm of a state", logs, (x,)),
    ("a quotient behind", behind, (x,)),
):
    kept = recurring(*inputs)
    false(
        f"a kept recurrence: {name}, times 0",
        lambda s=kept, r=recurring: claim(0 * s[T], "=", 0).keeping(r),
        recurring,
        **U,
    )
    false(
        f"a kept recurrence: {name}, less itself",
        lambda s=kept, r=recurring: claim(s[t + 1] - s[t + 1], "=", 0).keeping(r),
        recurring,
        **U,
    )
false(
    "a kept recurrence begins at 0",
    lambda: claim(running(x, a)[k_T], "=", 0).keeping(running).by_induction(k_T),
    running,
)
false(
    "a kept recurrence by its hypothesis",
    lambda: claim(0, "<=", running(x, a)[k_T]).keeping(running).by_induction(k_T),
    running,
)
false(
    "a kept normalization at ε = 0",
    lambda: claim(0 * layer_norm(x_ln, gamma, beta, eps)[i_ln], "=", 0).keeping(layer_norm),
    layer_norm,
    at={eps: 0},
    **U,
)
false(
    "a kept normalization at ε = 0, less itself",
    lambda: claim(
        layer_norm(x_ln, gamma, beta, eps)[i_ln] - layer_norm(x_ln, gamma, beta, eps)[i_ln], "=", 0
    ).keeping(layer_norm),
    layer_norm,
    at={eps: 0},
    **U,
)
false(
    "the variance cited at ε = 0",
    lambda: claim(0, "<=", layer_norm(x_ln, gamma, beta, eps)[i_ln] ** 2).keeping(layer_norm),
    layer_norm,
    at={eps: 0},
    **U,
)
false(
    "a kept loss where nothing is asked",
    lambda: claim(0 * CE.as_node(), "=", 0).keeping(cross_entropy),
    cross_entropy,
    conventions={"none_asked": "unspecified"},
    **U,
)
false(
    "a kept loss where something is asked elsewhere",
    lambda: claim(case(le(0, y_ce[t_ce]), 0, CE.as_node() - CE.as_node()), "=", 0).keeping(cross_entropy),
    cross_entropy,
    conventions={"none_asked": "unspecified"},
    **U,
)
false(
    "a kept loss of other labels",
    lambda: claim(
        CE.as_node(),
        "=",
        cross_entropy(s_ce, each(case(le(0, y_ce[t_ce]), y_ce[t_ce], 0), t_ce), epsilon).as_node(),
    ).keeping(cross_entropy),
    cross_entropy,
    conventions={"none_asked": "zero"},
)
far = given("far", T, domain="integer", below=n**2)
M = {"undefined": True, "meaningless": True}
false(
    "a kept look-up of what may lie outside",
    lambda: claim(0 * lookup(far, E)[t, j], "=", 0).keeping(lookup),
    lookup,
    **M,
)
false(
    "a look-up of what may lie outside",
    lambda: claim(0 * lookup(far, E)[t, j], "=", 0),
    lookup,
    **M,
)
far_ids = given("far_ids", n, domain="integer", below=m**2)
false(
    "a cited integer that may lie outside",
    lambda: claim(counted(far_ids, F)[i], "<=", m - 1).citing("small", counted(far_ids, F)),
)

"""Theorems that are cited where what they ask for does not hold, or of which more is wanted than they say."""

from spec.language import (
    Convention,
    Formula,
    Sum,
    by_convention,
    case,
    claim,
    data,
    define,
    each,
    exp,
    given,
    indices,
    le,
    lift,
    lt,
    optional_mask,
    tensor,
)
from spec.language.binders import Every, Some
from spec.objectives.cross_entropy import cross_entropy, epsilon
from spec.objectives.cross_entropy import s as s_ce
from spec.objectives.cross_entropy import t as t_ce
from spec.objectives.cross_entropy import v as v_ce
from spec.objectives.cross_entropy import y as y_ce
from tests.attack.board import (
    B,
    F,
    T,
    a,
    c,
    category,
    f,
    g,
    i,
    j,
    l,
    m,
    n,
    ok,
    pi,
    r,
    running,
    t,
    u,
    x,
)

false = category("citing")
U = {"undefined": True}
shift, positive, flags = (
    given("shift"),
    given("positive", domain="positive"),
    given("flags", n, domain="boolean"),
)


def formula(name, inputs, *lines, outputs, **more):
    """A formula of this module."""
    return Formula(f"test.attack_cited_{name}", name, inputs, lines, outputs, auxiliary=True, **more)


def states(of, name, *claims, **stated):
    """A theorem of it."""
    of.theorem(name, name, *(one.by_definition("so") for one in claims), **stated)


v, y, o = data("v", n), tensor("y", n), tensor("o")
shares = formula("shares", (v,), define(y[i], exp(v[i]) / Sum(exp(v[l]), l)), outputs=(y,))
states(shares, "shifted", claim(shares(each(v[i] + shift, i))[i], "=", y[i]), given=shift)
states(shares, "permuted", claim(shares(each(v[pi[i]], i))[i], "=", y[pi[i]]), given=pi)
states(shares, "below", claim(y[i], "<=", 1))
states(shares, "wrong", claim(y[i], "=", 0))
states(
    shares,
    "flat",
    claim(shares(each(case(flags[l], shift, shift), l))[i], "=", shares(each(shift, (i, n)))[i]),
    given=(flags, shift),
)
states(
    shares,
    "selected",
    claim(
        shares(each(case(flags[i], v[i], v[i] ** 2), i))[r],
        "=",
        shares(each(case(flags[i], 1, 0) * v[i] + (1 - case(flags[i], 1, 0)) * v[i] ** 2, i))[r],
    ),
    given=flags,
)
mass = formula("mass", (v,), define(o, Sum(exp(v[i]), i)), outputs=(o,))
states(mass, "positive", claim(0, "<", o))
states(mass, "least", claim(exp(v[0]), "<=", o))
w = data("w", domain="positive")
scaled = formula("scaled", (v, w), define(y[i], w * exp(v[i])), outputs=(y,))
states(scaled, "positive", claim(0, "<", y[i]))
states(scaled, "other", claim(0, "<", scaled(v, positive)[i]), given=positive)

F0 = data("F0", n, m)
label = data("label", n, domain="label", below=m)
number_of = formula("number_of", (label, F0), define(y[i], label[i] + 0 * F0[i, 0]), outputs=(y,))
states(number_of, "small", claim(y[i], "<=", m - 1))
given_label = given("given_label", n, domain="label", below=m)
longer = given("longer", n, domain="label", below=2 * m)
ids = data("ids", n, domain="integer", below=m)
counted = formula("counted", (ids, F0), define(y[i], ids[i] + 0 * F0[i, 0]), outputs=(y,))
states(counted, "small", claim(y[i], "<=", m - 1))
more_ids = given("more_ids", n, domain="integer", below=2 * m)
labelled = formula("labelled", (v, F0), define(y[i], 1 + 0 * v[i] * F0[i, 0]), outputs=(y,))
states(labelled, "small", claim(given_label[i], "<=", m * y[i] - 1), given=given_label)
mask = optional_mask("mask", n)
hidden = formula("hidden", (v, mask), define(o, Sum(v[l], l, where=mask[l])), outputs=(o,))
states(hidden, "all", claim(hidden(v, None), "=", hidden(v, each(le(0, l), l))))
states(hidden, "none", claim(hidden(v, each(lt(l, 0), l)), "=", 0))
states(hidden, "masked", claim(o, "=", hidden(each(case(mask[l], v[l], 0), l), mask)))
SCALE = Convention("scale", {"halved": "by two", "doubled": "times two"}, default="halved")
chosen = formula(
    "chosen",
    (v,),
    define(y[i], by_convention("scale", halved=exp(v[i]) / 2, doubled=2 * exp(v[i]))),
    outputs=(y,),
    conventions=(SCALE,),
)
states(chosen, "smaller", claim(y[i], "<", exp(v[i])), conventions={"scale": "halved"})
states(chosen, "larger", claim(exp(v[i]), "<", y[i]), conventions={"scale": "doubled"})
uses = formula("uses", (v,), define(y[i], chosen(v)[i]), outputs=(y,), conventions=(SCALE,))
square = data("square", n, m)
cells = formula("cells", (square,), define(o, Sum(Sum(1 + 0 * square[i, j], j), i)), outputs=(o,))
cases_of = formula("cases_of", (v,), define(y[i], v[i]), outputs=(y,))
states(cases_of, "assumed", claim(0, "<", y[i]), assuming=(Every(lt(0, v[l]), l),))
states(cases_of, "at", claim(y[i], "=", 0), at={v: 0})
partial = formula("partial", (v,), define(y[i], 1 / v[i]), outputs=(y,))
pair_a, pair_b = tensor("pair_a", n), tensor("pair_b", n)
pair = formula("pair", (v,), define(pair_a[i], v[i]), define(pair_b[i], v[i] + 1), outputs=(pair_a, pair_b))
false(
    "a sum of exponentials over a range that may be empty",
    lambda: claim(0, "<", mass(each(f[l], (l, i)))).citing("positive", mass(each(f[l], (l, i)))),
)
false(
    "the first of a range that may be empty",
    lambda: claim(exp(f[0]), "<=", mass(each(f[l], (l, i))) + 0).citing("least", mass(each(f[l], (l, i)))),
)
false(
    "shifted by an entry",
    lambda: claim(shares(each(f[l] + g[l], l))[i], "=", shares(f)[i]).citing(
        "shifted", shares(f), shift=g[i]
    ),
)
false(
    "shifted by an entry, bound",
    lambda: claim(shares(each(f[l] + g[l], l))[i], "=", shares(f)[i]).citing(
        "shifted", shares(f), shift=g[l]
    ),
)
false(
    "shifted in a sum",
    lambda: claim(Sum(shares(each(f[l] + g[l], l))[l], l), "=", Sum(shares(f)[l] * f[l], l)).citing(
        "shifted", shares(f), shift=g[l]
    ),
)
false(
    "doubled",
    lambda: claim(shares(each(2 * f[l], l))[i], "=", shares(f)[i]).citing("shifted", shares(f), shift=a),
)
false("a refused theorem", lambda: claim(shares(f)[i], "=", 0).citing("wrong", shares(f)))
places = formula("places", (v,), define(y[i], i + 0 * v[i]), outputs=(y,))
states(places, "later", claim(1, "<=", y[i], where=lt(0, i)))
false("beyond the condition", lambda: claim(1, "<=", places(f)[i]).citing("later", places(f)))
false("strictly for weakly", lambda: claim(shares(f)[i], "<", 1).citing("below", shares(f)))
false(
    "of another input", lambda: claim(shares(f)[i], "=", shares(g)[i]).citing("shifted", shares(f), shift=a)
)
false(
    "permuted one way",
    lambda: claim(shares(each(f[pi[l]], l))[pi[i]], "=", shares(f)[i]).citing("permuted", shares(f), pi=pi),
)
false(
    "a flag that is a number",
    lambda: claim(
        shares(each(g[l] * f[l] + (1 - g[l]) * f[l] ** 2, l))[i],
        "=",
        shares(each(g[l] ** 2 * f[l] + (1 - g[l] ** 2) * f[l] ** 2, l))[i],
    ).citing("selected", shares(f), flags=g),
)
false(
    "a positive number that is fixed to 0",
    lambda: claim(0, "<", scaled(v, w)[i]).citing("positive", scaled(v, w)),
    scaled,
    at={w: 0},
)
false(
    "a positive number that is any", lambda: claim(0, "<", scaled(f, a)[i]).citing("positive", scaled(f, a))
)
false(
    "a positive letter that is any",
    lambda: claim(0, "<", scaled(f, a)[i]).citing("other", scaled(f, c), positive=a),
)
false(
    "a positive letter fixed to 0",
    lambda: claim(0, "<", scaled(v, w)[i]).citing("other", scaled(v, 1), positive=w),
    scaled,
    at={w: 0},
)

false(
    "labels of a longer list",
    lambda: claim(longer[i], "<=", m * labelled(f, F)[i] - 1).citing(
        "small", labelled(f, F), given_label=longer
    ),
)
false(
    "labels of a longer list, given to it",
    lambda: claim(number_of(longer, F)[i], "<=", m - 1).citing("small", number_of(longer, F)),
)
false(
    "integers of a longer list, given to it",
    lambda: claim(counted(more_ids, F)[i], "<=", m - 1).citing("small", counted(more_ids, F)),
)
false("masked is not absent", lambda: claim(hidden(f, ok), "=", hidden(f, None)).citing("all", hidden(f, ok)))
false("none is not some", lambda: claim(hidden(f, ok), "=", 0).citing("none", hidden(f, ok)))
false(
    "hidden is cut out, mask left out",
    lambda: claim(hidden(f, ok), "=", hidden(each(case(B[l, 0], f[l], 0), l), ok)).citing(
        "masked", hidden(f, ok)
    ),
)
false(
    "under another convention",
    lambda: claim(chosen(v)[i], "<", exp(v[i])).citing("smaller", chosen(v)),
    chosen,
    conventions={"scale": "doubled"},
)
false(
    "under one of two conventions",
    lambda: claim(chosen(v)[i], "<", exp(v[i])).citing("smaller", chosen(v)),
    chosen,
)
false("a default that is not chosen", lambda: claim(exp(f[i]), "<", chosen(f)[i]).citing("larger", chosen(f)))
false(
    "under another convention, by a caller",
    lambda: claim(uses(v)[i], "<", exp(v[i])).citing("smaller", chosen(v)),
    uses,
    conventions={"scale": "doubled"},
)
false("an assumption left out", lambda: claim(0, "<", cases_of(f)[i]).citing("assumed", cases_of(f)))
false("fixed inputs at others", lambda: claim(cases_of(f)[i], "=", 0).citing("at", cases_of(f)))
total = formula("total", (v,), define(o, Sum(v[i], i)), outputs=(o,))
states(
    total,
    "flagged",
    claim(total(each(case(flags[i] & flags[i], v[i], 0), i)), "=", total(each(case(flags[i], v[i], 0), i))),
    given=flags,
)
false(
    "a flag twice that is a number",
    lambda: claim(total(each(g[i] * g[i] * f[i], i)), "=", total(each(g[i] * f[i], i))).citing(
        "flagged", total(f), flags=g
    ),
)
false(
    "a flag that is a comprehension of numbers",
    lambda: claim(total(each(9 * f[i], i)), "=", total(each(3 * f[i], i))).citing(
        "flagged", total(f), flags=each(lift(3), (i, n))
    ),
)

states(cells, "square", claim(o, "=", lift(n) ** 2), sizes={m: n})
false(
    "a square that is none",
    lambda: claim(cells(F), "=", lift(n) ** 2).citing("square", cells(F), n=n),
)
false(
    "a square by its other size",
    lambda: claim(cells(F), "=", lift(m) ** 2).citing("square", cells(F), n=m),
)
(k_T,) = indices(k_T=T + 1)
false(
    "citing in an induction",
    lambda: (
        claim(Sum(mass(each(x[u] + t, u)), (t, 0, k_T - 1)), "=", Sum(mass(x), (t, 0, k_T - 1)))
        .citing("positive", mass(x))
        .by_induction(k_T)
    ),
    running,
)
false(
    "citing where it runs out",
    lambda: (
        claim(0, "<", mass(each(x[u], (u, k_T))))
        .citing("positive", mass(each(x[u], (u, k_T))))
        .by_induction(k_T)
    ),
    running,
)
CE = cross_entropy(s_ce, y_ce, epsilon)
false(
    "the shift of a loss, cited for each word",
    lambda: claim(
        cross_entropy(each(s_ce[t_ce, v_ce] + s_ce[t_ce, v_ce], t_ce, v_ce), y_ce, epsilon).as_node(),
        "=",
        CE.as_node(),
        where=Some(le(0, y_ce[t_ce]), t_ce),
    ).citing("shift_invariant", CE, c=each(s_ce[t_ce, 0], t_ce)),
    cross_entropy,
)
false(
    "the least loss, smoothed",
    lambda: claim(0, "<", CE.as_node(), where=Some(le(0, y_ce[t_ce]), t_ce)).citing(
        "ignored_without_influence", CE, r=s_ce
    ),
    cross_entropy,
)
far_labels = given("far_labels", n, domain="label", below=m**2)
false(
    "labels of a longer list, squared",
    lambda: claim(number_of(far_labels, F)[i], "<=", m - 1).citing("small", number_of(far_labels, F)),
)

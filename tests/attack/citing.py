"""Formulas that are kept, and theorems that are cited where what they ask for does not hold."""

from spec.language import (
    Convention,
    Formula,
    Sum,
    Tensor,
    absolute,
    by_convention,
    case,
    claim,
    data,
    define,
    each,
    eq,
    exp,
    expected,
    given,
    indices,
    le,
    lt,
    number,
    optional_mask,
    sizes,
    tensor,
)
from spec.language.expr import Every, Max, Some
from tests.attack.board import (
    B,
    F,
    T,
    a,
    anything,
    b,
    c,
    category,
    f,
    F,
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
    p,
    pi,
    q,
    r,
    s,
    t,
    x,
    z,
)

false = category("citing")
U = {"undefined": True}
rows, extra = sizes("rows extra")
shift, positive, flags = given("shift"), given("positive", domain="positive"), given("flags", n, domain="boolean")
free = given("free", n)


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
states(shares, "tail", claim(y[i], "<", 1, where=lt(0, i)))
states(shares, "below", claim(y[i], "<=", 1))
states(shares, "wrong", claim(y[i], "=", 0))
states(shares, "two", claim(y[0] + y[n - 1], "=", 1).only_at({n: 2}))
states(
    shares,
    "flat",
    claim(shares(each(case(flags[l], shift, shift), l))[i], "=", shares(each(shift, (i, n)))[i]),
    given=(flags, shift),
)
states(
    shares,
    "selected",
    claim(shares(each(case(flags[i], v[i], v[i] ** 2), i))[r], "=",
          shares(each(case(flags[i], 1, 0) * v[i] + (1 - case(flags[i], 1, 0)) * v[i] ** 2, i))[r]),
    given=flags,
)
mass = formula("mass", (v,), define(o, Sum(exp(v[i]), i)), outputs=(o,))
states(mass, "positive", claim(0, "<", o))
states(mass, "least", claim(exp(v[0]), "<=", o))
w = data("w", domain="positive")
scaled = formula("scaled", (v, w), define(y[i], w * exp(v[i])), outputs=(y,))
states(scaled, "positive", claim(0, "<", y[i]))
states(scaled, "other", claim(0, "<", scaled(v, positive)[i]), given=positive)

KAPPA = Tensor("kappa", (), "positive", "constant")
twice = formula("twice", (v,), define(y[i], KAPPA * exp(v[i])), outputs=(y,), constants={KAPPA: 2})
states(twice, "enlarges", claim(exp(v[i]), "<", y[i]))
label = data("label", n, domain="label", below=m)
number_of = formula("number_of", (label,), define(y[i], label[i]), outputs=(y,))
states(number_of, "small", claim(y[i], "<=", m - 1))
given_label = given("given_label", n, domain="label", below=m)
longer = given("longer", n, domain="label", below=2 * m)
L = tensor("L", n, domain="label")
hides = formula("hides", (v,), define(L[i], -500), define(y[i], number_of.__call__(L)[i]), outputs=(y,)) if False else None
ids = data("ids", n, domain="integer", below=m)
counted = formula("counted", (ids, F0 := data("F0", n, m)), define(y[i], ids[i] + 0 * F0[i, 0]), outputs=(y,))
states(counted, "small", claim(y[i], "<=", m - 1))
more_ids = given("more_ids", n, domain="integer", below=2 * m)
other = data("other", n)
labelled = formula("labelled", (v, F0), define(y[i], 1 + 0 * v[i] * F0[i, 0]), outputs=(y,))
states(labelled, "small", claim(given_label[i], "<=", m * y[i] - 1), given=given_label)
bent = formula("bent", (v,), define(y[i], absolute(v[i])), outputs=(y,))
capped = formula("capped", (v,), define(o, Max(v[l], l)), outputs=(o,))
mask = optional_mask("mask", n)
hidden = formula("hidden", (v, mask), define(o, Sum(v[l], l, where=mask[l])), outputs=(o,))
states(hidden, "all", claim(hidden(v, None), "=", hidden(v, each(le(0, l), l))))
states(hidden, "none", claim(hidden(v, each(lt(l, 0), l)), "=", 0))
states(hidden, "masked", claim(o, "=", hidden(each(case(mask[l], v[l], 0), l), mask)))
SCALE = Convention("scale", {"halved": "by two", "doubled": "times two"}, default="halved")
chosen = formula("chosen", (v,), define(y[i], by_convention("scale", halved=exp(v[i]) / 2, doubled=2 * exp(v[i]))), outputs=(y,), conventions=(SCALE,))
states(chosen, "smaller", claim(y[i], "<", exp(v[i])), conventions={"scale": "halved"})
states(chosen, "larger", claim(exp(v[i]), "<", y[i]), conventions={"scale": "doubled"})
uses = formula("uses", (v,), define(y[i], chosen(v)[i]), outputs=(y,), conventions=(SCALE,))
square = data("square", n, m)
folded = formula("folded", (square,), define(o, Sum(Sum(exp(square[i, j]), j), i)), outputs=(o,))
states(folded, "turned", claim(o, "=", folded(each(square[l, i], i, l))), sizes={n: m}) if False else None
states(folded, "square", claim(Sum(exp(square[i, i]), i), "<=", o), sizes={m: n}) if False else None
cases_of = formula("cases_of", (v,), define(y[i], v[i]), outputs=(y,))
states(cases_of, "assumed", claim(0, "<", y[i]), assuming=(Every(lt(0, v[l]), l),))
states(cases_of, "at", claim(y[i], "=", 0), at={v: 0})
states(cases_of, "some", claim(y[i], "=", 0).by_witness(n=1, v=[1]), exists=True) if False else None
partial = formula("partial", (v,), define(y[i], 1 / v[i]), outputs=(y,))
pair_a, pair_b = tensor("pair_a", n), tensor("pair_b", n)
pair = formula("pair", (v,), define(pair_a[i], v[i]), define(pair_b[i], v[i] + 1), outputs=(pair_a, pair_b))
states(pair, "a", claim(pair_a[i], "=", pair(each(v[i] + 0, i)).output("pair_a")[i])) if False else None
total = lambda e: Sum(e, l)
false("a sum of exponentials over a range that may be empty", lambda: claim(0, "<", mass(each(f[l], (l, i)))).citing("positive", mass(each(f[l], (l, i)))))
false("the first of a range that may be empty", lambda: claim(exp(f[0]), "<=", mass(each(f[l], (l, i))) + 0).citing("least", mass(each(f[l], (l, i)))))
false("shifted by an entry", lambda: claim(shares(each(f[l] + g[l], l))[i], "=", shares(f)[i]).citing("shifted", shares(f), shift=g[i]))
false("shifted by an entry, bound", lambda: claim(shares(each(f[l] + g[l], l))[i], "=", shares(f)[i]).citing("shifted", shares(f), shift=g[l]))
false("shifted in a sum", lambda: claim(Sum(shares(each(f[l] + g[l], l))[l], l), "=", Sum(shares(f)[l] * f[l], l)).citing("shifted", shares(f), shift=g[l]))
false("doubled", lambda: claim(shares(each(2 * f[l], l))[i], "=", shares(f)[i]).citing("shifted", shares(f), shift=a))
false("a refused theorem", lambda: claim(shares(f)[i], "=", 0).citing("wrong", shares(f)))
false("a theorem at listed sizes", lambda: claim(shares(f)[0] + shares(f)[n - 1], "=", 1).citing("two", shares(f)))
false("beyond the condition", lambda: claim(shares(f)[i], "<", 1).citing("tail", shares(f)))
false("strictly for weakly", lambda: claim(shares(f)[i], "<", 1).citing("below", shares(f)))
false("of another input", lambda: claim(shares(f)[i], "=", shares(g)[i]).citing("shifted", shares(f), shift=a))
false("permuted one way", lambda: claim(shares(each(f[pi[l]], l))[pi[i]], "=", shares(f)[i]).citing("permuted", shares(f), pi=pi))
false("a flag that is a number", lambda: claim(shares(each(g[l] * f[l] + (1 - g[l]) * f[l] ** 2, l))[i], "=", shares(each(g[l]**2 * f[l] + (1 - g[l]**2) * f[l] ** 2, l))[i]).citing("selected", shares(f), flags=g))
false("a positive number that is fixed to 0", lambda: claim(0, "<", scaled(v, w)[i]).citing("positive", scaled(v, w)), scaled, at={w: 0})
false("a positive number that is any", lambda: claim(0, "<", scaled(f, a)[i]).citing("positive", scaled(f, a)))
false("a positive letter that is any", lambda: claim(0, "<", scaled(f, a)[i]).citing("other", scaled(f, c), positive=a))
false("a positive letter fixed to 0", lambda: claim(0, "<", scaled(v, w)[i]).citing("other", scaled(v, 1), positive=w), scaled, at={w: 0})

false("of a constant at another value", lambda: claim(exp(v[i]), "<", twice(v)[i]).citing("enlarges", twice(v)), twice, at={KAPPA: "1/2"})
false("labels of a longer list", lambda: claim(longer[i], "<=", m * labelled(f, F)[i] - 1).citing("small", labelled(f, F), given_label=longer))
false("labels of a longer list, given to it", lambda: claim(number_of(longer)[i], "<=", m - 1).citing("small", number_of(longer)))
false("integers of a longer list, given to it", lambda: claim(counted(more_ids, F)[i], "<=", m - 1).citing("small", counted(more_ids, F)))
false("the derivative of a kept absolute value", lambda: claim(bent(f).pullback(g, "v")[i] - bent(f).pullback(g, "v")[i], "=", 0).keeping(bent), **U)
false("the derivative of a kept maximum", lambda: claim(capped(f).pullback(a, "v")[i] * 0, "=", 0).keeping(capped), **U)
false("the derivative of an even kept function", lambda: claim(bent(each(2 * f[i], i)).pullback(g, "v")[i] - bent(each(2 * f[i], i)).pullback(g, "v")[i], "=", 0).keeping(bent), **U)
false("masked is not absent", lambda: claim(hidden(f, ok), "=", hidden(f, None)).citing("all", hidden(f, ok)))
false("none is not some", lambda: claim(hidden(f, ok), "=", 0).citing("none", hidden(f, ok)))
false("hidden is cut out, mask left out", lambda: claim(hidden(f, ok), "=", hidden(each(case(B[l, 0], f[l], 0), l), ok)).citing("masked", hidden(f, ok)))
false("under another convention", lambda: claim(chosen(f)[i], "<", exp(f[i])).citing("smaller", chosen(f)), chosen, conventions={"scale": "doubled"})
false("under one of two conventions", lambda: claim(chosen(f)[i], "<", exp(f[i])).citing("smaller", chosen(f)), chosen)
false("a default that is not chosen", lambda: claim(exp(f[i]), "<", chosen(f)[i]).citing("larger", chosen(f)))
false("under another convention, by a caller", lambda: claim(uses(v)[i], "<", exp(v[i])).citing("smaller", chosen(v)), uses, conventions={"scale": "doubled"})
false("two conventions alike", lambda: claim(uses(v)[i], "=", exp(v[i]) / 2).keeping(chosen), uses)
false("an assumption left out", lambda: claim(0, "<", cases_of(f)[i]).citing("assumed", cases_of(f)))
false("fixed inputs at others", lambda: claim(cases_of(f)[i], "=", 0).citing("at", cases_of(f)))
false("a kept quotient less itself", lambda: claim(partial(f)[i] - partial(f)[i], "=", 0).keeping(partial), **U)
false("a kept quotient times 0", lambda: claim(0 * partial(each(f[l] ** 2, l))[i], "=", 0).keeping(partial), **U)
false("a kept quotient in a branch", lambda: claim(case(ok[i], partial(f)[i], 1) * 0, "=", 0).keeping(partial), **U)
false("two kept outputs", lambda: claim(pair(f).output("pair_a")[i], "=", pair(f).output("pair_b")[i]).keeping(pair))
false("a kept formula of a part", lambda: claim(mass(each(f[l], (l, n - 1))), "=", mass(f)).keeping(mass))
false("a kept formula of rows", lambda: claim(mass(each(F[i, j], i)), "=", mass(each(F[i, 0], i))).keeping(mass))
false("a condition on the entry", lambda: claim(shares(each(case(ok[l], f[l], -f[l]), l))[i], "=", case(ok[i], shares(f)[i], shares(each(-f[l], l))[i])).keeping(shares))
false("a condition on all entries", lambda: claim(shares(each(case(Some(B[l, j], j), f[l], -f[l]), l))[i], "=", case(Some(B[i, j], j), shares(f)[i], shares(each(-f[l], l))[i])).keeping(shares))
false("a condition on an entry and the whole", lambda: claim(shares(each(case(ok[0] & ok[l], f[l], -f[l]), l))[i], "=", case(ok[0], shares(f)[i], shares(each(-f[l], l))[i])).keeping(shares))
false("two conditions of two inputs", lambda: claim(scaled(each(case(ok[0], f[l], g[l]), l), case(ok[i], c, 1))[i], "=", case(ok[0], scaled(f, c)[i], scaled(g, 1)[i])).keeping(scaled))
false("a condition outside a kept one", lambda: claim(shares(each(case(lt(0, a), f[l], -f[l]), l))[i], "=", shares(each(case(lt(0, a), f[l], -g[l]), l))[i]).keeping(shares))
false("the mean of a kept formula", lambda: claim(expected(mass(f), f), "=", mass(f)).keeping(mass))
false("the mean of a kept formula is 0", lambda: claim(expected(cases_of(f)[i] * cases_of(f)[i], f), "=", 0).keeping(cases_of))
false("the mean through a kept formula", lambda: claim(expected(mass(f) * g[i] * g[i], f, g), "=", mass(f)).keeping(mass))
false("cited in the base only", lambda: claim(Sum(shares(each(f[l] + l, l))[r], (r, 0, k - 1)), "=", Sum(shares(f)[r], (r, 0, k - 1))).by_induction(k), )

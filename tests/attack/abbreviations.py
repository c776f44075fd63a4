"""Abbreviations: letters that would stand for something else than they say, for one entry too many, or for one too few."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from spec.language import (
    Claim,
    Formula,
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    data,
    define,
    delta,
    each,
    exp,
    expected,
    given,
    indices,
    le,
    lift,
    log,
    lt,
    sizes,
    sqrt,
    tensor,
)
from spec.language.binders import Max
from spec.language.expr import by_convention
from tests.attack.board import category, inverted, logged, mentioned, rooted, squared

n, m = sizes("n m")
i, k, l = indices(i=n, k=n, l=n)
j, e = indices(j=m, e=m)
x, w = data("x", n), data("w", m)
y, Y = tensor("y", n), tensor("Y", n, m)
low, high = tensor("low", n, domain="nonnegative"), tensor("high", n, domain="positive")
shown = tensor("shown", n, domain="boolean")
A, D, C, E0 = tensor("A", n), tensor("D", n, n), tensor("C", n, m), tensor("E0")
A1 = tensor("A1", n)
P, Q = tensor("P", n, domain="positive"), tensor("Q", n, domain="nonnegative")
S, B, N = (
    tensor(name, n, domain=kind) for name, kind in (("S", "share"), ("B", "boolean"), ("N", "integer"))
)
g, G, c = given("g", n), given("G", n, m), given("c")
ok = given("ok", n, domain="boolean")
at = given("at", n, domain="integer", below=n)
pi = given("pi", n, domain="permutation")
WRITTEN = {"made": True}
"""Refused already where it is written."""

_false = category("abbreviations")
_number = count(1)


def false(name: str, lets: tuple[Any, ...], claims: Callable[[], Claim], **rest: Any) -> None:
    """A false claim in letters that are introduced for it, about a formula of its own."""
    formula = Formula(
        f"test.attack_let_{next(_number)}",
        "A row, doubled, squared and shifted",
        (x, w),
        (
            define(y[i], 2 * x[i] + 1),
            define(low[i], x[i] ** 2),
            define(high[i], low[i] + 1),
            define(Y[i, j], x[i] * w[j]),
            define(shown[i], lt(0, x[i])),
        ),
        (y, low, high, Y, shown),
        auxiliary=True,
    )

    def build() -> Theorem:
        if "claimed" not in formula.theorems:
            for line in lets:
                formula.let(*line)
            made = claims()
            formula.theorem("claimed", name, made, given=mentioned((made,), (), formula))
        return formula.theorems["claimed"]

    _false(name, build, formula, **rest)


# Which entry an abbreviation is of ------------------------------------------------------------------------------------------

ahead = ((A[i + 1], x[i], (i, 0, n - 2)),)
behind = ((A[i - 1], x[i], (i, 1, n - 1)),)
turned = ((A[n - 1 - i], x[i]),)
diagonal = ((D[i, i], x[i]),)
column = ((C[i, 0], x[i]),)
for name, lets in {"ahead": ahead, "behind": behind, "in reverse": turned}.items():
    false(
        f"an entry {name} is captured by a sum",
        lets,
        lambda: claim(Sum(A[i], i), "=", Sum(x[i], i)),
        **WRITTEN,
    )
    false(f"an entry {name} is the entry", lets, lambda: claim(A[i], "=", x[i]), **WRITTEN)
    false(f"an entry {name} is any", lets, lambda: claim(A[k], "=", x[i], i, k), **WRITTEN)
    false(
        f"an entry {name} is captured by a maximum",
        lets,
        lambda: claim(Max(A[i], i), "=", Max(x[i], i)),
        **WRITTEN,
    )
false("a diagonal is its row", diagonal, lambda: claim(D[i, k], "=", x[i]), **WRITTEN)
false("a diagonal is its column", diagonal, lambda: claim(D[i, k], "=", x[k]), **WRITTEN)
false("a diagonal sums over all", diagonal, lambda: claim(Sum(D[i, k], k), "=", n * x[i]), **WRITTEN)
false("a first column is every column", column, lambda: claim(C[i, j], "=", x[i]), **WRITTEN)
false("a first column is captured", column, lambda: claim(Sum(C[i, j], j), "=", m * x[i]), **WRITTEN)
false("an entry at a size", ((A[n - 1], x[0]),), lambda: claim(A[i], "=", x[0]), **WRITTEN)
false(
    "every other entry", ((A[2 * i], x[i], (i, 0, (n - 1) / 2)),), lambda: claim(A[i], "=", x[i]), **WRITTEN
)
false("an entry that is looked up", ((A[at[i]], x[i]),), lambda: claim(A[i], "=", x[i]), **WRITTEN)
false("an entry at a permutation", ((A[pi[i]], x[i]),), lambda: claim(A[i], "=", x[i]), **WRITTEN)
false(
    "two letters in one place",
    ((A[i + k], x[i], (i, 0, 0), (k, 0, n - 1)),),
    lambda: claim(A[l], "=", x[0]),
    **WRITTEN,
)
false("letters exchanged", ((D[i, k], x[i]),), lambda: claim(D[i, k], "=", D[k, i]))
false("letters exchanged under sums", ((D[k, i], x[i]),), lambda: claim(Sum(D[i, k], k), "=", n * x[i]))
false(
    "a letter of the body is not the claim's",
    ((A[i], Sum(x[k] * delta(k, i), k)),),
    lambda: claim(A[k], "=", x[i], i, k),
)
false(
    "a sum over the letter that is put in",
    ((A[i], Sum(x[k], k)),),
    lambda: claim(Sum(A[k] * x[k], k), "=", Sum(x[k] ** 2, k)),
)
false(
    "one abbreviation in another keeps its letters",
    ((A[i], Sum(x[k] * x[i], k)), (A1[k], Sum(A[i], i) + x[k])),
    lambda: claim(A1[i], "=", n * A[i] + x[i]),
)
false(
    "an array in an array",
    ((D[i, k], x[i] - x[k]),),
    lambda: claim(squared(D[i])[k], "=", (x[k] - x[i]) ** 3),
)

# Its range ------------------------------------------------------------------------------------------------------------------

for name, ends in {
    "all but the last": (0, n - 2),
    "all but the first": (1, n - 1),
    "the first": (0, 0),
}.items():
    false(
        f"a range of {name} is ignored",
        ((A[i], x[i], (i, *ends)),),
        lambda: claim(A[i], "=", x[i]),
        **WRITTEN,
    )
    false(
        f"a range of {name}, summed",
        ((A[i], lift(1), (i, *ends)),),
        lambda: claim(Sum(A[i], i), "=", n),
        **WRITTEN,
    )
false("a range of another axis", ((C[i, k], x[i] + k),), lambda: claim(C[i, j], "=", x[i]), **WRITTEN)
false("a letter of another size", ((A[j], w[j]),), lambda: claim(A[i], "=", x[i]), **WRITTEN)
false("a letter free in the body", ((A[i], x[i] + k),), lambda: claim(A[i], "=", x[i]), **WRITTEN)
false("a letter free in a scalar", ((E0, x[i]),), lambda: claim(E0, "=", x[0]), **WRITTEN)
false("an entry outside, abbreviated", ((A[i], x[i + 1]),), lambda: claim(A[i], "=", x[i]), **WRITTEN)
false("the first of an axis of 1", ((E0, x[1]),), lambda: claim(E0, "=", x[0]), **WRITTEN)

# What is declared of it -----------------------------------------------------------------------------------------------------

for P_, word in ((P, "positive"), (Q, "nonnegative"), (S, "a share")):
    own = ((P_[i], x[i]),)
    false(f"{word} by declaration", own, lambda t=P_: claim(0, "<=", t[i]), **WRITTEN)
    false(f"{word} by declaration, its size", own, lambda t=P_: claim(absolute(t[i]), "=", t[i]), **WRITTEN)
    false(
        f"{word} by declaration, as a root's",
        own,
        lambda t=P_: claim(rooted(t)[i] ** 2, "=", x[i]),
        **WRITTEN,
    )
    false(
        f"{word} by declaration, as a seed",
        own,
        lambda t=P_: claim(0, "<=", squared(x).pullback(t, "x")[i] * x[i]),
        **WRITTEN,
    )
    false(
        f"{word} by declaration, pulled back to",
        own,
        lambda t=P_: claim(logged(t).pullback(g, "x")[i] * x[i], "=", g[i]),
        **WRITTEN,
    )
false("a number as a condition", ((B[i], x[i]),), lambda: claim(case(B[i], 1, 0), "=", x[i]), **WRITTEN)
false("a number as a condition is 0 or 1", ((B[i], x[i]),), lambda: claim(B[i] * B[i], "=", B[i]), **WRITTEN)
false(
    "a number as a restriction",
    ((B[i], x[i]),),
    lambda: claim(Sum(lift(1), i, where=B[i]), "=", Sum(x[i], i)),
    **WRITTEN,
)
false("a number as a hypothesis", ((B[i], x[i]),), lambda: claim(x[i] ** 2, "=", x[i], where=B[i]), **WRITTEN)
false("a condition as a number", ((A[i], le(x[i], 0)),), lambda: claim(A[i], "=", 1), **WRITTEN)
false("a number as an integer", ((N[i], x[i]),), lambda: claim(x[N[i]], "=", x[i]), **WRITTEN)
false("a root as an integer", ((N[i], sqrt(lift(i))),), lambda: claim(delta(N[i], N[i]), "=", 0), **WRITTEN)
false("a condition holds by its name", ((B[i], lt(0, x[i])),), lambda: claim(case(B[i], x[i], 1), "=", x[i]))
false(
    "by a convention that there is not",
    ((A[i], by_convention("side", left=x[i], right=0)),),
    lambda: claim(A[i], "=", x[i]),
    **WRITTEN,
)
false("what is given to no theorem", ((A[i], g[i]),), lambda: claim(A[i], "=", 0), **WRITTEN)
false("what another formula has", ((A[i], data("q", n)[i]),), lambda: claim(A[i], "=", 0), **WRITTEN)
false("an integer one more", ((N[i], lift(i)),), lambda: claim(lift(N[i]), "=", i + 1))

# Where it is not defined ----------------------------------------------------------------------------------------------------

U = {"undefined": True}
false("a logarithm of anything less itself", ((A[i], log(x[i])),), lambda: claim(A[i] - A[i], "=", 0), **U)
false("a quotient by anything times nothing", ((A[i], 1 / x[i]),), lambda: claim(0 * A[i], "=", 0), **U)
false("a root of anything, squared", ((A[i], sqrt(x[i])),), lambda: claim(A[i] ** 2, "=", x[i]), **U)
false("a quotient that cancels", ((E0, 1 / Sum(x[i], i)),), lambda: claim(E0 * Sum(x[i], i), "=", 1), **U)
false("a largest of those shown", ((E0, Max(x[i], i, where=lt(0, x[i]))),), lambda: claim(E0, "=", E0), **U)
false(
    "a share of a size that may be 1",
    ((A[i], x[i] / (n - 1)),),
    lambda: claim((n - 1) * A[i], "=", x[i]),
    **U,
)
false("a logarithm of an index", ((A[i], log(lift(i))),), lambda: claim(A[i], "=", log(lift(i))), **U)
false("a line's logarithm", (), lambda: claim(exp(log(low[i])), "=", x[i] ** 2), **U)
false("a line as a divisor", (), lambda: claim(low[i] / low[i], "=", 1), **U)
false("a line where 1/x is asked for", (), lambda: claim(inverted(low)[i] * low[i], "=", 1), **U)

# Lines as a whole -----------------------------------------------------------------------------------------------------------

false(
    "a line as a seed is a number of its own",
    (),
    lambda: claim(squared(x).pullback(y, "x")[i], "=", 2 * x[i]),
)
false("a line as a seed is positive", (), lambda: claim(0, "<", squared(x).pullback(high, "x")[i]))
false("a line pulled back to", (), lambda: claim(squared(y).pullback(g, "x")[i], "=", 2 * g[i] * x[i]))
false(
    "a line pulled back to has a slope",
    (),
    lambda: claim(rooted(low).pullback(g, "x")[i], "=", g[i] / (2 * absolute(x[i]))),
    **U,
)
false(
    "a line pulled back to is positive",
    (),
    lambda: claim(0, "<=", squared(low).pullback(low, "x")[i] - low[i]),
)
false(
    "a line pulled back through both", (), lambda: claim(squared(y).pullback(y, "x")[i], "=", 2 * y[i] * x[i])
)
false("a line's row as a seed", (), lambda: claim(squared(w).pullback(Y[i], "x")[j], "=", 2 * x[i] * w[j]))
false(
    "an abbreviation as a seed",
    ((A[i], 3 * x[i]),),
    lambda: claim(squared(x).pullback(A, "x")[i], "=", 2 * A[i]),
)
false(
    "an abbreviation's row as a seed",
    ((C[i, j], x[i] * w[j]),),
    lambda: claim(squared(w).pullback(C[k], "x")[j], "=", w[j]),
)
false(
    "a sum captures no seed",
    ((A[i], 3 * x[i]),),
    lambda: claim(Sum(squared(x).pullback(A, "x")[k], k), "=", 6 * n * x[i] ** 2),
)
false(
    "a seed reads the letters around it",
    (),
    lambda: claim(squared(x).pullback(each(delta(i, k), k), "x")[i], "=", 2 * x[0]),
)

# What is random -------------------------------------------------------------------------------------------------------------

false("a line's mean is the line", (), lambda: claim(expected(y[i], y), "=", y[i]), **WRITTEN)
false("a line is random, with mean 0", (), lambda: claim(expected(y[i], y), "=", 0), **WRITTEN)
false("a line is random, with variance 1", (), lambda: claim(expected(y[i] ** 2, y), "=", 1), **WRITTEN)
false(
    "an abbreviation's mean is itself",
    ((A[i], x[i]),),
    lambda: claim(expected(A[i], A), "=", x[i]),
    **WRITTEN,
)
false("a line and its input are independent", (), lambda: claim(expected(y[i] * x[i], x), "=", 0))
false(
    "an abbreviation is a number on average", ((A[i], x[i] ** 2),), lambda: claim(expected(A[i], x), "=", 0)
)
false("an input's entries are one", ((A[i], Sum(x[k], k)),), lambda: claim(expected(A[i] * x[i], x), "=", n))

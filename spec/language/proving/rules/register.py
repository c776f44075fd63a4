"""The named rules of rewriting, each with the sentence that pages show and a pair of trees that it makes equal.

The pair is the rule's law over generic tensors: both sides are evaluated at random sizes in the tests, and the normal form must
bring them to the same term by using the rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy

from spec.language.arrays import Tensor
from spec.language.binders import Max, Some, Sum, expected
from spec.language.expr import (
    TRUE,
    Node,
    absolute,
    case,
    cos,
    delta,
    eq,
    erf,
    exp,
    le,
    lift,
    lt,
    sin,
    sqrt,
    tanh,
)
from spec.language.proving.rules.examples import h, i, j, l, m, n, products, u, v, woven, x, y
from spec.language.theorem import Proof


@dataclass(frozen=True)
class Law:
    """Two trees that a rule makes equal (or ordered, ``<=``) for all values of the indices in ``over`` at which ``where`` holds.

    ``numeric`` is False where a side cannot be a line (expectations, derivatives).
    """

    left: Node
    right: Node
    over: tuple[tuple[sympy.Symbol, sympy.Expr], ...] = ()
    where: Node = TRUE
    relation: str = "="
    numeric: bool = True
    proof: Proof | None = None


@dataclass(frozen=True)
class Rule:
    """A rule: its name, the sentence shown in derivations, and its law."""

    name: str
    sentence: str
    law: Callable[[], Law]


f, g = Tensor("f", (n,)), Tensor("g", (m,))
F, G = Tensor("F", (n, m)), Tensor("G", (n, m))
M = Tensor("M", (n, m), "boolean")
p, r = Tensor("p", (n,), "positive"), Tensor("r", (n,), "positive")
a, b = Tensor("a", ()), Tensor("b", ())
pi = Tensor("pi", (n,), "permutation")
even = Tensor("even", (2 * h,))
RULES: dict[str, Rule] = {}


def rule(name: str, sentence: str) -> Callable[[Callable[[], Law]], Callable[[], Law]]:
    """Register the law below as a rule."""

    def register(law: Callable[[], Law]) -> Callable[[], Law]:
        RULES[name] = Rule(name, sentence, law)
        return law

    return register


def _over(body: Node | Tensor, symbol: sympy.Symbol = j, size: sympy.Expr = n, where: Node = TRUE) -> Node:
    return Sum(body, (symbol, 0, size - 1), where=where)


@rule("unfold", "A call is replaced by the formula's lines, its inputs by the arguments.")
def unfold() -> Law:
    """A definition is unfolded."""
    return Law(products(x, y)[i, j], Sum(x[i, l] * y[j, l], (l, 0, h - 1)), ((i, n), (j, m)))


@rule(
    "linearity",
    "A sum of sums is the sum of the terms: Σ (f + g) = Σ f + Σ g; sums over one range agree when their terms do.",
)
def linearity() -> Law:
    """Sums are linear."""
    return Law(_over(f[j] + p[j]), _over(f[j]) + _over(p[j]))


@rule("constants", "A factor free of the index is taken out of a sum: Σ c·f = c·Σ f.")
def constants() -> Law:
    """Constants are taken out of sums."""
    return Law(_over(a * f[j]), a * _over(f[j]))


@rule(
    "swap",
    "The order of sums does not matter: Σ_i Σ_j f = Σ_j Σ_i f; nested sums are one sum over both indices.",
)
def swap() -> Law:
    """Sums are exchanged."""
    return Law(_over(_over(F[i, j], j, m), i, n), _over(_over(F[i, j], i, n), j, m))


@rule("independent", "A sum of products over separate indices is the product of the sums.")
def independent() -> Law:
    """Independent sums are separated."""
    return Law(_over(_over(f[i] * g[j], j, m), i, n), _over(f[i], i, n) * _over(g[j], j, m))


@rule(
    "collapse",
    "A sum against a Kronecker delta picks one term, provided the index is in range: Σ_j δ(j,i) f(j) = f(i).",
)
def collapse() -> Law:
    """Kronecker deltas collapse."""
    return Law(_over(delta(j, i) * f[j]), f[i], ((i, n),))


@rule(
    "reindex", "A permutation of the indices does not change a sum over all of them: Σ_j f(π(j)) = Σ_j f(j)."
)
def reindex() -> Law:
    """Sums are reindexed by a bijection."""
    return Law(_over(f[pi[j]]), _over(f[j]))


@rule("parity", "A sum is the sum over the even indices plus the sum over the odd ones.")
def parity() -> Law:
    """A range is split into even and odd indices."""
    row = woven(u, v)
    return Law(Sum(row[j], (j, 0, 2 * h - 1)), Sum(row[2 * j] + row[2 * j + 1], (j, 0, h - 1)))


@rule("blocks", "A sum over h·d indices is the sum over h blocks of the sum over the d places in each.")
def blocks() -> Law:
    """A range is split into blocks of equal width."""
    whole, place = sympy.floor(j / m), j - m * sympy.floor(j / m)
    return Law(_over(F[whole, place], j, n * m), _over(_over(F[i, j], j, m), i, n))


@rule("split_range", "A sum over a range is the sum over its part below a bound plus the sum over the rest.")
def split_range() -> Law:
    """A range is split at an index."""
    return Law(_over(f[j]), Sum(f[j], (j, 0, i)) + Sum(f[j], (j, i + 1, n - 1)), ((i, n),))


@rule("alone", "A sum over a range of one index is its term: Σ_{j=i}^{i} f(j) = f(i).")
def alone() -> Law:
    """A range of one index."""
    return Law(Sum(f[j], (j, i, i)), f[i], ((i, n),))


@rule("count", "Σ 1 over a range is its number of indices.")
def count() -> Law:
    """The terms of a constant sum are counted."""
    return Law(_over(lift(1)), lift(n))


@rule("empty", "A sum over an empty range is 0.")
def empty() -> Law:
    """A sum without permitted indices is zero."""
    return Law(Sum(f[j], (j, 0, n - 1), where=lt(j, 0)), lift(0))


@rule("decided", "A condition that the ranges, sizes and assumptions decide is replaced by its truth value.")
def decided() -> Law:
    """Conditions are decided by what is known."""
    return Law(case(le(i, n - 1), f[i], a), f[i], ((i, n),))


@rule(
    "cases",
    "Case distinction: χ f(x) + (1-χ) f(y) is f of x where the condition holds and of y where it fails.",
)
def cases() -> Law:
    """Functions are distributed over cases."""
    return Law(exp(case(M[i, j], a, b)), case(M[i, j], exp(a), exp(b)), ((i, n), (j, m)))


@rule("exponents", "eˣ·eʸ = eˣ⁺ʸ, e⁰ = 1, 1/eˣ = e⁻ˣ.")
def exponents() -> Law:
    """Exponentials are merged."""
    return Law(exp(a) * exp(b) / exp(f[i]), exp(a + b - f[i]), ((i, n),))


@rule("powers", "A positive base to a power is an exponential: bʸ = e^(y ln b).")
def powers() -> Law:
    """Powers of a positive base are exponentials."""
    return Law(p[i] ** a * p[i] ** b, p[i] ** (a + b), ((i, n),))


@rule("angles", "sin(x+y) = sin x cos y + cos x sin y and cos(x+y) = cos x cos y - sin x sin y.")
def angles() -> Law:
    """Angles are added."""
    return Law(sin(a + b), sin(a) * cos(b) + cos(a) * sin(b))


@rule("pythagoras", "sin² + cos² = 1.")
def pythagoras() -> Law:
    """Pythagoras."""
    return Law(sin(a) ** 2 + cos(a) ** 2, lift(1))


@rule("roots", "√x·√x = x and √(x y) = √x √y for numbers that are at least 0.")
def roots() -> Law:
    """Roots are squared and spread over factors."""
    return Law(sqrt(p[i] * r[i]) * sqrt(p[i]), p[i] * sqrt(r[i]), ((i, n),))


@rule("reciprocals", "A reciprocal is spread over factors: 1/(x y) = 1/x · 1/y.")
def reciprocals() -> Law:
    """Reciprocals are spread over factors."""
    return Law(a / (p[i] * r[i]), a / p[i] / r[i], ((i, n),))


@rule("cancel", "x/x = 1, once x ≠ 0 is known.")
def cancel() -> Law:
    """What is nonzero cancels."""
    return Law(p[i] * a / p[i], lift(a), ((i, n),))


@rule(
    "clear",
    "Two fractions agree when their products with the denominators do, once these are known to be nonzero.",
)
def clear() -> Law:
    """Denominators are multiplied out."""
    return Law(a - a / (1 + p[i]), a * p[i] / (1 + p[i]), ((i, n),))


@rule(
    "derivative",
    "Derivatives term by term, ∂x_a/∂x_b = δ(a,b), product and chain rule; bound indices are renamed apart first.",
)
def derivative() -> Law:
    """Derivatives at symbolic index."""
    right = Sum(F[i, j] * y[j, l], (j, 0, m - 1))
    return Law(products(x, y).pullback(F, "x")[i, l], right, ((i, n), (l, h)), numeric=False)


@rule("expectation", "Expectation is linear.")
def expectation() -> Law:
    """Expectations are linear."""
    return Law(expected(a * f[i] + b, f), lift(b), ((i, n),), numeric=False)


@rule("moments", "Independent entries of mean 0 and variance 1: E x_a = 0, E x_a x_b = δ(a,b).")
def moments() -> Law:
    """First and second moments."""
    return Law(expected(f[i] * f[j], f), delta(i, j), ((i, n), (j, n)), numeric=False)


@rule("member", "A member is at most the maximum.")
def member() -> Law:
    """A member is at most the maximum."""
    return Law(F[i, j], Max(F[i, l], (l, 0, m - 1), where=M[i, l]), ((i, n), (j, m)), M[i, j], "<=")


@rule(
    "signs",
    "A sum of terms that are at least 0 is at least 0; so are squares, and exponentials are positive.",
)
def signs() -> Law:
    """Signs are read off the form."""
    return Law(lift(0), _over(p[j] * (f[j] - a) ** 2), (), TRUE, "<=")


@rule("rename", "A bound index may be renamed: Σ_j f(j) = Σ_l f(l), when nothing is captured.")
def rename() -> Law:
    """Bound indices are renamed."""
    return Law(_over(F[i, j], j, m), _over(F[i, l], l, m), ((i, n),))


@rule("shift", "A range may be shifted: Σ_{j=a}^{b} f(j) = Σ_{j=0}^{b-a} f(j+a).")
def shift() -> Law:
    """Ranges are shifted."""
    return Law(Sum(even[j], (j, h, 2 * h - 1)), Sum(even[j + h], (j, 0, h - 1)))


@rule(
    "witness",
    "Where some index is permitted, one may be named; a condition on some index holds where it holds for a known one.",
)
def witness() -> Law:
    """Existence is used and shown by a witness."""
    return Law(case(M[i, j] & Some(M[i, l], (l, 0, m - 1)), a), case(M[i, j], a), ((i, n), (j, m)))


@rule("permuted", "A permutation is one to one: π(i) = π(j) exactly where i = j.")
def permuted() -> Law:
    """Permutations are injective."""
    return Law(case(eq(pi[i], pi[j]), a), case(eq(i, j), a), ((i, n), (j, n)))


@rule(
    "bounded",
    "Sines and cosines lie between -1 and 1, hyperbolic tangents, error functions and sigmoids strictly, so |x·sin y| ≤ |x|.",
)
def bounded() -> Law:
    """Bounded functions do not enlarge."""
    return Law(a * sin(b) * tanh(b), absolute(a), (), TRUE, "<=")


@rule("odd", "The hyperbolic tangent and the error function are odd: tanh(−x) = −tanh x, erf(−x) = −erf x.")
def odd() -> Law:
    """Signs are taken out of odd functions."""
    return Law(tanh(-a) + erf(f[i] - a), -tanh(a) - erf(a - f[i]), ((i, n),))


@rule("absolute", "|x y| = |x| |y|.")
def absolute_product() -> Law:
    """Absolute values are spread over factors."""
    return Law(absolute(a * f[i]), absolute(a) * absolute(f[i]), ((i, n),))


@rule("absolute_cases", "|x| is x or -x.")
def absolute_cases() -> Law:
    """Absolute values are taken apart."""
    return Law(f[i] - a, absolute(f[i] - a), ((i, n),), TRUE, "<=")


@rule("tangent", "eˣ is at least 1 + x.")
def tangent() -> Law:
    """The exponential lies above its tangent at 0."""
    return Law(lift(1) + f[i] - a, exp(f[i] - a), ((i, n),), TRUE, "<=")


@rule("monotone", "For positive numbers, x <= y exactly where ln x <= ln y.")
def monotone() -> Law:
    """The logarithm keeps the order."""
    return Law(lift(1), exp(p[i]), ((i, n),), TRUE, "<=")

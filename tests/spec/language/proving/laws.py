"""The laws of the prover's rules: pairs of trees over generic tensors that a rule makes equal, or orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sympy

from spec.language.arrays import Tensor, each
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
    log,
    lt,
    sigmoid,
    sin,
    sqrt,
    tanh,
)
from spec.language.formula import Formula
from spec.language.lines import define
from spec.language.symbols import indices, sizes
from spec.language.theorem import Proof, derive

n, m, h = sizes("n m h")
i, j, l = indices("i j l")

x, y = Tensor("x", (n, h)), Tensor("y", (m, h))
u, v = Tensor("u", (h,)), Tensor("v", (h,))
w = Tensor("f", (n + 1,), "real", "data")

_products, _woven, _state = Tensor("s", (n, m)), Tensor("s", (2 * h,)), Tensor("s", (n + 1,))

products = Formula(
    "rules.products",
    "Products of rows",
    inputs=(x, y),
    lines=(define(_products[i, j], Sum(x[i, l] * y[j, l], (l, 0, h - 1))),),
    outputs=(_products,),
    auxiliary=True,
)

woven = Formula(
    "rules.woven",
    "Two rows in turn",
    inputs=(u, v),
    lines=(define(_woven[2 * i], u[i], (i, 0, h - 1)), define(_woven[2 * i + 1], v[i], (i, 0, h - 1))),
    outputs=(_woven,),
    auxiliary=True,
)

running = Formula(
    "rules.running",
    "A running value",
    inputs=(w,),
    lines=(define(_state[0], tanh(w[0])), define(_state[i], tanh(_state[i - 1] + w[i]), (i, 1, n))),
    outputs=(_state,),
    auxiliary=True,
)


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


f, g = Tensor("f", (n,)), Tensor("g", (m,))
F, G = Tensor("F", (n, m)), Tensor("G", (n, m))
M = Tensor("M", (n, m), "boolean")
p, r = Tensor("p", (n,), "positive"), Tensor("r", (n,), "positive")
a, b = Tensor("a", ()), Tensor("b", ())
pi = Tensor("pi", (n,), "permutation")
even = Tensor("even", (2 * h,))
LAWS: dict[str, Callable[[], Law]] = {}


def rule(name: str) -> Callable[[Callable[[], Law]], Callable[[], Law]]:
    """The law below is that of the rule with this name."""

    def register(law: Callable[[], Law]) -> Callable[[], Law]:
        LAWS[name] = law
        return law

    return register


def _over(body: Node | Tensor, symbol: sympy.Symbol = j, size: sympy.Expr = n, where: Node = TRUE) -> Node:
    return Sum(body, (symbol, 0, size - 1), where=where)


@rule("unfold")
def unfold() -> Law:
    """A definition is unfolded."""
    return Law(products(x, y)[i, j], Sum(x[i, l] * y[j, l], (l, 0, h - 1)), ((i, n), (j, m)))


@rule("linearity")
def linearity() -> Law:
    """Sums are linear."""
    return Law(_over(f[j] + p[j]), _over(f[j]) + _over(p[j]))


@rule("constants")
def constants() -> Law:
    """Constants are taken out of sums."""
    return Law(_over(a * f[j]), a * _over(f[j]))


@rule("swap")
def swap() -> Law:
    """Sums are exchanged."""
    return Law(_over(_over(F[i, j], j, m), i, n), _over(_over(F[i, j], i, n), j, m))


@rule("independent")
def independent() -> Law:
    """Independent sums are separated."""
    return Law(_over(_over(f[i] * g[j], j, m), i, n), _over(f[i], i, n) * _over(g[j], j, m))


@rule("collapse")
def collapse() -> Law:
    """Kronecker deltas collapse."""
    return Law(_over(delta(j, i) * f[j]), f[i], ((i, n),))


@rule("reindex")
def reindex() -> Law:
    """Sums are reindexed by a bijection."""
    return Law(_over(f[pi[j]]), _over(f[j]))


@rule("parity")
def parity() -> Law:
    """A range is split into even and odd indices."""
    row = woven(u, v)
    return Law(Sum(row[j], (j, 0, 2 * h - 1)), Sum(row[2 * j] + row[2 * j + 1], (j, 0, h - 1)))


@rule("blocks")
def blocks() -> Law:
    """A range is split into blocks of equal width."""
    whole, place = sympy.floor(j / m), j - m * sympy.floor(j / m)
    return Law(_over(F[whole, place], j, n * m), _over(_over(F[i, j], j, m), i, n))


@rule("split_range")
def split_range() -> Law:
    """A range is split at an index."""
    return Law(_over(f[j]), Sum(f[j], (j, 0, i)) + Sum(f[j], (j, i + 1, n - 1)), ((i, n),))


@rule("alone")
def alone() -> Law:
    """A range of one index."""
    return Law(Sum(f[j], (j, i, i)), f[i], ((i, n),))


@rule("count")
def count() -> Law:
    """The terms of a constant sum are counted."""
    return Law(_over(lift(1)), lift(n))


@rule("empty")
def empty() -> Law:
    """A sum without permitted indices is zero."""
    return Law(Sum(f[j], (j, 0, n - 1), where=lt(j, 0)), lift(0))


@rule("decided")
def decided() -> Law:
    """Conditions are decided by what is known."""
    return Law(case(le(i, n - 1), f[i], a), f[i], ((i, n),))


@rule("cases")
def cases() -> Law:
    """Functions are distributed over cases."""
    return Law(exp(case(M[i, j], a, b)), case(M[i, j], exp(a), exp(b)), ((i, n), (j, m)))


@rule("exponents")
def exponents() -> Law:
    """Exponentials are merged."""
    return Law(exp(a) * exp(b) / exp(f[i]), exp(a + b - f[i]), ((i, n),))


@rule("powers")
def powers() -> Law:
    """Powers of a positive base are exponentials."""
    return Law(p[i] ** a * p[i] ** b, p[i] ** (a + b), ((i, n),))


@rule("angles")
def angles() -> Law:
    """Angles are added."""
    return Law(sin(a + b), sin(a) * cos(b) + cos(a) * sin(b))


@rule("pythagoras")
def pythagoras() -> Law:
    """Pythagoras."""
    return Law(sin(a) ** 2 + cos(a) ** 2, lift(1))


@rule("roots")
def roots() -> Law:
    """Roots are squared and spread over factors."""
    return Law(sqrt(p[i] * r[i]) * sqrt(p[i]), p[i] * sqrt(r[i]), ((i, n),))


@rule("reciprocals")
def reciprocals() -> Law:
    """Reciprocals are spread over factors."""
    return Law(a / (p[i] * r[i]), a / p[i] / r[i], ((i, n),))


@rule("cancel")
def cancel() -> Law:
    """What is nonzero cancels."""
    return Law(p[i] * a / p[i], lift(a), ((i, n),))


@rule("clear")
def clear() -> Law:
    """Denominators are multiplied out."""
    return Law(a - a / (1 + p[i]), a * p[i] / (1 + p[i]), ((i, n),))


@rule("derivative")
def derivative() -> Law:
    """Derivatives at symbolic index."""
    right = Sum(F[i, j] * y[j, l], (j, 0, m - 1))
    return Law(products(x, y).pullback(F, "x")[i, l], right, ((i, n), (l, h)), numeric=False)


@rule("expectation")
def expectation() -> Law:
    """Expectations are linear."""
    return Law(expected(a * f[i] + b, f), lift(b), ((i, n),), numeric=False)


@rule("moments")
def moments() -> Law:
    """First and second moments."""
    return Law(expected(f[i] * f[j], f), delta(i, j), ((i, n), (j, n)), numeric=False)


@rule("member")
def member() -> Law:
    """A member is at most the maximum."""
    return Law(F[i, j], Max(F[i, l], (l, 0, m - 1), where=M[i, l]), ((i, n), (j, m)), M[i, j], "<=")


@rule("largest")
def largest() -> Law:
    """What is the same for all is taken out of a maximum."""
    return Law(Max(f[pi[j]] / 2 - a, (j, 0, n - 1)), Max(f[j], (j, 0, n - 1)) / 2 - a)


@rule("attained")
def attained() -> Law:
    """A maximum is one of its members."""
    return Law(Max(tanh(f[j]), (j, 0, n - 1)), lift(1), (), TRUE, "<=")


@rule("squeezed")
def squeezed() -> Law:
    """What is neither above nor below 0 is 0."""
    return Law(case(lt(0, a), a) - case(lt(a, 0), -a), lift(a))


@rule("logistic")
def logistic() -> Law:
    """Sigmoids are quotients of exponentials."""
    return Law(sigmoid(-a) * tanh(a), tanh(a) / (1 + exp(a)))


@rule("signs")
def signs() -> Law:
    """Signs are read off the form."""
    return Law(lift(0), _over(p[j] * (f[j] - a) ** 2), (), TRUE, "<=")


@rule("rename")
def rename() -> Law:
    """Bound indices are renamed."""
    return Law(_over(F[i, j], j, m), _over(F[i, l], l, m), ((i, n),))


@rule("shift")
def shift() -> Law:
    """Ranges are shifted."""
    return Law(Sum(even[j], (j, h, 2 * h - 1)), Sum(even[j + h], (j, 0, h - 1)))


@rule("witness")
def witness() -> Law:
    """Existence is used and shown by a witness."""
    return Law(case(M[i, j] & Some(M[i, l], (l, 0, m - 1)), a), case(M[i, j], a), ((i, n), (j, m)))


@rule("permuted")
def permuted() -> Law:
    """Permutations are injective."""
    return Law(case(eq(pi[i], pi[j]), a), case(eq(i, j), a), ((i, n), (j, n)))


@rule("bounded")
def bounded() -> Law:
    """Bounded functions do not enlarge."""
    return Law(a * sin(b) * tanh(b), absolute(a), (), TRUE, "<=")


@rule("odd")
def odd() -> Law:
    """Signs are taken out of odd functions."""
    return Law(tanh(-a) + erf(f[i] - a), -tanh(a) - erf(a - f[i]), ((i, n),))


@rule("absolute")
def absolute_product() -> Law:
    """Absolute values are spread over factors."""
    return Law(absolute(a * f[i]), absolute(a) * absolute(f[i]), ((i, n),))


@rule("absolute_cases")
def absolute_cases() -> Law:
    """Absolute values are taken apart."""
    return Law(f[i] - a, absolute(f[i] - a), ((i, n),), TRUE, "<=")


@rule("tangent")
def tangent() -> Law:
    """The exponential lies above its tangent at 0."""
    return Law(lift(1) + f[i] - a, exp(f[i] - a), ((i, n),), TRUE, "<=")


@rule("monotone")
def monotone() -> Law:
    """The logarithm keeps the order."""
    return Law(lift(1), exp(p[i]), ((i, n),), TRUE, "<=")


@rule("recurrence")
def recurrence() -> Law:
    """A recurrence is unfolded by one step."""
    return Law(running(w)[i + 1], tanh(running(w)[i] + w[i + 1]), ((i, n),))


@rule("hypothesis")
def hypothesis() -> Law:
    """What induction shows is put in."""
    still = running(each(lift(0), (j, n + 1)))
    return Law(still[i], lift(0), ((i, n + 1),), proof=derive().by_induction(i))


@rule("triangle")
def triangle() -> Law:
    """The triangle inequality."""
    total, sizes_ = Sum(w[j] - w[0], (j, 0, n)), Sum(absolute(w[j]) + absolute(w[0]), (j, 0, n))
    return Law(absolute(total), sizes_, (), TRUE, "<=")


@rule("logarithms")
def logarithms() -> Law:
    """Logarithms of products are sums."""
    return Law(log(p[i] * r[i] / p[j]), log(p[i]) + log(r[i]) - log(p[j]), ((i, n), (j, n)))


@rule("factor")
def factor() -> Law:
    """A common factor is taken out."""
    one = absolute(w[i])
    return Law(-one, one * absolute(w[0] - w[n]) - one * (w[0] - w[n]), ((i, n),), TRUE, "<=")


@rule("part")
def part() -> Law:
    """A sum is at least each of its terms."""
    return Law(exp(w[i]), Sum(exp(w[j]), (j, 0, n)), ((i, n),), TRUE, "<=")

"""Names: what two things of one name are to a prover that keys by name."""

import sympy

from spec.language import (
    Tensor,
    absolute,
    case,
    claim,
    cos,
    delta,
    exp,
    given,
    indices,
    le,
    lift,
    log,
    lt,
    sin,
    sqrt,
)
from spec.language.binders import Sum
from spec.positional.sinusoidal import sinusoidal
from tests.attack.board import F, a, category, f, i, j, l, m, n, ok

false = category("names")
M = {"made": True}

# Every word that the prover's own atoms may be called by: as a tensor, a number and a permutation, each takes its place.
WORDS = (
    "inverse",
    "function",
    "functionsin",
    "sin",
    "cos",
    "exp",
    "log",
    "root",
    "sqrt",
    "abs",
    "max",
    "sum",
    "ge",
    "eq",
    "state",
    "symbol",
    "entry",
    "power",
    "pi",
    "floor",
    "delta",
    "size",
)
for word in WORDS:
    perm = given(word, n, domain="permutation")
    real, array = given(word), given(word, n)
    false(
        f"a permutation called {word} is a quotient", lambda t=perm: claim(lift(t[i]) * i, "=", lift(i)), **M
    )
    false(
        f"a permutation called {word} is 1 over its index",
        lambda t=perm: claim(lift(t[i]), "=", 1 / lift(i), where=lt(0, i)),
        **M,
    )
    false(f"a tensor called {word} is the sine", lambda t=array: claim(t[i], "=", sin(lift(i))), **M)
    false(f"a tensor called {word} is the root", lambda t=array: claim(t[i] ** 2, "=", lift(i)), **M)
    false(f"a number called {word} is positive", lambda t=real: claim(0, "<", t), **M)
    false(
        f"a tensor called {word} has squares that sum to 1",
        lambda t=array: claim(t[i] ** 2 + cos(lift(i)) ** 2, "=", 1),
        **M,
    )
for word in (
    "functionsin",
    "functioncos",
    "function:sin",
    "functionexp",
    "functionlog",
    "functionsqrt",
    "functiontanh",
    "functionabs",
):
    one = given(word, n)
    head = word.removeprefix("function").strip(":")
    false(
        f"{word} is {head}",
        lambda t=one, h=head: claim(
            t[i],
            "=",
            {
                "sin": sin,
                "cos": cos,
                "exp": exp,
                "log": lambda v: log(v + 1),
                "sqrt": sqrt,
                "tanh": sin,
                "abs": absolute,
            }[h](lift(i)),
        ),
        **M,
    )
    false(f"{word} is between −1 and 1", lambda t=one: claim(t[i], "<=", 1), **M)
    false(f"{word} of 0 is 0", lambda t=one: claim(t[0], "=", 0), **M)

POSITIVE = Tensor("f", (n,), "positive", "given")
OTHER = Tensor("f", (n,), "real", "given")
INTEGER = Tensor("f", (n,), "integer", "given", 1)
SHORT = Tensor("f", (), "real", "given")
false("a positive f equals the real f", lambda: claim(POSITIVE[i], "=", f[i]), given=(), **M)
false(
    "a positive f is positive, so is the real one",
    lambda: claim(0, "<", f[i]).step(0 * POSITIVE[i], "so").below(POSITIVE[i], "so"),
    given=(),
    **M,
)
false(
    "an absolute value of the positive f",
    lambda: claim(absolute(f[i]), "=", f[i]).step(absolute(POSITIVE[i]), "so").step(POSITIVE[i], "so"),
    given=(),
    **M,
)
false("another real f equals f", lambda: claim(OTHER[i], "=", f[i]), given=(), **M)
false("another f, given, equals f", lambda: claim(OTHER[i], "=", f[i]), given=(OTHER,), **M)
false("an integer f equals the real f", lambda: claim(lift(INTEGER[i]), "=", f[i]), given=(), **M)
false("a scalar f equals the entry", lambda: claim(SHORT, "=", f[0]), given=(), **M)
false(
    "an undeclared positive tensor equals the given real one",
    lambda: claim(Tensor("a", (), "positive", "given"), "=", a),
    given=(a,),
    **M,
)
false(
    "an undeclared positive tensor lends its sign",
    lambda: claim(absolute(a), "=", Tensor("a", (), "positive", "given")),
    given=(a,),
    **M,
)
false(
    "two given tensors of one name", lambda: claim(given("twin"), "=", given("twin", domain="positive")), **M
)
false(
    "two given tensors of one name and shape",
    lambda: claim(given("twin", n)[i], "=", given("twin", n, domain="nonnegative")[i]),
    **M,
)

MM = indices(m=n)[0]
NN = indices(n=n)[0]
false("an index called m equals the size m", lambda: claim(lift(MM), "=", lift(m)), **M)
false("an index called m is below the size m", lambda: claim(lift(MM), "<", lift(m) + 0), **M)
false("a difference of an index called m and the size m", lambda: claim(lift(MM - m), "=", 0), **M)
false("an index called n is positive", lambda: claim(0, "<", lift(NN)), **M)
false("an index called n equals its size", lambda: claim(lift(NN), "=", lift(n)), **M)
false(
    "an index called n counts",
    lambda: claim(
        Sum(lift(1), (NN, 0, n - 1)),
        "=",
        Sum(lift(n) / n, (NN, 0, n - 1)) - delta(NN, 0) * 0 + lift(NN) - lift(n) + 0,
    ),
    **M,
)
false("a summed index called m", lambda: claim(Sum(lift(MM), MM), "=", lift(n * m)), **M)
false("a summed index called n", lambda: claim(Sum(lift(NN), NN), "=", lift(n**2)), **M)
I_M = indices(i=m)[0]
false("two indices called i of different size", lambda: claim(lift(i), "=", lift(I_M)), **M)
false(
    "two indices called i of different size, in entries",
    lambda: claim(F[i, I_M], "=", F[i, j] - F[i, j] + case(le(i, I_M) & le(I_M, i), F[i, I_M])),
    **M,
)
false(
    "a sum over two indices called i",
    lambda: claim(Sum(F[i, I_M], i, I_M), "=", Sum(case(lt(i, n), F[i, I_M] * delta(i, I_M)), i, I_M)),
    **M,
)
false("two indices called i count as one", lambda: claim(Sum(delta(i, I_M), i, I_M), "=", lift(n)), **M)

X = sympy.Symbol("x", real=True)
false("a real symbol as a size", lambda: claim(lift(X), "=", 0), **M)
false(
    "a positive real symbol as a size is at least 1",
    lambda: claim(1, "<=", lift(sympy.Symbol("x", positive=True))),
    **M,
)
false("a real symbol's square is at least itself", lambda: claim(lift(X), "<=", lift(X**2)), **M)
false("a real symbol as an index", lambda: claim(lift(X), "<=", lift(n)), **M)
false(
    "a nonnegative symbol is an integer",
    lambda: claim(
        lift(sympy.floor(sympy.Symbol("x", nonnegative=True))), "=", lift(sympy.Symbol("x", nonnegative=True))
    ),
    **M,
)
false(
    "two symbols of one name",
    lambda: claim(
        lift(sympy.Symbol("x", integer=True)), "=", lift(sympy.Symbol("x", integer=True, positive=True))
    ),
    **M,
)
false("a plain symbol called n", lambda: claim(lift(sympy.Symbol("n", integer=True)), "=", lift(n)), **M)
false(
    "a plain symbol called n is positive", lambda: claim(0, "<", lift(sympy.Symbol("n", integer=True))), **M
)
false("a real tensor as a condition", lambda: claim(case(f[i], 1, 0), "=", f[i]), meaningless=True, **M)
false("a real number as a condition", lambda: claim(case(a, a, 0), "=", a), meaningless=True, **M)
false(
    "a real tensor as a condition of a sum",
    lambda: claim(Sum(lift(1), l, where=f[l]), "=", Sum(f[l], l)),
    meaningless=True,
    **M,
)
false("a condition as a number is 1", lambda: claim(Sum(ok[l], l), "=", lift(n)), **M)
false("a condition's square is doubled", lambda: claim(ok[i] * ok[i], "=", 2 * ok[i]), **M)

B_ = given("b")
base = next(iter(sinusoidal.constants))
false("a caller's b is the base", lambda: claim(B_, "=", base), sinusoidal, given=(B_,), **M)
false(
    "a caller's b is larger than 1",
    lambda: claim(1, "<", Tensor("b", (), "positive", "given")),
    sinusoidal,
    **M,
)
false(
    "a caller's b is ten thousand",
    lambda: claim(B_, "=", 10000),
    sinusoidal,
    given=(B_,),
    conventions={"layout": "interleaved"},
    **M,
)

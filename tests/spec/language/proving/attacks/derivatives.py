"""Derivatives: none is taken at the edge of a domain, or where a condition on the input changes."""

from __future__ import annotations

from typing import Any

from spec.language import (
    Formula,
    Max,
    Sum,
    absolute,
    case,
    data,
    define,
    delta,
    each,
    given,
    le,
    lift,
    log,
    lt,
    number,
    parameter,
    sqrt,
    tensor,
)
from tests.spec.language.proving.attacks.attack import Attack, related
from tests.spec.language.proving.claims import a, i, j, n

e_, v = number("v", domain="positive"), number("v", domain="nonnegative")
u = number("v")
x, y, s, c = data("x", n), tensor("y"), tensor("h", n + 1), tensor("c", n)
w = parameter("w", n, domain="nonnegative")
EDGE = "> 0|≠ 0|≥ 0|differentiable|derivative"


def _of(name, line, *inputs, outputs=(y,)):
    lines = line if isinstance(line, tuple) else (define(y, line),)
    return Formula(f"test.attacks.{name}", name, inputs, lines, outputs, auxiliary=True)


ROOT, LOG, OVER = _of("root", sqrt(e_), e_), _of("log", log(e_), e_), _of("over", 1 / e_, e_)
ANY_ROOT, ANY_LOG, ANY_OVER = (
    _of("any_root", sqrt(u), u),
    _of("any_log", log(u), u),
    _of("any_over", 1 / u, u),
)
FLAT, ABSOLUTE, POWER = (
    _of("flat", v * sqrt(v), v),
    _of("absolute", absolute(v), v),
    _of("power", e_ ** (lift(1) / 2), e_),
)
SUM_ROOT = _of("sum_root", sqrt(Sum(x[i] ** 2, (i, n)) + e_), x, e_)
COUNT = _of("count", Sum(case(lt(0, x[i]), 1), (i, n)), x)
RECTIFIED = _of("rectified", Sum(case(lt(0, x[i]), x[i]), (i, n)), x)
LARGEST = _of("largest", Max(x[i], (i, n)), x)
NORM = _of("norm", sqrt(Sum(x[i] ** 2, (i, n))), x)
SIZE = _of("size", Sum(absolute(x[i]), (i, n)), x)
SIZES = _of("sizes", Sum(absolute(w[i]), (i, n)), w)
RUNNING = _of(
    "running", (define(s[0], lift(0)), define(s[i], s[i - 1] + sqrt(w[i - 1]), (i, 1, n))), w, outputs=(s,)
)
COUNTING = _of(
    "counting",
    (define(s[0], lift(0)), define(s[i], s[i - 1] + absolute(w[i - 1]), (i, 1, n))),
    w,
    outputs=(s,),
)
SCALING = _of(
    "scaling",
    (define(s[0], lift(1)), define(s[i], s[i - 1] * log(e_) + x[i - 1], (i, 1, n))),
    x,
    e_,
    outputs=(s,),
)


def slope(formula: Formula, wrt: str, *inputs: Any) -> Any:
    """The derivative of a formula's value by an input."""
    return formula(*inputs).pullback(lift(1), wrt)


q = given("q", n, domain="nonnegative")

DERIVATIVES = (
    Attack(
        "the derivative of a root at 0 is 0",
        ROOT,
        lambda: related(slope(ROOT, "v", e_), "=", 0, at={e_: 0}),
        EDGE,
    ),
    Attack(
        "the derivative of a logarithm at 0 is 0",
        LOG,
        lambda: related(slope(LOG, "v", e_), "=", 0, at={e_: 0}),
        EDGE,
    ),
    Attack(
        "the derivative of a reciprocal at 0 is 0",
        OVER,
        lambda: related(slope(OVER, "v", e_), "=", 0, at={e_: 0}),
        EDGE,
    ),
    Attack(
        "the derivative of a power of 1/2 at 0 is 0",
        POWER,
        lambda: related(slope(POWER, "v", e_), "=", 0, at={e_: 0}),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of a reciprocal below 0, of a positive input",
        OVER,
        lambda: related(slope(OVER, "v", e_), "=", -1, at={e_: -1}),
        "v is fixed to -1, but is positive",
        shown=False,
    ),
    Attack(
        "the derivative of a reciprocal at 0, of any input, is 0",
        ANY_OVER,
        lambda: related(slope(ANY_OVER, "v", u), "=", 0, at={u: 0}),
        EDGE,
    ),
    Attack(
        "the derivative of a root below 0 is 0",
        ANY_ROOT,
        lambda: related(slope(ANY_ROOT, "v", u), "=", 0, at={u: -1}),
        EDGE,
    ),
    Attack(
        "the derivative of a logarithm below 0",
        ANY_LOG,
        lambda: related(slope(ANY_LOG, "v", u), "=", -1, at={u: -1}),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of a root with nothing under it",
        SUM_ROOT,
        lambda: related(slope(SUM_ROOT, "v", x, e_), "=", 0, at={e_: 0, x: 0}),
        EDGE,
    ),
    Attack(
        "the derivative of a root by what is added is half its reciprocal, without it",
        SUM_ROOT,
        lambda: related(2 * slope(SUM_ROOT, "v", x, e_) * SUM_ROOT(x, e_), "=", 1, at={e_: 0}),
        EDGE,
    ),
    Attack(
        "the derivative of |v| at 0 is 1",
        ABSOLUTE,
        lambda: related(slope(ABSOLUTE, "v", v), "=", 1, at={v: 0}),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of |v| is 1 where v may be 0",
        ABSOLUTE,
        lambda: related(slope(ABSOLUTE, "v", v), "=", 1),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of |v| at an argument of 0 is 1",
        ABSOLUTE,
        lambda: related(slope(ABSOLUTE, "v", lift(0)), "=", 1),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of |v| at a square is 1",
        ABSOLUTE,
        lambda: related(slope(ABSOLUTE, "v", a**2), "=", 1, given=(a,)),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of v√v where v may be 0",
        FLAT,
        lambda: related(slope(FLAT, "v", v), "=", lift(3) / 2 * sqrt(v)),
        EDGE,
    ),
    Attack(
        "the derivative of a sum of absolute values of what may be 0",
        SIZES,
        lambda: related(slope(SIZES, "w", w)[j], "=", 1, (j, n)),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of a sum of absolute values",
        SIZE,
        lambda: related(slope(SIZE, "x", x)[j], "=", 1, (j, n)),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of the number of positive entries is 0",
        COUNT,
        lambda: related(slope(COUNT, "x", x)[j], "=", 0, (j, n)),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of the sum of positive entries",
        RECTIFIED,
        lambda: related(slope(RECTIFIED, "x", x)[j], "=", case(lt(0, x[j]), 1), (j, n)),
        EDGE,
        shown=False,
    ),
    Attack(
        "the same, fixed to 0",
        RECTIFIED,
        lambda: related(slope(RECTIFIED, "x", x)[j], "=", 0, (j, n), at={x: 0}),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of a maximum",
        LARGEST,
        lambda: related(Sum(slope(LARGEST, "x", x)[j], (j, n)), "=", 1),
        EDGE,
        shown=False,
    ),
    Attack(
        "the derivative of a norm at 0",
        NORM,
        lambda: related(slope(NORM, "x", x)[j], "=", 0, (j, n), at={x: 0}),
        EDGE,
    ),
    Attack(
        "the derivative of a norm of what may be 0",
        NORM,
        lambda: related(slope(NORM, "x", x)[j] * NORM(x), "=", x[j], (j, n)),
        EDGE,
    ),
    Attack(
        "the derivative of |w| in a recurrence, where w may be 0",
        COUNTING,
        lambda: related(COUNTING(w).pullback(each(delta(i, 1), (i, n + 1)), "w")[0], "=", 1),
        EDGE + "|differ",
        shown=False,
    ),
    Attack(
        "the derivative of √w in a recurrence, at 0",
        RUNNING,
        lambda: related(RUNNING(w).pullback(each(delta(i, 1), (i, n + 1)), "w")[0], "=", 0, at={w: 0}),
        EDGE + "|differ",
    ),
    Attack(
        "the derivative of √w in a recurrence, where w may be 0",
        RUNNING,
        lambda: related(RUNNING(w).pullback(each(delta(i, 1), (i, n + 1)), "w")[0] * sqrt(w[0]) * 2, "=", 1),
        EDGE + "|differ",
    ),
    Attack(
        "the derivative of a power of a logarithm in a recurrence, at 0",
        SCALING,
        lambda: related(SCALING(x, e_).pullback(each(delta(i, 1), (i, n + 1)), "v")[()], "=", 0, at={e_: 0}),
        EDGE + "|differ",
    ),
    Attack(
        "the derivative under an assumption that holds on an edge",
        NORM,
        lambda: related(slope(NORM, "x", x)[j], "=", 0, (j, n), where=le(x[j], 0)),
        EDGE,
    ),
)

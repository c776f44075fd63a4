"""The error function: odd, below 1, steepest at 0, and nothing more."""

from sympy import pi

from spec.language import absolute, case, claim, erf, exp, lift, lt, sqrt, tanh
from spec.language.binders import Sum
from tests.attack.board import a, b, c, category, f, g, i, l, mapped, n, s

false = category("errors")
U = {"undefined": True}
curved, x_erf = mapped("erf", erf)
doubled, x_erf2 = mapped("erf2", lambda v: erf(2 * v))
times, x_times = mapped("gelu", lambda v: v * (1 + erf(v / sqrt(lift(2)))) / 2)
slope = 2 / sqrt(lift(pi)) * exp(-(f[i] ** 2))

false("erf is even", lambda: claim(erf(-a), "=", erf(a)))
false("erf of a difference", lambda: claim(erf(a - b), "=", erf(b - a)))
false("erf at 0 is 1", lambda: claim(erf(lift(0)), "=", 1))
false("erf is positive", lambda: claim(0, "<", erf(a)))
false("erf of a square is positive", lambda: claim(0, "<", erf(a**2)))
false("erf is at most its argument", lambda: claim(erf(a), "<=", a))
false("erf is at most its argument's size", lambda: claim(absolute(erf(a)), "<=", absolute(a)))
false("erf is at most tanh", lambda: claim(erf(c), "<=", tanh(c)))
false("erf grows without bound", lambda: claim(1, "<", erf(s)))
false("erf is at most a half", lambda: claim(absolute(erf(a)), "<=", lift(1) / 2))
false("a multiple of erf, strictly", lambda: claim(a * erf(b), "<", absolute(a)))
false("two erfs", lambda: claim(erf(a) + erf(b), "<=", 1))
false("a square of erf", lambda: claim(erf(a) ** 2, "=", erf(a**2)))
false("a product of erfs", lambda: claim(erf(a) * erf(b), "<=", erf(a * b)))
false("erf over its argument", lambda: claim(erf(a) / a, "<=", 2), **U)
false("erf over itself", lambda: claim(erf(a) / erf(a), "=", 1), **U)
false("erf of a case", lambda: claim(erf(case(lt(0, a), a, -a)), "=", erf(a)))
false("erf of a sum", lambda: claim(erf(Sum(f[l], l)), "=", Sum(erf(f[l]), l)))
false("a sum of erfs", lambda: claim(Sum(erf(f[l]), l), "<", lift(n) - 1))
false("erf at 1", lambda: claim(erf(lift(1)), "<=", lift(21) / 25))
false(
    "the slope of erf without its factor",
    lambda: claim(curved(f).pullback(g, x_erf)[i], "=", g[i] * exp(-(f[i] ** 2))),
)
false(
    "the slope of erf as of the normal law",
    lambda: claim(curved(f).pullback(g, x_erf)[i], "=", g[i] * 2 / sqrt(lift(pi)) * exp(-(f[i] ** 2) / 2)),
)
false(
    "the slope of erf by π",
    lambda: claim(curved(f).pullback(g, x_erf)[i], "=", g[i] * 2 / lift(pi) * exp(-(f[i] ** 2))),
)
false("the slope of erf, twice", lambda: claim(doubled(f).pullback(g, x_erf2)[i], "=", 2 * g[i] * slope))
false("the slope of erf is at most 1", lambda: claim(slope, "<=", 1))
false(
    "the slope of erf as of tanh",
    lambda: claim(curved(f).pullback(g, x_erf)[i], "=", g[i] * (1 - erf(f[i]) ** 2)),
)
false("a GELU is at least 0", lambda: claim(0, "<=", times(f)[i]))
false("a GELU is at most its argument", lambda: claim(times(f)[i], "<=", f[i]))
false("a GELU is a rectifier", lambda: claim(times(f)[i], "=", case(lt(0, f[i]), f[i], 0)))
false(
    "the slope of a GELU",
    lambda: claim(times(f).pullback(g, x_times)[i], "=", g[i] * (1 + erf(f[i] / sqrt(lift(2)))) / 2),
)

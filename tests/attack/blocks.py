"""Blocks: quotient and remainder of indices, parts of arrays, rounding."""

from sympy import Rational, ceiling, floor

from spec.language import claim, delta, given, indices, lift, rounded, sizes
from spec.language.binders import Sum
from tests.attack.board import a, b, category, f, i, l, m, n

false = category("blocks")
U = {"undefined": True}
h, w = sizes("h w")
X = given("X", h * w)
Y = given("Y", 2 * n)
s, t, e = indices(s=h, t=w, e=h * w)
o = indices(o=2 * n)[0]

false("a block and its place swapped", lambda: claim(X[s * w + t], "=", X[t * h + s]))
false("a sum over blocks, one short", lambda: claim(Sum(X[e], e), "=", Sum(X[s * w + t], s, (t, 0, w - 2))))
false("a sum over blocks of the wrong width", lambda: claim(Sum(X[e], e), "=", Sum(X[s * h + t], s, t)), **U)
false("a sum over the first block", lambda: claim(Sum(X[e], e), "=", Sum(X[t], t)))
false("the block of an index", lambda: claim(lift(floor((s * w + t) / w)), "=", lift(t)))
false("the block of an index, rounded up", lambda: claim(lift(ceiling((s * w + t) / w)), "=", lift(s)))
false("the block of the next index", lambda: claim(lift(floor((s * w + t + 1) / w)), "=", lift(s)))
false("the block of an index less one", lambda: claim(lift(floor((s * w + t - 1) / w)), "=", lift(s)))
false("the block of an index of negative width", lambda: claim(lift(floor((-s * w - t) / w)), "=", lift(-s)))
false("blocks of negative width", lambda: claim(lift(floor(i / (-n))), "=", 0))
false("blocks of negative width, twice", lambda: claim(lift(floor((i + n) / (-n))), "=", -1))
false("blocks of negative width, of a place", lambda: claim(lift(floor((s * w + t) / (-w))), "=", lift(-s)))
false("blocks of a width that may be negative", lambda: claim(lift(floor(i / (n - m))), "=", 0), **U)
false("blocks of a width that may be 0", lambda: claim(lift(floor(i / (n - 1))), "=", 0), **U)
false("blocks of a width that is negated", lambda: claim(lift(floor((-l) / n)), "=", 0))
false("blocks of a width less one", lambda: claim(lift(floor(i / n)), "=", 1))
false("blocks of another size", lambda: claim(lift(floor(i / m)), "=", 0))
false("blocks of a width and one", lambda: claim(lift(floor((s * (w + 1) + t + 2) / (w + 1))), "=", lift(s)))
false("blocks of a width and one, of one", lambda: claim(lift(floor((s * w + t) / (w + 1))), "=", lift(s)))
false("rounding down halves", lambda: claim(lift(2 * floor(n / 2)), "=", lift(n)))
false("rounding up halves", lambda: claim(lift(2 * ceiling(n / 2)), "=", lift(n)))
false("rounding up halves adds one", lambda: claim(lift(2 * ceiling(n / 2)), "=", lift(n + 1)))
false("halves rounded both ways", lambda: claim(lift(ceiling(n / 2)), "=", lift(floor(n / 2))))
false("halves rounded up are below", lambda: claim(lift(ceiling(n / 2)), "<", lift(n)))
false("halves rounded down are positive", lambda: claim(0, "<", lift(floor(n / 2))))
false("a sum's halves", lambda: claim(lift(floor((n + m) / 2)), "=", lift(floor(n / 2) + floor(m / 2))))
false("a third of a half", lambda: claim(lift(floor(n / 3)), "=", lift(floor(n / 2)) * Rational(2, 3)))
false("even and odd entries", lambda: claim(Sum(Y[o], o), "=", Sum(Y[2 * i], i)))
false(
    "even and odd entries, shifted",
    lambda: claim(Sum(Y[o], o), "=", Sum(Y[2 * i], i) + Sum(Y[2 * i + 2], i)),
    **U,
)
false(
    "even and odd entries of an odd length",
    lambda: claim(Sum(f[l], l), "=", Sum(f[2 * l] + f[2 * l + 1], (l, 0, floor(n / 2) - 1))),
)
false(
    "the last of even entries",
    lambda: claim(Sum(f[2 * l], (l, 0, floor(n / 2))), "=", Sum(f[2 * l], (l, 0, floor((n - 1) / 2)))),
    **U,
)
false("two halves side by side, swapped", lambda: claim(Sum(Y[i], i), "=", Sum(Y[n + i], i)))
false(
    "two halves side by side, one off", lambda: claim(Sum(Y[o], o), "=", Sum(Y[i], i) + Sum(Y[n + i - 1], i))
)
false("a part of an array, one further", lambda: claim(Sum(Y[1 : n + 1][i], i), "=", Sum(Y[:n][i], i)))
false("a part of an array, past its end", lambda: claim(Y[n : 3 * n][o], "=", Y[n : 3 * n][o]), **U)
false(
    "a part of an array of negative length",
    lambda: claim(Sum(f[l], (l, n, m - 1)), "=", -Sum(f[l], (l, m, n - 1))),
    **U,
)
false("a delta by blocks", lambda: claim(Sum(delta(e, s * w + t), e), "=", 2 - delta(s, s) + delta(s, t)))
false("a delta of blocks", lambda: claim(delta(floor(e / w), s), "=", 1))
false("rounding is the number", lambda: claim(rounded(a), "=", a))
false("rounding is at most the number", lambda: claim(rounded(a), "<=", a))
false("rounding a sum", lambda: claim(rounded(a + b), "=", rounded(a) + rounded(b)))
false("rounding halves upwards", lambda: claim(rounded(lift(n) + Rational(1, 2)), "=", lift(n + 1)))

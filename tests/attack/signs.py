"""Signs: what is positive, nonnegative or of unknown sign."""

from spec.language import (
    absolute,
    case,
    claim,
    cos,
    delta,
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
from spec.language.binders import Every, Sum
from tests.attack.board import B, F, G, a, b, c, category, f, g, i, j, l, m, n, ok, p, q, s, y, z

false = category("signs")

false("a square is positive", lambda: claim(0, "<", a**2))
false("a nonnegative number is positive", lambda: claim(0, "<", s))
false("an entry that may be 0 is positive", lambda: claim(0, "<", q[i]))
false("an even power is positive", lambda: claim(0, "<", f[i] ** 4))
false("a cube is at least 0", lambda: claim(0, "<=", a**3))
false("a fifth power is at least 0", lambda: claim(0, "<=", f[i] ** 5))
false("a product is at least 0", lambda: claim(0, "<=", a * b))
false("a product of three squares less one factor", lambda: claim(0, "<=", a**2 * b**2 * z))
false("an absolute value is positive", lambda: claim(0, "<", absolute(a)))
false("an absolute value is the number", lambda: claim(absolute(a), "=", a))
false("an absolute value is at most the number", lambda: claim(absolute(f[i]), "<=", f[i]))
false("the absolute value of a difference", lambda: claim(absolute(a - b), "=", absolute(a) - absolute(b)))
false(
    "the absolute value of a sum of numbers", lambda: claim(absolute(a + b), "=", absolute(a) + absolute(b))
)
false("tanh is at least 0", lambda: claim(0, "<=", tanh(a)))
false("tanh is below one half", lambda: claim(tanh(a), "<", lift(1) / 2))
false("sigmoid is at least one half", lambda: claim(lift(1) / 2, "<=", sigmoid(a)))
false("erf is at least 0", lambda: claim(0, "<=", erf(a)))
false("erf is below one half", lambda: claim(erf(a), "<", lift(1) / 2))
false("1 + erf is above 1", lambda: claim(1, "<", 1 + erf(a)))
false("sigmoid exceeds a tanh", lambda: claim(tanh(a), "<", sigmoid(a) - lift(1) / 4))
false("a sine is at least 0", lambda: claim(0, "<=", sin(a)))
false("a cosine is positive", lambda: claim(0, "<", cos(a)))
false("sin² is below 1 less cos²", lambda: claim(sin(a) ** 2, "<", 1 - cos(a) ** 2))
false("an exponential is at least 1", lambda: claim(1, "<=", exp(a)))
false("an exponential of a square exceeds 1", lambda: claim(1, "<", exp(a**2)))
false("a logarithm is positive", lambda: claim(0, "<", log(c)))
false("a logarithm of a positive entry is at least 0", lambda: claim(0, "<=", log(p[i])))
false("a root is positive", lambda: claim(0, "<", sqrt(s)))
false("a positive number is at least 1", lambda: claim(1, "<=", c))
false("a positive entry is at least its square", lambda: claim(p[i] ** 2, "<=", p[i]))
false("a difference of positives is positive", lambda: claim(0, "<", p[i] - p[l]))
false("a difference of sizes is at least 0", lambda: claim(0, "<=", lift(n - m)))
false("a size exceeds 1", lambda: claim(1, "<", lift(n)))
false("a size is at most four", lambda: claim(lift(n), "<=", 4))
false("a sum of sizes is at most seven", lambda: claim(lift(n + m), "<=", 7))
false("an index is positive", lambda: claim(0, "<", lift(i)))
false("an index is below its size less one", lambda: claim(lift(i), "<", lift(n - 1)))
false("a product of indices less one is at least 0", lambda: claim(0, "<=", lift(i * l - 1)))
false("a quadratic without a root", lambda: claim(0, "<", a**2 - 2 * a + 1))
false("a quadratic in two numbers", lambda: claim(0, "<=", a**2 + 3 * a * b + b**2))
false("a square of a difference is positive", lambda: claim(0, "<", (a - b) ** 2))
false("twice a mean of squares", lambda: claim(a**2 + b**2, "<=", (a + b) ** 2))
false("a positive fraction of a real", lambda: claim(0, "<=", a / c))
false("one over one plus a square exceeds a half", lambda: claim(lift(1) / 2, "<", 1 / (1 + a**2)))
false("a delta is positive", lambda: claim(0, "<", delta(i, l)))
false("one less a delta is positive", lambda: claim(0, "<", 1 - delta(i, l)))
false("a condition counts as 1", lambda: claim(0, "<", case(B[i, j], lift(1))))
false("a case of a positive is positive", lambda: claim(0, "<", case(ok[i], p[i])))
false("a case of signs", lambda: claim(0, "<=", case(lt(0, a), b, a**2)))
false("a rectified number is positive", lambda: claim(0, "<", case(lt(0, a), a)))
false("a sign known elsewhere", lambda: claim(0, "<=", a * b), assuming=(le(0, a),))
false("a sign of one entry taken for all", lambda: claim(0, "<=", f[i]), assuming=(le(0, f[0]),))
false("a sign of a sum taken for its terms", lambda: claim(0, "<=", f[i]), assuming=(le(0, Sum(f[l], l)),))
false("a sign assumed for another tensor", lambda: claim(0, "<", g[i]), assuming=(Every(lt(0, f[l]), l),))
false("a product of signs assumed", lambda: claim(0, "<", a), assuming=(lt(0, a * b),))
false("a square assumed positive", lambda: claim(0, "<", a), assuming=(lt(0, a**2),))
false("a weak sign assumed", lambda: claim(0, "<", a), assuming=(le(0, a),))
false("a sign of a difference assumed", lambda: claim(0, "<", a), assuming=(lt(b, a),))
false("a quotient below its numerator", lambda: claim(1 / c, "<=", 1))
false("a sum with a real is positive", lambda: claim(0, "<", c + a))
false("a sum of squares is positive", lambda: claim(0, "<", Sum(f[i] ** 2, i)))
false("a restricted sum of positives is positive", lambda: claim(0, "<", Sum(p[i], i, where=ok[i])))
false("a sum before an index is positive", lambda: claim(0, "<", Sum(p[l], (l, 0, i - 1))))
false("a sum of rows is at least 0", lambda: claim(0, "<=", Sum(F[i, j] * G[i, j], j)))
false("a product with a square root", lambda: claim(0, "<", sqrt(s) * c))
false("a positive below a nonnegative", lambda: claim(c, "<=", c + s - 1))
false("a product of two negatives less one", lambda: claim(1, "<=", a * a))
false("an entry of another row", lambda: claim(y[j] ** 2, "<", y[j] ** 2 + q[i]))
for number in (1, 2, 3, 5):
    false(
        f"a square exceeds {number} times the number",
        lambda k=number: claim(k * a, "<", a**2 + 1 if k > 2 else a**2),
    )

"""Powers: exponents that are sizes or indices, bases that may be 0 or negative."""

from spec.language import (
    Formula,
    absolute,
    claim,
    data,
    define,
    eq,
    exp,
    given,
    indices,
    le,
    lift,
    log,
    sizes,
    sqrt,
    tensor,
)
from spec.language.binders import Max, Sum
from tests.attack.board import a, b, c, category, f, i, l, m, n, p

false = category("powers")
U = {"undefined": True}

EXPONENTS = {
    "n": n,
    "n + 1": n + 1,
    "2n − 1": 2 * n - 1,
    "an index": i,
    "an index plus 1": i + 1,
    "n + m": n + m,
}
for name, k in EXPONENTS.items():
    false(f"a real to the power {name} is positive", lambda k=k: claim(0, "<", a**k + 0 * lift(i)))
    false(f"a real to the power {name} is at least 0", lambda k=k: claim(0, "<=", a**k + 0 * lift(i)))
    false(f"an entry to the power {name} is positive", lambda k=k: claim(0, "<", f[i] ** k))
    false(
        f"0 < a by way of entries to the power {name}",
        lambda k=k: (
            claim(0, "<", a + 0 * lift(i))
            .step(a * f[i] ** k / f[i] ** k - a, "a power is not 0")
            .because("so")
        ),
        **U,
    )
    false(f"a real over its power {name}", lambda k=k: claim(a**k / a**k + 0 * lift(i), "=", 1), **U)
    false(
        f"the root of the square of a power {name}",
        lambda k=k: claim(sqrt((a**k) ** 2) + 0 * lift(i), "=", a**k),
    )
    false(f"the absolute value of a power {name}", lambda k=k: claim(absolute(f[i] ** k), "=", f[i] ** k))
    false(f"a power {name} of a product, half of it", lambda k=k: claim((2 * f[i]) ** k, "=", 2 * f[i] ** k))
false("a power of a sum", lambda: claim((a + b) ** n, "=", a**n + b**n))
false("a power of a power", lambda: claim((c**n) ** m, "=", c ** (n + m)))
false("a product of powers", lambda: claim(c**n * c**m, "=", c ** (n * m)))
false("a power of a quotient", lambda: claim((c / p[i]) ** n, "=", c**n / p[i]))
false("a power plus one is larger", lambda: claim(c**n, "<=", c ** (n + 1)))
false("a power plus one is smaller", lambda: claim(c ** (n + 1), "<=", c**n))
false("a power grows with its base, reals", lambda: claim(a**2, "<=", b**2), assuming=(le(a, b),))
false("an even power by a doubled size is positive", lambda: claim(0, "<", a ** (2 * n)))
false("an odd power by a doubled size", lambda: claim(0, "<=", a ** (2 * n + 1)))
false("a power at size 1", lambda: claim(a**n, "=", a))
false("a power of minus one is 1", lambda: claim(lift(-1) ** n, "=", 1))
false("a power of minus one is minus one", lambda: claim(lift(-1) ** i, "=", -1))
false("a power of minus one is positive", lambda: claim(0, "<", lift(-1) ** n))
false("a power of a negative is negative", lambda: claim((-c) ** n, "<", 0))
false("a negative leaves a power", lambda: claim((-a) ** n, "=", -(a**n)))
false("a negative vanishes in a power", lambda: claim((-f[i]) ** i, "=", f[i] ** i))
false("0 to a power of an index is 0", lambda: claim(lift(0) ** i, "=", 0))
false("0 to a power of an index is 1", lambda: claim(lift(0) ** i, "=", 1))
false("a power of an index at 0", lambda: claim(a**i, "=", a * a ** (i - 1)), **U)
false("a negative power of a real", lambda: claim(a ** (-n) * a**n, "=", 1), **U)
false("a power minus one", lambda: claim(a ** (n - 1) * a, "=", a ** (n + 1)))
false("the exponential of n logarithms", lambda: claim(exp(n * log(c)), "=", n * c))
false("the logarithm of a power", lambda: claim(log(c**n), "=", log(c) ** n))
false("a geometric bound", lambda: claim(c**n, "<=", 1), assuming=(le(c, 2),))
false("a power of a root", lambda: claim(sqrt(c) ** n, "=", c**n))
false("a power of a root of a square", lambda: claim(sqrt(a**2) ** n, "=", a**n))
false("the square of a square root of a sum", lambda: claim(sqrt(a**2 + b**2) ** 2, "=", (a + b) ** 2))
false("a power of a sum over entries", lambda: claim(Sum(p[l], l) ** n, "=", Sum(p[l] ** n, l)))
false("entries' powers are positive, summed", lambda: claim(0, "<", Sum(f[l] ** n, l)))
false("a power with a size fixed to 1", lambda: claim(0, "<", a**n), sizes={n: 1})
false("a power with a size fixed to 3", lambda: claim(0, "<=", a**n), sizes={n: 3})
false("a power with a size fixed to 2", lambda: claim(0, "<", a**n), sizes={n: 2})
false("a power with a size fixed to 1 is its square", lambda: claim(a**n, "=", a**2), sizes={n: 1})
false("a power through an index over a size of 1", lambda: claim(0, "<", a ** (i + 1)), sizes={n: 1})
false("Bernoulli's inequality for reals", lambda: claim(1 + n * a, "<=", (1 + a) ** n))
false("a product of a power and its base is positive", lambda: claim(0, "<", f[i] ** n * f[i]))
false("a product of a power and itself is positive", lambda: claim(0, "<", f[i] ** n * f[i] ** n))
false("half powers", lambda: claim(c ** (lift(1) / 2), "=", c / 2))
false("a cube root's cube of a real", lambda: claim(absolute(a) ** (lift(1) / 3), "=", a / 3))

# Exponents that become numbers: sizes at which a formula is applied ----------------------------------------------------------

d = sizes("d")[0]
row = data("row", d)
y = tensor("y", d)
e = indices(e=d)[0]
raised = Formula("test.attack_raised", "", (row,), (define(y[e], row[e] ** d),), (y,), auxiliary=True)
one, two, three = (given(f"v{k}", k) for k in (1, 2, 3))
for k, v in ((1, one), (3, three)):
    whole = lambda v=v: raised(v)[0]  # noqa: E731
    false(f"a row of {k} raised to its length is positive", lambda w=whole: claim(0, "<", w()), **U)
    false(
        f"a row of {k} raised to its length is its absolute value",
        lambda w=whole: claim(absolute(w()), "=", w()),
        **U,
    )
    false(
        f"a row of {k} raised to its length, by two steps",
        lambda w=whole, v=v, k=k: claim(0, "<", v[0] ** k).below(w(), "so").because("so"),
    )
    false(
        f"a row of {k} raised to its length is the root of its square",
        lambda w=whole, v=v, k=k: claim(sqrt(v[0] ** (2 * k)), "=", w()),
        **U,
    )
for width in (1, 3):
    fixed = {"sizes": {n: width}}
    false(
        f"a power with a size fixed to {width} is its absolute value",
        lambda: claim(absolute(a**n), "=", a**n),
        **fixed,
    )
    false(
        f"a power with a size fixed to {width} is the root of its square",
        lambda: claim(sqrt(a ** (2 * n)), "=", a**n),
        **fixed,
    )
    false(
        f"0 < a by a power with a size fixed to {width}",
        lambda k=width: claim(0, "<", a**k).below(a**n, "so").because("so"),
        **fixed,
    )
    false(
        f"0 ≤ an entry by a power with a size fixed to {width}",
        lambda k=width: claim(0, "<=", f[i] ** k).at_most(f[i] ** n, "so").because("so"),
        **fixed,
    )
    false(f"a sum of powers with a size fixed to {width}", lambda: claim(0, "<", Sum(f[l] ** n, l)), **fixed)
    false(
        f"a quotient of powers with a size fixed to {width}", lambda: claim(a**n / a**n, "=", 1), **fixed, **U
    )
    false(
        f"a root of a power with a size fixed to {width}",
        lambda: claim(sqrt(a**n) ** 2, "=", a**n),
        **fixed,
        **U,
    )
    false(
        f"a logarithm of a power with a size fixed to {width}",
        lambda: claim(log(a**n), "=", log(a**n)),
        **fixed,
        **U,
    )
    false(
        f"a maximum of powers with a size fixed to {width}", lambda: claim(0, "<", Max(f[l] ** n, l)), **fixed
    )
false("a power of an index that is 1", lambda: claim(0, "<", a**i, where=eq(i, 1)))
false(
    "a power of an index that is 1, by its base",
    lambda: claim(0, "<", a, where=eq(i, 1)).below(a**i, "so").because("so"),
)
false("a power of an index over one value", lambda: claim(0, "<", a ** (i + 1)).because("so"), sizes={n: 1})

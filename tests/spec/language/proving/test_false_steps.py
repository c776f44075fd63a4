"""Rules misused: what they do not allow is refused."""

from __future__ import annotations

import pytest

from spec.language import (
    Formula,
    Max,
    Some,
    Sum,
    Theorem,
    case,
    claim,
    define,
    delta,
    each,
    exp,
    given,
    indices,
    lift,
    lt,
    sin,
    sqrt,
)
from tests.spec.language.proving.claims import (
    B,
    F,
    Register,
    a,
    anything,
    equal,
    f,
    i,
    j,
    l,
    m,
    n,
    out,
    p,
    pi,
    r,
    refused,
    register_in,
    z,
)

FALSE: Register = {}
false = register_in(FALSE)

# Rules misused ------------------------------------------------------------------------------------------------------------


@false("Z/Z is 1", anything, "z ≠ 0")
def _() -> Theorem:
    return equal(z / z, 1, given=(z,))


@false("Z/Z is 1 under a guard that says nothing of Z", anything, "z ≠ 0")
def _() -> Theorem:
    return equal(case(B[i, j], z / z), case(B[i, j], 1), (i, n), (j, m), given=(z, B))


@false("division by a difference of sizes", anything, "n − m|n-m|-m")
def _() -> Theorem:
    return equal(lift(n - m) * a / lift(n - m), a, given=(a,))


@false("a sum over a range that may be empty is not 0", anything, "≠ 0")
def _() -> Theorem:
    rest = Sum(p[j], (j, i + 1, n - 1))
    return equal(rest / rest, 1, (i, n), given=(p,))


@false("a restricted sum with a permitted index in another row", anything, "≠ 0")
def _() -> Theorem:
    kept = Sum(lift(1), (j, 0, m - 1), where=B[i, j])
    return equal(kept / kept, 1, (i, n), where=Some(B[0, j], (j, 0, m - 1)), given=(B,))


@false("a delta collapsed out of range", anything, "the two sides differ by|stays in")
def _() -> Theorem:
    return equal(Sum(delta(j, i + 1) * f[j], (j, 0, n - 1)), f[i + 1], (i, n))


@false("a delta collapsed at the end of the range", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(delta(j, i + 1), (j, 0, n - 1)), 1, (i, n))


@false("capture of a bound index", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(f[i] * f[j], (j, 0, n - 1)), Sum(f[j] * f[j], (j, 0, n - 1)), (i, n))


@false("capture by an inner sum of the same name", anything, "the two sides differ by")
def _() -> Theorem:
    nested = Sum(f[j] * Sum(f[j], (j, 0, n - 1)), (j, 0, n - 1))
    return equal(nested, Sum(Sum(f[j] * f[j], (j, 0, n - 1)), (j, 0, n - 1)))


@false("a derivative that captures its index", anything, "the two sides differ by")
def _() -> Theorem:
    square = Formula(
        "test.square", "", (f,), (define(out[i], Sum(f[j] ** 2, (j, 0, n - 1))),), (out,), auxiliary=True
    )
    pulled = square(f).pullback(each(delta(i, r), (i, n)), "f")[j]
    return equal(pulled, Sum(2 * f[j], (j, 0, n - 1)), (r, n), (j, n))


@false("a product of sums taken as a sum of products", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(f[j], (j, 0, n - 1)) ** 2, Sum(f[j] ** 2, (j, 0, n - 1)))


@false("a factor that depends on the index taken out", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(f[j] * j, (j, 0, n - 1)), n * Sum(f[j], (j, 0, n - 1)))


@false("sums over different ranges exchanged", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(
        Sum(Sum(F[i, j], (j, 0, m - 1)), (i, 0, n - 1)), Sum(Sum(F[i, j], (i, 0, n - 1)), (j, 0, m - 2))
    )


@false("a row out of its range", anything, r"the index i of F stays in 0 … n-1")
def _() -> Theorem:
    return equal(F[i, j], F[i, j], (i, m), (j, m))


@false("half of a range reindexed by a permutation", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(f[pi[j]], (j, 0, i)), Sum(f[j], (j, 0, i)), (i, n), given=(pi,))


@false("the root of a square without its sign", anything, r"abs|\|")
def _() -> Theorem:
    return equal(sqrt(a**2), a, given=(a,))


@false("the root of a number that may be negative", anything, "a ≥ 0")
def _() -> Theorem:
    return equal(sqrt(a) ** 2, a, given=(a,))


@false("a power of a base that may be negative", anything, "a > 0")
def _() -> Theorem:
    return equal(a ** (lift(1) / 2), sqrt(a), given=(a,))


@false("the exponential of a product", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(exp(a * z), exp(a) * exp(z), given=(a, z))


@false("the sine of a sum as a sum of sines", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(sin(a + z), sin(a) + sin(z), given=(a, z))


@false(
    "a member beyond a condition is at most the maximum",
    anything,
    "is not visible from its form|at least one",
)
def _() -> Theorem:
    top = Max(F[i, l], (l, 0, m - 1), where=B[i, l])
    return Theorem(
        "claimed",
        "",
        (claim(F[i, j], "<=", top, (i, n), (j, m), where=Some(B[i, l], (l, 0, m - 1))),),
        given=(B,),
    )


@false("a sum of numbers of any sign is at least 0", anything, "is not visible from its form")
def _() -> Theorem:
    return Theorem("claimed", "", (claim(0, "<=", Sum(f[j], (j, 0, n - 1))),))


@false("assumptions that contradict one another", anything, "the assumptions contradict one another")
def _() -> Theorem:
    return equal(a, 0, given=(a,), assuming=(lt(n, m), lt(m, n)))


@false("an assumption that cannot be used", anything, "is not a conjunction")
def _() -> Theorem:
    return equal(a, a, given=(a,), assuming=(lt(n, m) | lt(m, n),))


@false("a letter for two things", anything, "f names two different things")
def _() -> Theorem:
    return equal(f[i], f[i], (i, n), given=(given("f", n, domain="positive"),))


@false("one letter for two indices of different range", anything, "i names two different things")
def _() -> Theorem:
    (short,), (long_,) = indices(i=n), indices(i=m)
    return equal(lift(short), lift(long_), short, long_)


@false("one letter for an index and a size", anything, "n names two different things")
def _() -> Theorem:
    (index,) = indices(n=m)
    return equal(lift(index), lift(n), index)


@false("an inequality proved as an equality", anything, "≤ do not prove an equality|differ")
def _() -> Theorem:
    twice = p[i] + p[i]
    one = claim(p[i], "=", twice, (i, n)).at_most(twice, "p is positive", gap=p[i])
    return Theorem("claimed", "", (one,), given=(p,))


@false("true at the sizes tried, claimed for all", anything, "the two sides differ by")
def _() -> Theorem:
    return equal(Sum(lift(j), (j, 0, n - 1)), lift(n - 1))


@false("false at one of the listed sizes", anything, "the two sides differ by 2|the two sides differ by")
def _() -> Theorem:
    sides = claim(Sum(lift(j), (j, 0, n - 1)), "=", lift(n - 1))
    return Theorem("claimed", "", (sides.only_at({n: 1, m: 1}, {n: 2, m: 1}, {n: 3, m: 1}),))


@false("an enclosure that finds a difference", anything, "at a random point")
def _() -> Theorem:
    sides = claim(Sum(f[j] ** 2, (j, 0, n - 1)), "=", Sum(f[j], (j, 0, n - 1)) ** 2)
    return Theorem("claimed", "", (sides.by_enclosure(),))


@pytest.mark.parametrize("name", FALSE)
def test_a_step_that_the_rules_do_not_allow_is_refused(name: str) -> None:
    """Cancelling, collapsing, capturing, exchanging, rooting where it is not allowed."""
    refused(FALSE, name)

"""Powers: an exponent that is not written as a number says nothing about the sign of the power."""

from __future__ import annotations

import sympy

from spec.language import (
    Formula,
    Sum,
    Theorem,
    case,
    claim,
    define,
    derive,
    exp,
    given,
    lift,
    log,
    lt,
    number,
    sqrt,
    tensor,
)
from tests.spec.language.proving.attacks.attack import Attack, at_most, below, related
from tests.spec.language.proving.claims import a, anything, f, i, j, m, n, p, z

k = given("k", domain="integer", below=n)
q = given("q", domain="nonnegative")
BASE, VISIBLE = r"(a|q|f\[i\]) > 0", "is not visible from its form"
ONE = {m: sympy.Integer(1)}
base, exponent, raised = number("b", domain="positive"), number("e"), tensor("y")
RAISED = Formula(
    "test.attacks.raised",
    "A power",
    (base, exponent),
    (define(raised, base**exponent),),
    (raised,),
    auxiliary=True,
)


def _in_two_steps() -> Theorem:
    proof = derive().below(f[i] ** m, "a power is positive").because("the first power")
    return Theorem("claimed", "", (claim(0, "<", f[i], (i, n)).proved(proof),), sizes=ONE)


POWERS = (
    Attack(
        "a power whose exponent is a size, which is 1",
        anything,
        lambda: below(0, a**m, given=(a,), sizes=ONE),
        BASE,
    ),
    Attack("two steps through such a power", anything, _in_two_steps, BASE),
    Attack(
        "a power whose exponent is a size, which is 3",
        anything,
        lambda: below(0, a**m, given=(a,), sizes={m: sympy.Integer(3)}),
        BASE,
    ),
    Attack(
        "a power whose exponent is a size, which is 2, at 0",
        anything,
        lambda: below(0, a**m, given=(a,), sizes={m: sympy.Integer(2)}),
        BASE,
    ),
    Attack(
        "a power whose exponent is a size less one",
        anything,
        lambda: below(0, a ** lift(m - 1), given=(a,), sizes={m: sympy.Integer(4)}),
        BASE,
    ),
    Attack(
        "a power whose exponent is fixed to 1",
        RAISED,
        lambda: below(0, a**exponent, given=(a,), at={exponent: 1}),
        BASE,
    ),
    Attack(
        "a power whose exponent is fixed to −1",
        RAISED,
        lambda: related(a * (a**exponent), "=", 1, given=(a,), at={exponent: -1}),
        BASE,
    ),
    Attack(
        "the same by applying a formula to any base",
        RAISED,
        lambda: related(a * RAISED(a, exponent), "=", 1, given=(a,), at={exponent: -1}),
        "a, which is real, is positive",
    ),
    Attack(
        "a power whose exponent is written as a sum",
        anything,
        lambda: below(0, a ** (lift(1) + lift(0)), given=(a,)),
        BASE,
    ),
    Attack(
        "a power whose exponent is written as a product",
        anything,
        lambda: below(0, a ** (lift(3) * lift(1)), given=(a,)),
        BASE,
    ),
    Attack(
        "a power whose exponent is picked by a case",
        anything,
        lambda: below(0, a ** case(lt(i, n), 1, 2), (i, n), given=(a,)),
        BASE,
    ),
    Attack(
        "the reciprocal of a power whose exponent is a size, which is 1",
        anything,
        lambda: related(a**m / a**m, "=", 1, given=(a,), sizes=ONE),
        BASE,
    ),
    Attack(
        "the root of a power whose exponent is a size, which is 1",
        anything,
        lambda: related(sqrt(a**m) ** 2, "=", a, given=(a,), sizes=ONE),
        BASE,
    ),
    Attack(
        "the logarithm of a power whose exponent is a size, which is 1",
        anything,
        lambda: related(exp(log(a**m)), "=", a, given=(a,), sizes=ONE),
        BASE,
        shown=False,
    ),
    Attack(
        "a sum of powers whose exponents are a size, which is 1",
        anything,
        lambda: below(0, Sum(f[i] ** m, (i, n)), sizes=ONE),
        BASE,
    ),
    Attack(
        "a power within a power",
        RAISED,
        lambda: at_most(0, (a**m) ** exponent, given=(a,), sizes=ONE, at={exponent: 1}),
        BASE,
    ),
    Attack(
        "a power of a base of at least 0, whose exponent is a size, which is 2",
        anything,
        lambda: below(0, q**m, given=(q,), sizes={m: sympy.Integer(2)}),
        BASE,
    ),
    Attack("a power of any base with any exponent", anything, lambda: below(0, a**z, given=(a, z)), BASE),
    Attack(
        "a power of any base with an index as exponent",
        anything,
        lambda: at_most(0, f[i] ** lift(j), (i, n), (j, m)),
        r"f\[i\] > 0",
    ),
    Attack(
        "a power of any base with a size as exponent", anything, lambda: at_most(0, a**n, given=(a,)), BASE
    ),
    Attack(
        "a power of any base with an even size as exponent",
        anything,
        lambda: at_most(0, a**n, given=(a,), sizes={n: 2 * m}),
        BASE,
        shown=False,
    ),
    Attack(
        "a power of any base with a look-up as exponent",
        anything,
        lambda: at_most(0, a**k, given=(a, k)),
        BASE,
    ),
    Attack(
        "a rational power of any base",
        anything,
        lambda: at_most(0, a ** sympy.Rational(1, 3), given=(a,)),
        BASE,
    ),
    Attack(
        "a power of a positive base is at least 1",
        anything,
        lambda: at_most(1, p[i] ** n, (i, n), given=(p,)),
        VISIBLE,
    ),
    Attack(
        "a power with a larger exponent is larger",
        anything,
        lambda: at_most(p[i] ** lift(n), p[i] ** lift(n + 1), (i, n), given=(p,)),
        VISIBLE,
    ),
)

"""Signs: what is nonzero term by term may vanish as a sum, and what has a sign in one place may have none in another."""

from __future__ import annotations

from spec.language import Formula, Node, Sum, absolute, case, data, define, delta, exp, lift, log, lt, tensor
from tests.spec.language.proving.attacks.attack import Attack, at_most, below, related
from tests.spec.language.proving.claims import B, F, a, anything, f, i, j, l, m, n, p, pi, z

SIGNED = case(B[i, j], 1, -1)
NONZERO, VISIBLE = "≠ 0", "is not visible from its form|differ"
BALANCE = Sum(SIGNED, (j, 0, m - 1))
woven = tensor("y", 2 * n)
turned = Formula(
    "test.attacks.turned", "A positive number, then a negative one", (f,),
    (define(woven[2 * i], exp(f[i]), (i, n)), define(woven[2 * i + 1], -exp(f[i]), (i, n))), (woven,), auxiliary=True,
)  # fmt: skip

parts, total = data("p", n, domain="positive"), tensor("s")
LOGARITHM = Formula(
    "test.attacks.logarithm",
    "The logarithm of a sum of positive numbers",
    (parts,),
    (define(total, log(Sum(parts[i], (i, n)))),),
    (total,),
    auxiliary=True,
)
pieces, whole = tensor("c", n), tensor("z")
PIECES = Formula(
    "test.attacks.pieces",
    "A positive number, then negative ones",
    (f,),
    (
        define(pieces[0], exp(f[0])),
        define(pieces[i], -exp(f[i]), (i, 1, n - 1)),
        define(whole, exp(LOGARITHM(pieces))),
    ),
    (whole,),
    auxiliary=True,
)


def _over(value: Node) -> Node:
    return value / value


SIGNS = (
    Attack(
        "an argument is positive as its first entry is",
        PIECES,
        lambda: related(PIECES(f), "=", exp(f[0]) - Sum(exp(f[i]), (i, 1, n - 1))),
        "> 0",
    ),
    Attack(
        "a sum of numbers that are 1 or −1 is divided by",
        anything,
        lambda: related(BALANCE / BALANCE, "=", 1, (i, n), given=(B,)),
        NONZERO,
    ),
    Attack(
        "a sum of positive and negative numbers, by cases on a comparison",
        anything,
        lambda: related(_over(Sum(case(lt(f[i], f[0]), -1, 1), (i, 0, n - 1))), "=", 1),
        NONZERO,
    ),
    Attack(
        "a sum of exponentials and their negatives",
        anything,
        lambda: related(
            _over(Sum(case(B[i, j], exp(F[i, j]), -exp(F[i, j])), (j, 0, m - 1))), "=", 1, (i, n), given=(B,)
        ),
        NONZERO,
    ),
    Attack(
        "a sum over indices that are before or after",
        anything,
        lambda: related(_over(Sum(case(lt(j, i), -p[j], p[j]), (j, 0, n - 1))), "=", 1, (i, n), given=(p,)),
        NONZERO,
    ),
    Attack(
        "a double sum of numbers that are 1 or −1",
        anything,
        lambda: related(_over(Sum(SIGNED, (i, n), (j, m))), "=", 1, given=(B,)),
        NONZERO,
    ),
    Attack(
        "a sum of reciprocals of numbers that are 1 or −1",
        anything,
        lambda: related(_over(Sum(1 / SIGNED, (j, 0, m - 1))), "=", 1, (i, n), given=(B,)),
        NONZERO,
    ),
    Attack(
        "a restricted sum of numbers that are 1 or −1",
        anything,
        lambda: related(_over(Sum(SIGNED, (j, 0, m - 1), where=lt(j, i + 1))), "=", 1, (i, n), given=(B,)),
        NONZERO,
    ),
    Attack(
        "a sum of reciprocals of a nonzero line, whose entries alternate",
        turned,
        lambda: related(_over(Sum(turned(f)[l], (l, 0, 2 * n - 1))), "=", 1),
        NONZERO + "|parity",
    ),
    Attack(
        "the square of a sum of numbers that are 1 or −1 is positive",
        anything,
        lambda: below(0, BALANCE**2, (i, n), given=(B,)),
        VISIBLE,
    ),
    Attack(
        "the absolute value of such a sum is positive",
        anything,
        lambda: below(0, absolute(BALANCE), (i, n), given=(B,)),
        VISIBLE,
    ),
    Attack(
        "a sum of differences of a value and its permuted value",
        anything,
        lambda: related(_over(Sum(case(lt(pi[i], i), -1, 1), (i, 0, n - 1))), "=", 1, given=(pi,)),
        NONZERO,
    ),
    Attack(
        "what is positive for one index is positive for the next",
        anything,
        lambda: below(0, f[i + 1], (i, n - 1), where=lt(0, f[i])),
        VISIBLE,
    ),
    Attack(
        "what is positive at one index is positive in a sum over all",
        anything,
        lambda: below(0, Sum(f[j], (j, 0, n - 1)), (i, n), where=lt(0, f[i])),
        VISIBLE,
    ),
    Attack(
        "a product of two negative numbers is negative",
        anything,
        lambda: below(a * z, 0, given=(a, z), assuming=(lt(a, 0), lt(z, 0))),
        VISIBLE,
    ),
    Attack(
        "a sum of a positive and a negative number is positive",
        anything,
        lambda: below(0, a + z, given=(a, z), assuming=(lt(a, 0), lt(0, z))),
        VISIBLE,
    ),
    Attack("an absolute value is positive", anything, lambda: below(0, absolute(a), given=(a,)), VISIBLE),
    Attack(
        "a square that multiplies a positive number is positive",
        anything,
        lambda: below(0, a**2 * p[i], (i, n), given=(a, p)),
        VISIBLE,
    ),
    Attack("an index is positive", anything, lambda: below(0, lift(i) * p[i], (i, n), given=(p,)), VISIBLE),
    Attack(
        "a sum over indices that are counted double exceeds that over all",
        anything,
        lambda: at_most(
            0, Sum(f[j], (j, 0, n - 1)) - 2 * Sum(case(B[j, 0], f[j]), (j, 0, n - 1)), given=(B,)
        ),
        VISIBLE,
    ),
    Attack(
        "a sum of differences to the first entry is not 0",
        anything,
        lambda: related(_over(Sum(delta(i, 0) - delta(i, n - 1), (i, 0, n - 1))), "=", 1),
        NONZERO,
    ),
)

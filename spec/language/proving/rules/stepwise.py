"""Further rules, kept beside the others in :data:`RULES`: of recurrences and induction, and estimates by sums."""

from __future__ import annotations

from spec.language.arrays import each
from spec.language.binders import Sum
from spec.language.expr import TRUE, absolute, exp, lift, log, tanh
from spec.language.proving.rules.examples import f, i, j, n, running
from spec.language.proving.rules.register import RULES, Law, p, r, rule
from spec.language.theorem import derive


@rule(
    "recurrence",
    "A state of a recurrence is what its definition makes of the states before it, one step at a time.",
)
def recurrence() -> Law:
    """A recurrence is unfolded by one step."""
    return Law(running(f)[i + 1], tanh(running(f)[i] + f[i + 1]), ((i, n),))


@rule(
    "hypothesis",
    "What is known for every index in a range, shown by induction or assumed, is used at one of them.",
)
def hypothesis() -> Law:
    """What induction shows is put in."""
    still = running(each(lift(0), (j, n + 1)))
    return Law(still[i], lift(0), ((i, n + 1),), proof=derive().by_induction(i))


@rule("triangle", "The absolute value of a sum is at most the sum of the absolute values.")
def triangle() -> Law:
    """The triangle inequality."""
    total, sizes_ = Sum(f[j] - f[0], (j, 0, n)), Sum(absolute(f[j]) + absolute(f[0]), (j, 0, n))
    return Law(absolute(total), sizes_, (), TRUE, "<=")


@rule(
    "logarithms",
    "The logarithm of a product of positive numbers is the sum of theirs: ln(x·y) = ln x + ln y.",
)
def logarithms() -> Law:
    """Logarithms of products are sums."""
    return Law(log(p[i] * r[i] / p[j]), log(p[i]) + log(r[i]) - log(p[j]), ((i, n), (j, n)))


@rule(
    "factor",
    "The sign of a product is the product of the signs of its factors, a common factor taken out first.",
)
def factor() -> Law:
    """A common factor is taken out."""
    one = absolute(f[i])
    return Law(-one, one * absolute(f[0] - f[n]) - one * (f[0] - f[n]), ((i, n),), TRUE, "<=")


@rule("part", "A sum of terms that are at least 0 is at least each of them.")
def part() -> Law:
    """A sum is at least each of its terms."""
    return Law(exp(f[i]), Sum(exp(f[j]), (j, 0, n)), ((i, n),), TRUE, "<=")


__all__ = ["RULES", "factor", "hypothesis", "logarithms", "part", "recurrence", "triangle"]

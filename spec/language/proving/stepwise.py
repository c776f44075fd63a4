"""Further rules, kept beside the others in :data:`RULES`: of recurrences and induction, and estimates by sums."""

from __future__ import annotations

from spec.language.calls import each
from spec.language.expr import TRUE, Sum, Tensor, absolute, exp, lift, sizes, tanh
from spec.language.formula import Formula, define
from spec.language.proving.rules import RULES, Law, i, j, rule
from spec.language.theorem import Proof, induction

(n,) = sizes("n")
f, s = Tensor("f", (n + 1,), "real", "data"), Tensor("s", (n + 1,))

running = Formula(
    "rules.running",
    "A running value",
    inputs=(f,),
    lines=(define(s[0], tanh(f[0])), define(s[i], tanh(s[i - 1] + f[i]), i=(1, n))),
    outputs=(s,),
    auxiliary=True,
)


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
    return Law(still[i], lift(0), ((i, n + 1),), proof=Proof(induction=induction(i)))


@rule("triangle", "The absolute value of a sum is at most the sum of the absolute values.")
def triangle() -> Law:
    """The triangle inequality."""
    total, sizes_ = Sum(f[j] - f[0], (j, 0, n)), Sum(absolute(f[j]) + absolute(f[0]), (j, 0, n))
    return Law(absolute(total), sizes_, (), TRUE, "<=")


@rule("part", "A sum of terms that are at least 0 is at least each of them.")
def part() -> Law:
    """A sum is at least each of its terms."""
    return Law(exp(f[i]), Sum(exp(f[j]), (j, 0, n)), ((i, n),), TRUE, "<=")


__all__ = ["RULES", "hypothesis", "part", "recurrence", "running", "triangle"]

"""Whether what is far from careful arithmetic violates the statement: then it is no matter of digits.

At the sizes of real models the rigorous bound of a coarse type may let a wrong formula through. In float64, at the same numbers,
it does not: what is wrong there was not lost to the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from verify.accuracy.calls import Comparison, gradient_of, value_of
from verify.accuracy.gradable import expect_at
from verify.accuracy.lost_digits import DigitLoss, evaluate_rounded
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example
from verify.properties.judge import Judge
from verify.properties.values import compare
from verify.report import Counterexample
from verify.search.outcome import Outcome, worst
from verify.subject.caller import Caller

EXACT = "float64"
ACCOUNTED = 0.5
"""The share of an error that a line held in a coarser type has to leave no more of."""


@dataclass(frozen=True)
class Beyond:
    """What no right implementation makes of an example, in the end of a sentence; ``certain``: by the rigorous bound. Where that
    bound says nothing, an error in float64 as large as in the type is not the type's. ``double``: what came of it in float64,
    where it is that which is beyond its bound.
    """

    said: str = ""
    certain: bool = False
    double: Comparison | None = None


def violation(judge: Judge, caller: Caller, example: Example, compared: Comparison, double: bool) -> Beyond:
    """Whether what a callable made of an example violates the statement, or shows that it is no matter of digits.

    Args:
        judge: the formula under its conventions.
        caller: the callable; called once more, in float64, where the bound of the example's own type says nothing.
        example: the example, with cotangents for gradients.
        compared: what came of it, and how it was called.
        double: whether its values, or gradients, in float64 are those of the statement at ordinary sizes.
    """
    own, error = _furthest(judge, example, compared)
    if own.fails:
        return _describe_outcome(own, example)
    if not double or example.dtype == EXACT:
        return Beyond()
    exact = replace(example, dtype=EXACT)
    try:
        again = (gradient_of if example.cotangents else value_of)(judge, caller, exact, compared.way)
    except (Fault, Unsupported):  # it is judged in float64 at ordinary sizes
        return Beyond()
    other, remaining = _furthest(judge, exact, again)
    if other.fails:
        return replace(_describe_outcome(other, exact), double=again)
    return Beyond("in float64 it is off by as much" if remaining > ACCOUNTED * error else "")


def _furthest(judge: Judge, example: Example, compared: Comparison) -> tuple[Outcome, float]:
    """The entry that is furthest beyond its bound, and the largest error."""
    found = expect_at(judge, example, example.dtype, "gradient" if example.cotangents else "value")
    expected = {name: each for name, each in found.items() if name in compared.got}
    got = compared.furthest({name: each.value for name, each in expected.items()})
    with np.errstate(all="ignore"):
        errors = [np.abs(got[name] - each.value) for name, each in expected.items()]
        most = [float(np.max(error, where=~np.isnan(error), initial=0.0)) for error in errors]
    return worst([compare(each, got[name]) for name, each in expected.items()]), max(most, default=0.0)


def _describe_outcome(outcome: Outcome, example: Example) -> Beyond:
    if outcome.got is None or outcome.expected is None or not np.isfinite(outcome.got):
        return Beyond(f"not finite in {example.dtype}", True)
    off = abs(outcome.got - outcome.expected)
    return Beyond(f"off by {off:.2g} in {example.dtype}, {outcome.ratio:.2g} times the bound", True)


def accounts_for(place: DigitLoss, judge: Judge, failed: Sequence[Counterexample]) -> bool:
    """Whether a line held in a coarser type explains these failures of values, too: what fails in float64 otherwise is another
    matter.
    """
    names = {output.name for output in judge.flat.outputs}
    for each in failed:
        if each.what not in names or each.index is None or each.got is None or each.expected is None:
            return False
        made = next(evaluate_rounded(judge.flat, each.inputs, [(place.name, place.dtype)]))[each.what]
        left, off = made[each.index] - each.got, each.expected - each.got
        if not abs(left) <= ACCOUNTED * abs(off):
            return False
    return True


__all__ = ["Beyond", "accounts_for", "violation"]

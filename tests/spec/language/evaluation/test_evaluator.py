"""Claims compiled are worth what the interpreter says that they are: every theorem at a point, in balls."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from spec.language import Formula, Theorem
from spec.language.binders import Expectation
from spec.language.evaluation.balls import precision
from spec.language.proving.deciding.derivations import conventions_of
from spec.language.proving.evaluating.points import BITS, Point, points
from spec.language.registry import formulas
from spec.language.theorem import Claim
from spec.language.trees import walk
from tests.spec.language.evaluation.interpreter import Interpreter

POINTS = 2


def compare(point: Point, claim: Claim) -> int:
    """Hold both sides of a claim and its condition at a point to the interpreter; how many entries were compared."""
    evaluator = point.make_evaluator()
    where, *sides = (point._expand(part) for part in (claim.where, claim.left, claim.right))
    spans = tuple((symbol, 0, size - 1) for symbol, size in claim.over)
    found = evaluator.values(sides, spans, where)
    plain = Interpreter(evaluator.arithmetic, evaluator.bindings, None, evaluator.calls)
    with np.errstate(all="ignore"), plain.within(spans, where) as inside:
        extent = tuple(len(plain.ranges[s]) for s in plain.scope)
        counts = np.broadcast_to(True if inside is None else inside.surely, extent)
        if not counts.any():
            assert found is None
            return 0
        expected = [np.broadcast_to(plain.value(side), extent) for side in sides]
    assert found is not None
    assert found.extent == extent
    np.testing.assert_array_equal(
        np.broadcast_to(True if found.where is None else found.where.surely, extent), counts
    )
    for one, other in zip(found.values, expected, strict=True):
        for a, b in zip(np.broadcast_to(one, extent)[counts], other[counts], strict=True):
            assert a.overlaps(b) or not (a.is_finite() or b.is_finite())
    return int(counts.sum())


@pytest.mark.parametrize("formula", formulas().values(), ids=list(formulas()))
def test_claims_are_worth_what_the_interpreter_says(formula: Formula) -> None:
    """Both sides of each claim of a formula's theorems, at a few points."""
    for theorem in formula.theorems.values():
        if not any(_random(claim) for claim in theorem.claims):
            _compare_theorem(theorem, formula)


def _compare_theorem(theorem: Theorem, formula: Formula) -> None:
    conventions = next(iter(conventions_of(theorem, formula)))
    with precision(BITS):
        for point, _ in islice(points(theorem, formula, conventions, 1), POINTS):
            for claim in theorem.claims:
                compare(point, claim)


def _random(claim: Claim) -> bool:
    return any(isinstance(part, Expectation) for side in (claim.left, claim.right) for part in walk(side))

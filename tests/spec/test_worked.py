"""The numbers printed in the sources, recomputed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import flint
import pytest

from spec.language.evaluation.evaluate import enclose
from spec.language.registry import formulas
from spec.language.worked import recompute

WORKED = [(f, w) for f in formulas().values() for w in f.worked]


@pytest.mark.parametrize(
    ("formula", "worked"), WORKED, ids=lambda x: getattr(x, "title", getattr(x, "id", ""))
)
def test_printed_numbers_are_the_enclosed_ones_rounded(formula: object, worked: object) -> None:
    """Every ball lies within half a unit of the last printed digit."""
    half = Fraction(1, 2 * 10**worked.decimals)
    for found, printed in recompute(formula, worked):
        value = Fraction(Decimal(str(printed)))
        assert abs(found - flint.arb(flint.fmpq(value.numerator, value.denominator))) <= flint.arb(
            flint.fmpq(half.numerator, half.denominator)
        )


def test_there_are_worked_numbers_and_a_wrong_one_is_noticed() -> None:
    """The check can fail: 0.89 in place of 0.88 is refused."""
    formula, worked = next((f, w) for f, w in WORKED if f.id == "attention.softmax")
    (first, _), *_ = recompute(formula, worked)
    assert len(WORKED) >= 4
    assert not abs(first - flint.arb("0.89")) <= flint.arb("0.005")
    assert enclose(formula, {"s": [[0.0, 0.0]]})[0][0, 0].contains(flint.arb("0.5"))

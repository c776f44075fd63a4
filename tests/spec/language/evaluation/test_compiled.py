"""Compiled lines say what the interpreter says, in every arithmetic, and touch nothing symbolic when they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest
import sympy

from spec.language import Formula
from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.balls import BallArithmetic
from spec.language.evaluation.binding import bind
from spec.language.evaluation.compiled.program import MOST_SIZES, compiled
from spec.language.evaluation.evaluate import Evaluator, run
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import Format, Precision
from spec.language.evaluation.walk import Walk
from spec.language.expr import Node
from spec.language.flatten import Flat
from spec.language.known import forget
from spec.language.registry import find, formulas
from tests.spec.language.evaluation.random_statements import inputs, statement
from tests.spec.language.recurrent_cases import backwards, grid, mutual, remembering, running
from verify.sampling import Space

ROUNDINGS = 2.0**-44
"""Slices and look-ups lay arrays out differently, and NumPy adds in the order of the layout: a few dozen roundings of float64."""
ARITHMETICS: dict[str, tuple[Callable[[], Any], Format | None]] = {
    "float64": (Walk, None),
    **{
        name: (lambda precision=Precision.of(name): Walk(precision.operations), Precision.of(name).storage)
        for name in ("float32", "bfloat16")
    },
    "balls": (BallArithmetic, None),
}


def interpreted(flat: Flat, arithmetic: Any, given: Any, storage: Format | None) -> Evaluator:
    """All lines of a statement by the interpreter."""
    evaluator = Evaluator(arithmetic, bind(flat, given), flat.families)
    stored = flat.stored | {t.name for t in flat.outputs}
    with np.errstate(all="ignore"):
        evaluator.run(
            flat.groups,
            lambda name, value, place: (
                arithmetic.stored(value, storage) if storage is not None and name in stored else value
            ),
        )
    return evaluator


def ran(evaluate: Callable[[], Any]) -> Any:
    """What is evaluated, or what is said against it."""
    try:
        return evaluate()
    except (IndexError, KeyError, ValueError, ArithmeticError) as error:
        return f"{type(error).__name__}: {error}"


def near(found: Any, expected: Any, slack: Any) -> bool:
    """Whether two arrays are the same up to some roundings; ``slack`` is the size of what was added up."""
    with np.errstate(all="ignore"):
        return bool(
            np.all((found == expected) | np.isnan(expected) & np.isnan(found) | (np.abs(found - expected) <= slack))
        )


def agree(found: Any, expected: Any, size: float) -> bool:
    """Whether two arrays of numbers say the same; ``size`` is that of the numbers that they were made from."""
    if not isinstance(expected, Num):
        assert found.shape == expected.shape
        return all(
            a == b or (a.overlaps(b) or not b.is_finite()) and a.is_finite() == b.is_finite()
            for a, b in zip(found.ravel(), expected.ravel(), strict=True)
        )
    with np.errstate(all="ignore"):
        x, y = found.floats(), expected.floats()
        assert x.shape == y.shape
        scale = np.where(np.isfinite(y), np.abs(y), 0.0)
        same = near(x, y, ROUNDINGS * (scale + size))
        if expected.error is None:
            return same
        a, b = (np.broadcast_to(number.bounds(), y.shape) for number in (found, expected))
        return same and near(a, b, 1e-6 * b)  # of a bound, a millionth is nothing


def compare(flat: Flat, given: Any, name: str) -> None:
    """Hold a run of the program to one of the interpreter, tensor by tensor."""
    make, storage = ARITHMETICS[name]
    expected = ran(lambda: interpreted(flat, make(), given, storage))
    found = ran(lambda: run(flat, make(), bind(flat, given), storage))
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert found.tensors.keys() == expected.tensors.keys()
    for tensor, numbers in expected.tensors.items():
        assert agree(found.tensors[tensor], numbers, 0.0), (tensor, found.tensors[tensor], numbers)
    assert found.undecided.keys() == expected.undecided.keys()
    assert found.left_open == expected.left_open
    for kind in ("integers", "booleans", "undecided"):
        for tensor, array in getattr(expected, kind).items():
            assert np.array_equal(getattr(found, kind)[tensor], array), tensor


@pytest.fixture(autouse=True)
def enough_bits() -> Any:
    """Balls of 128 bits."""
    saved, flint.ctx.prec = flint.ctx.prec, 128
    yield
    flint.ctx.prec = saved


@pytest.mark.parametrize("seed", range(150))
def test_a_random_statement_is_worth_what_the_interpreter_says(seed: int) -> None:
    """Value, bound and enclosure, of every line, at several sizes with the same program."""
    flat = statement(seed)
    for turn, name in enumerate(ARITHMETICS):
        compare(flat, inputs(5 * seed + turn), name)
        compare(flat, inputs(5 * seed), name)

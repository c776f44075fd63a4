"""Evaluating a formula: in float64, as balls, or as float64 with a tolerance, by the one program of its lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.evaluation.arithmetic import Arithmetic
from spec.language.evaluation.balls import BallArithmetic, precision
from spec.language.evaluation.binding import Bindings, bind
from spec.language.evaluation.compiled.frame import Finish, Frame
from spec.language.evaluation.compiled.program import compiled
from spec.language.evaluation.precision import Format, Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import Flat
from spec.language.formula import Formula

__all__ = ["bound", "enclose", "evaluate", "run"]


def run(
    flat: Flat,
    arithmetic: Arithmetic[Any],
    bindings: Bindings,
    storage: Format | None = None,
    finish: Finish | None = None,
    every: bool = True,
) -> Frame:
    """Evaluate every line of a flattened formula; what is returned holds all tensors, or the outputs if not ``every`` one."""
    program = compiled(flat)

    def changed(name: str, value: Any, part: bool) -> Any:
        if storage is not None and name in program.stored:
            value = arithmetic.stored(value, storage)
        return value if finish is None else finish(name, value, part)

    changes = None if storage is None and finish is None else changed
    with np.errstate(all="ignore"):  # NaN and overflow are carried in the numbers, not raised
        return program.run(arithmetic, bindings, changes, every)


def evaluate(
    formula: Formula | Flat,
    inputs: Mapping[str, Any] | Sequence[Any],
    conventions: Mapping[str, str] | None = None,
) -> tuple[npt.NDArray[np.float64], ...]:
    """The outputs of a formula in float64, with an exponent range wide enough for exponentials of ±10⁴.

    Args:
        formula: a formula, or its flattened lines.
        inputs: by name, or in declared order; arrays in the declared shapes (no batch dimensions), Python numbers, sizes.
        conventions: a choice of conventions; ours where not given.

    Raises:
        ValueError: an input of the wrong shape or domain, or an unknown convention.
    """
    flat = formula if isinstance(formula, Flat) else formula.flat(conventions)
    done = run(flat, RunningError(), bind(flat, inputs), every=False)
    return tuple(done.tensors[t.name].floats() for t in flat.outputs)


def enclose(
    formula: Formula | Flat,
    inputs: Mapping[str, Any] | Sequence[Any],
    conventions: Mapping[str, str] | None = None,
    bits: int = 128,
) -> tuple[npt.NDArray[Any], ...]:
    """The outputs of a formula as balls (``flint.arb``) computed with ``bits`` bits: rigorous enclosures.

    Inputs are taken exactly as given (floats), or as balls.
    """
    flat = formula if isinstance(formula, Flat) else formula.flat(conventions)
    with precision(bits):
        done = run(flat, BallArithmetic(), bind(flat, inputs), every=False)
    return tuple(done.tensors[t.name] for t in flat.outputs)


def bound(
    formula: Formula | Flat,
    inputs: Mapping[str, Any] | Sequence[Any],
    conventions: Mapping[str, str] | None = None,
    dtype: str = "float32",
) -> tuple[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]], ...]:
    """For each output its float64 value, and how far a right implementation in ``dtype`` may be from it.

    The bound is infinite where nothing can be said. Under ``intermediates = storage`` every operation rounds to ``dtype``.
    """
    if isinstance(formula, Flat):
        flat, intermediates = formula, (conventions or {}).get("intermediates", "accumulate")
    else:
        flat, intermediates = formula.flat(conventions), formula.choose(conventions)["intermediates"]
    model = Precision.of(dtype, intermediates)
    done = run(flat, RunningError(model.operations), bind(flat, inputs), model.storage, every=False)
    return tuple((done.tensors[t.name].floats(), done.tensors[t.name].bounds()) for t in flat.outputs)

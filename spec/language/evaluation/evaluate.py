"""Evaluating a formula: in float64, as balls, or as float64 with a tolerance, by the one program of its lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.arithmetic import Arithmetic
from spec.language.evaluation.balls import BallArithmetic, precision
from spec.language.evaluation.binding import Bindings, bind
from spec.language.evaluation.compiled.frame import Finish, Frame
from spec.language.evaluation.compiled.program import compile_program
from spec.language.evaluation.dimensions import whole
from spec.language.evaluation.precision import Format, Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import Flat
from spec.language.formula import Formula

DOMAINS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "positive": ("positive", lambda x: x > 0),
    "nonnegative": ("no less than 0", lambda x: x >= 0),
    "share": ("from 0 to 1", lambda x: (x >= 0) & (x <= 1)),
}
"""What numbers of a domain are, in words and as a condition; NaN is asked nothing."""


def check_inputs(formula: Formula, inputs: Any, conventions: Any = None) -> dict[str, Any]:
    """Inputs by name, each of which the formula has, of its domain.

    Raises:
        ValueError: one line that names the formula, the input, what was expected and what was given.
    """
    if conventions is not None and not isinstance(conventions, Mapping):
        raise ValueError(f"{formula.id}: conventions map names to options; got {conventions!r}")
    known = {str(item): item for item in formula.inputs}
    if isinstance(inputs, Mapping):
        found = dict(inputs)
    elif isinstance(inputs, Sequence) and not isinstance(inputs, str | bytes):
        if len(inputs) > len(known):
            raise ValueError(
                f"{formula.id} has {len(known)} inputs ({', '.join(known)}); {len(inputs)} were given"
            )
        found = dict(zip(known, inputs, strict=False))
    else:
        raise ValueError(
            f"{formula.id}: inputs are given by name, or as a list in declared order; got {inputs!r}"
        )
    for name, value in found.items():
        if name not in known:
            raise ValueError(f"{formula.id} has no input {name!r}; it has: {', '.join(known)}")
        item = known[name]
        if isinstance(item, Tensor):
            _of_its_domain(formula, item, value)
        elif not isinstance(value, int | np.integer) or isinstance(value, bool | np.bool_) or value < 0:
            raise ValueError(
                f"{formula.id}: the size {name} must be a whole number of at least 0; {value!r} was given"
            )
    sizes = bind(formula.flat(conventions), found).sizes
    for name, item in known.items():
        if (
            isinstance(item, Tensor)
            and item.domain in WHOLE
            and item.below != 0
            and found.get(name) is not None
        ):
            _below(formula, item, np.asarray(found[name]), whole(item.below, sizes))
    return found


def name_seeds(formula: Formula, seeds: Any) -> dict[str, Any]:
    """Gradients by outputs, each of which the formula has; one that stands alone is that by the first.

    Raises:
        ValueError: one that it does not have; one line.
    """
    names = [output.name for output in formula.outputs]
    if not isinstance(seeds, Mapping):
        seeds = {names[0]: seeds}
    for name in seeds:
        if name not in names:
            raise ValueError(f"{formula.id} has no output {name!r}; it has: {', '.join(names)}")
    return dict(seeds)


def _of_its_domain(formula: Formula, item: Tensor, value: Any) -> None:
    if value is None or item.role == "generator" or item.domain == "boolean" or item.domain in WHOLE:
        return
    try:
        array = np.asarray(value)
    except Exception as error:  # a tensor of a type that NumPy has not, say
        said = str(error).splitlines()[0]
        raise ValueError(f"{formula.id}: {item.name} must be an array of numbers; {said}") from None
    if array.dtype == object:  # balls
        return
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{formula.id}: {item.name} must hold real numbers; {array.dtype} was given")
    said, holds = DOMAINS.get(item.domain, ("", None))
    if holds is not None and not (np.isnan(array) | holds(array)).all():
        worst = array[~(np.isnan(array) | holds(array))].flat[0]
        raise ValueError(f"{formula.id}: {item.name} must be {said}; {worst:g} was given")


def _below(formula: Formula, item: Tensor, array: Any, below: int) -> None:
    """Labels may say that nothing is asked, by a negative number."""
    label = item.domain == "label"
    beyond = array[(array >= below) | ((array < 0) & (not label))]
    if beyond.size:
        least = "" if label else ", and none below 0"
        raise ValueError(
            f"{formula.id}: {item.name} must hold numbers below {below}{least}; {beyond.flat[0]} was given"
        )


def run(
    flat: Flat,
    arithmetic: Arithmetic[Any],
    bindings: Bindings,
    storage: Format | None = None,
    finish: Finish | None = None,
    every: bool = True,
) -> Frame:
    """Evaluate every line of a flattened formula; what is returned holds all tensors, or the outputs if not ``every`` one."""
    program = compile_program(flat)

    def change_value(name: str, value: Any, part: bool) -> Any:
        if storage is not None and name in program.stored:
            value = arithmetic.round_to_storage(value, storage)
        return value if finish is None else finish(name, value, part)

    changes = None if storage is None and finish is None else change_value
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

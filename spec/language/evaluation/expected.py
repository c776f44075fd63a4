"""The error that is expected of careful arithmetic: how far the values spread that random roundings give.

Each sample is the statement evaluated with roundings of its own (:mod:`~spec.language.evaluation.noise`), side by side with the
others; one more, in which nothing is rounded, is the value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.differentiation.gradients import vjp
from spec.language.evaluation.batching import EXAMPLES, batched, bind_all, repeated
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import whole
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.noise import SPREAD, Noise
from spec.language.evaluation.numbers import Floats
from spec.language.evaluation.precision import FORMATS, Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import Flat
from spec.language.formula import Formula

SAMPLES = 32
"""Evaluations from which an error is estimated: enough to know a standard deviation to about one part in eight."""
MEMORY = 3e7
"""Bytes that the tensors of samples evaluated side by side may hold at once; the other samples follow. The more there are, the
fewer work out anew what they share."""

Expectation = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""A value in float64, and the standard deviation of a careful implementation's error."""


def expected(
    flat: Flat,
    inputs: Mapping[str, Any],
    precision: Precision,
    samples: int = SAMPLES,
    seed: int = 0,
) -> tuple[Expectation, ...]:
    """For each output of some lines its value in float64 and the standard deviation of a careful implementation's error.

    The latter is never below that of one rounding to the storage type, nor below the least number that this type holds.
    """
    if samples < 1:
        raise ValueError(f"samples must be a whole number of at least 1; {samples!r} was given")
    bindings, names = bind(flat, inputs), [output.name for output in flat.outputs]
    values: list[Floats] | None = None
    several, together = repeated(flat), samples
    if (samples + 1) * _bytes(flat, bindings.sizes) > MEMORY:
        # As a batch of one: lines that anybody else has asked for are compiled so.
        exact = run(batched(flat), RunningError(), bind_all(flat, [inputs]), every=False)
        values = [exact.tensors[name].floats()[0] for name in names]
        turns = math.ceil(samples * exact.most / MEMORY)
        del exact
        together = math.ceil(samples / max(turns, 1))
    random, left = np.random.default_rng(seed), samples
    squares: list[Floats] = []
    while left:
        now = min(together, left)
        noise = Noise(precision, random, now, exact=values is None)
        bindings.sizes[EXAMPLES] = noise.samples
        done = run(several, noise, bindings, every=False)
        made = [done.tensors[name].floats() for name in names]
        if values is None:
            values, made = [one[-1] for one in made], [one[:-1] if len(one) > 1 else one for one in made]
        squares, left = squares or [np.zeros_like(value) for value in values], left - now
        with np.errstate(
            all="ignore"
        ):  # what does not fit into float64 is infinite: no error is expected of it
            for one, value, total in zip(made, values, squares, strict=True):
                off = one - value
                off *= off
                # One sample where nothing was rounded.
                total += off.sum(axis=0) if len(off) == now else now * off[0]
        del done, made, one, off  # the next ones need the room
    found = []
    assert values is not None
    with np.errstate(all="ignore"):
        for value, total in zip(values, squares, strict=True):
            least = np.maximum(precision.storage.unit * SPREAD * np.abs(value), precision.storage.tiny)
            found.append((value, np.maximum(np.sqrt(total / samples), least)))
    return tuple(found)


def _bytes(flat: Flat, sizes: Mapping[Any, int]) -> int:
    """How many bytes the tensors of all lines hold."""
    tensors = {line.name: line.left.tensor for line in flat.lines}
    return sum(8 * math.prod(whole(size, sizes) for size in tensor.shape) for tensor in tensors.values())


def expected_error(
    formula: Formula | Flat,
    inputs: Mapping[str, Any] | Sequence[Any],
    conventions: Mapping[str, str] | None = None,
    dtype: str = "float32",
    samples: int = SAMPLES,
    seed: int = 0,
) -> tuple[Expectation, ...]:
    """For each output its float64 value, and the standard deviation of the error that careful arithmetic in ``dtype`` makes.

    Args:
        formula: a formula, or its flattened lines.
        inputs: by name, or in declared order, in the declared shapes.
        conventions: a choice of conventions; ours where not given.
        dtype: the storage type of the implementation.
        samples: how many evaluations with random roundings the estimate rests on.
        seed: determines the roundings.

    Raises:
        ValueError: no sample is asked for.
    """
    flat = formula if isinstance(formula, Flat) else formula.flat(conventions)
    return expected(flat, _named(flat, inputs), Precision.of(dtype), samples, seed)


def expected_gradient_error(
    formula: Formula,
    inputs: Mapping[str, Any] | Sequence[Any],
    seeds: Mapping[str, Any],
    wrt: Sequence[str] | None = None,
    conventions: Mapping[str, str] | None = None,
    dtype: str = "float32",
    samples: int = SAMPLES,
    seed: int = 0,
) -> dict[str, Expectation]:
    """For each input the gradient in float64, and the standard deviation of the error that careful arithmetic makes.

    ``seeds`` are the loss's gradients by the outputs; the rest is as for :func:`expected_error`.
    """
    gradient = vjp(formula, wrt, conventions)
    inputs = _named(formula.flat(conventions), inputs)
    every = {**inputs, **gradient.seeded(seeds, bind(formula.flat(conventions), inputs).sizes)}
    found = expected(gradient.flat, every, Precision.of(dtype), samples, seed)
    return dict(zip(gradient.gradients, found, strict=True))


def _named(flat: Flat, inputs: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
    if isinstance(inputs, Mapping):
        return inputs
    return {str(item): value for item, value in zip(flat.inputs, inputs, strict=False)}


__all__ = [
    "FORMATS",
    "SAMPLES",
    "Expectation",
    "expected",
    "expected_error",
    "expected_gradient_error",
]

"""Where the digits are lost: which line of a statement, held in a coarser type, makes an error such as the one observed.

Of a long sequence: from which step on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from spec.language.arrays import DISCRETE, Tensor
from spec.language.differentiation.gradients import ADJOINT
from spec.language.evaluation.batching import add_example_axis, bind_all
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import Size
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import Flat
from verify.inputs.examples import round_to
from verify.oracle import examples_at_once
from verify.properties.judge import Reals

COARSE = ("float16", "bfloat16")
"""Types in which a line may have been held."""
MOST = 0.5
"""The share of the error's square above which a line is said to be its cause."""
FEW, ALL = 8, 0.9999
"""Of fewer entries nearly all has to be explained: one of a dozen lines makes half of one error by chance."""
ALIKE = 3.0
"""By what factor an error may differ from one that it is said to be about as large as."""


@dataclass(frozen=True)
class DigitLoss:
    """A line held in a coarser type; ``share`` is what that explains of the error's square, ``size`` how large its effect is
    beside the error, in so many ``entries``. Or ``since``: the first entry that is off, after others that are not.
    """

    name: str = ""
    dtype: str = ""
    share: float = 0.0
    size: float = 0.0
    since: str = ""
    entries: int = FEW

    @property
    def certain(self) -> bool:
        """Whether it explains the error entry by entry, not by its size alone."""
        return self.share > (MOST if self.entries >= FEW else ALL)

    @property
    def accumulated(self) -> bool:
        """Whether it is as large as if sums were held in the type itself."""
        return bool(self.dtype) and not self.name

    def __str__(self) -> str:
        if self.since:
            return f"{self.since} is the first that is off"
        if self.accumulated:
            return f"an error about as large as if sums were accumulated in {self.dtype}"
        if not self.name:
            return ""
        what = f"the gradient by {self.name[len(ADJOINT) :]}" if self.name.startswith(ADJOINT) else self.name
        said = f"as if `{what}` were held in {self.dtype}"
        return said if self.certain else f"an error about as large {said}"


def find_first_step(
    outputs: Iterable[Tensor],
    steps: Collection[Size],
    errors: Mapping[str, Reals],
    spreads: Mapping[str, Reals],
    limit: float,
) -> DigitLoss:
    """From which step of a sequence on errors are beyond so many spreads; nothing if they are from the first."""
    firsts: list[tuple[int, int, str]] = []
    for number, output in enumerate(outputs):
        for axis in (place for place, size in enumerate(output.shape) if size in steps):
            with np.errstate(all="ignore"):
                off = np.abs(errors[output.name]) > limit * spreads[output.name]
            along = np.flatnonzero(np.moveaxis(off, axis, 0).reshape(off.shape[axis], -1).any(1))
            if along.size:
                firsts.append((int(along[0]), number, f"{output.name}[{'…, ' * axis}{along[0]}]"))
    first, _, entry = min(firsts, default=(0, 0, ""))
    return DigitLoss(since=entry if first else "")


def find_line(
    flat: Flat,
    inputs: Mapping[str, Any],
    errors: Mapping[str, Reals],
    spreads: Mapping[str, Reals],
    dtype: str,
) -> DigitLoss:
    """The line that explains the errors of outputs best: entry by entry, or else by its size.

    ``spreads`` tells what error is expected: outputs of different scales count alike.
    """
    exact = run(flat, RunningError(), bind(flat, inputs), every=False).tensors
    weights = {name: 1 / math.sqrt(float(np.mean(spread**2))) for name, spread in spreads.items()}

    def length(parts: Mapping[str, Reals]) -> float:
        with np.errstate(all="ignore"):
            return float(sum(np.sum((part * weights[name]) ** 2) for name, part in parts.items()))

    whole, entries = length(errors), sum(part.size for part in errors.values())
    if not math.isfinite(whole) or not whole:
        return DigitLoss()
    coarser = [coarse for coarse in COARSE if FORMATS[coarse].unit > FORMATS[dtype].unit]
    candidates, tried = list(product(_names(flat, inputs), coarser)), []
    for (name, coarse), made in zip(candidates, evaluate_rounded(flat, inputs, candidates), strict=True):
        change = {out: made[out] - exact[out].floats() for out in errors}
        size = length(change)
        if not math.isfinite(size) or not size:
            continue
        left = length({out: errors[out] - part for out, part in change.items()})
        tried.append(DigitLoss(name, coarse, 1 - left / whole, size / whole, entries=entries))
    if not tried:
        return DigitLoss()
    best = max(tried, key=lambda each: (round(each.share, 3), -len(each.name)))
    if best.certain:
        return best
    nearest = min(tried, key=lambda each: abs(math.log(each.size)))
    return nearest if comparable(nearest.size) else DigitLoss()


def comparable(size: float) -> bool:
    """Whether an error is about as large as another; ``size`` is the ratio of their squares."""
    return 1 / ALIKE**2 < size < ALIKE**2


def _names(flat: Flat, inputs: Mapping[str, Any]) -> Iterator[str]:
    """The real tensors: lines, and inputs that are arrays."""
    yield from dict.fromkeys(line.name for line in flat.lines if line.left.tensor.domain not in DISCRETE)
    for item in flat.inputs:
        value = inputs.get(str(item))
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and not str(item).startswith("seed_"):
            yield str(item)


def evaluate_rounded(
    flat: Flat, inputs: Mapping[str, Any], candidates: Sequence[tuple[str, str]]
) -> Iterator[Mapping[str, Reals]]:
    """For each tensor and type the outputs with that tensor rounded to it: as many at once as examples are."""
    many = examples_at_once(flat, inputs)
    for first in range(0, len(candidates), many):
        rows = list(enumerate(candidates[first : first + many]))
        every = [
            {**inputs, name: round_to(inputs[name], dtype)} if name in inputs else inputs
            for _, (name, dtype) in rows
        ]

        def finish(line: str, value: Any, part: bool, rows: Any = rows) -> Any:
            own = [(row, dtype) for row, (name, dtype) in rows if name == line]
            if not own:
                return value
            shape = (len(rows), *value.value.shape[1:])
            values = np.array(np.broadcast_to(value.value, shape))
            scale = None if value.scale is None else np.array(np.broadcast_to(value.scale, shape))
            found = np.broadcast_to(value.floats(), shape)
            for row, dtype in own:
                values[row] = round_to(found[row], dtype)
                if scale is not None:
                    scale[row] = 0
            return Num(values, None, scale)

        done = run(
            add_example_axis(flat), RunningError(), bind_all(flat, every), finish=finish, every=False
        ).tensors
        for row, _ in rows:
            yield {output.name: done[output.name].floats()[row] for output in flat.outputs}


__all__ = ["DigitLoss", "find_first_step", "comparable", "evaluate_rounded", "find_line"]

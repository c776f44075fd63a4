"""Judging: what the statement says at given inputs, how far a right implementation may be from it, and how far this one is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.evaluation.balls import midpoints, radii
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import enclose, evaluate, run
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import Precision
from spec.language.evaluation.walk import Walk
from spec.language.expr import Undefined
from spec.language.formula import Formula
from spec.language.trees import walk
from verify.calling import Caller, Fault, values
from verify.sampling import Example, members

Reals = npt.NDArray[np.float64]
AFFORDABLE = 6000
"""Entries of inputs and outputs (their product's size, roughly) up to which balls are evaluated."""
EFFECTIVE = 10.0
"""An entry says something if its value is at least so many times its bound."""


@dataclass(frozen=True)
class Expected:
    """One output of the statement: its value, and how far a right implementation may be from it (infinite: unjudged)."""

    name: str
    value: Any
    bound: Reals


@dataclass
class Outcome:
    """How a callable fared on one example; ``ratio`` is error/bound, infinite where the call itself failed.

    ``idle``: the example gave nothing to compare. ``returned``: the type of what came back.
    """

    ratio: float = 0.0
    effective: bool = False
    idle: bool = False
    message: str = ""
    what: str = ""
    index: tuple[int, ...] | None = None
    got: float | None = None
    expected: float | None = None
    tolerance: float | None = None
    violates: str = ""
    returned: str = ""

    @property
    def fails(self) -> bool:
        """Whether the statement is violated."""
        return self.ratio > 1

    def worse(self, other: Outcome) -> Outcome:
        """The worse of two outcomes on the same example."""
        best = other if other.ratio > self.ratio else self
        best.effective = self.effective or other.effective
        return best


class Judge:
    """A formula under a choice of conventions, ready to judge."""

    def __init__(self, formula: Formula, conventions: Mapping[str, str] | None = None) -> None:
        self.formula = formula
        self.conventions = formula.choose(conventions)
        self.flat = formula.flat(self.conventions)
        self.real = any(
            t.domain in ("real", "positive", "nonnegative") and t.role in ("data", "parameter")
            for t in formula.tensors
        )

    @cached_property
    def partial(self) -> bool:
        """Whether the statement leaves something unsaid under these conventions."""
        return any(isinstance(part, Undefined) for line in self.flat.lines for part in walk(line.right))

    def silent(self, inputs: Mapping[str, Any]) -> bool:
        """Whether the statement says nothing about some entry at these inputs (0/0 and NaN included)."""
        return self.partial and any(np.isnan(value).any() for value in evaluate(self.flat, inputs))

    def bound(self, inputs: Mapping[str, Any], dtype: str) -> list[Num]:
        """The outputs in float64 with their bounds for an implementation in ``dtype``."""
        precision = Precision.of(dtype, self.conventions["intermediates"])
        done = run(self.flat, Walk(precision.operations), bind(self.flat, inputs), precision.storage)
        return [done.tensors[t.name] for t in self.flat.outputs]

    def line(self, inputs: Mapping[str, Any], dtype: str, name: str) -> Expected:
        """What the statement says of the tensor of any of its lines, with the bound for an implementation in ``dtype``."""
        precision = Precision.of(dtype, self.conventions["intermediates"])
        done = run(self.flat, Walk(precision.operations), bind(self.flat, inputs), precision.storage)
        with np.errstate(all="ignore"):
            found = done.tensors[name]
            return Expected(name, found.floats(), found.bounds())

    def enclosed(self, inputs: Mapping[str, Any], bits: int = 128) -> list[tuple[Reals, Reals]]:
        """The outputs as rigorous enclosures: midpoints and radii."""
        found = enclose(self.flat, inputs, None, bits)
        return [(midpoints(balls), radii(balls)) for balls in found]

    def expect(self, inputs: Mapping[str, Any], dtype: str, rigorous: bool | None = None) -> list[Expected]:
        """What the statement says at these inputs (without batch dimensions).

        ``rigorous`` None takes balls for float64 where the work is small. Otherwise the float64 walk is the reference: its
        own error is part of the bound.
        """
        found = self.bound(inputs, dtype)
        with np.errstate(all="ignore"):  # what does not fit into float64 becomes infinite, that is unjudged
            return self._expected(found, inputs, dtype, rigorous)

    def _expected(
        self, found: list[Num], inputs: Mapping[str, Any], dtype: str, rigorous: bool | None
    ) -> list[Expected]:
        if rigorous is None:
            size = sum(np.size(v) for v in inputs.values() if isinstance(v, np.ndarray))
            rigorous = dtype == "float64" and (size + 1) * sum(n.value.size for n in found) <= AFFORDABLE
        exact = self.enclosed(inputs) if rigorous else [(n.floats(), np.zeros(())) for n in found]
        result = []
        for tensor, number, (value, radius) in zip(self.flat.outputs, found, exact, strict=True):
            bounds = np.broadcast_to(number.bounds(), value.shape)
            bounds = np.where(np.isfinite(value) & np.isfinite(radius), bounds + radius, np.inf)
            result.append(Expected(tensor.name, value, bounds))
        return result

    def expect_batch(
        self, example: Example, rigorous: bool | None = None, dtype: str | None = None
    ) -> list[Expected]:
        """What the statement says for each member of a batch, stacked."""
        kind = dtype or example.dtype
        if not example.batch:
            return self.expect(example.inputs, kind, rigorous)
        every = [
            self.expect(example.single(self.formula, place), kind, rigorous)
            for place in members(example.batch)
        ]
        stacked = []
        for parts in zip(*every, strict=True):
            shape = (*example.batch, *parts[0].value.shape)
            value = np.stack([p.value for p in parts]).reshape(shape)
            stacked.append(Expected(parts[0].name, value, np.stack([p.bound for p in parts]).reshape(shape)))
        return stacked

    def line_of(self, name: str) -> str:
        """The statement's line that defines a tensor, as text."""
        for line in self.formula.flat(self.conventions).lines:
            if line.name == name:
                return f"{line.left} = {line.right}"
        return name


def compare(expected: Expected, got: Any) -> Outcome:
    """How far a returned array is from what is expected, in units of the bound; NaN never passes where a bound is finite."""
    value, bound = expected.value, expected.bound
    got = np.asarray(got, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(got - value)
        ratio = np.where(error == 0, 0.0, error / bound)
        ratio = np.where(np.isnan(got) | np.isnan(ratio), np.inf, ratio)
        ratio = np.where(np.isinf(bound), 0.0, ratio)
        telling = np.isfinite(bound) & ((np.abs(value) >= EFFECTIVE * bound) | (bound == 0))
    outcome = Outcome(what=expected.name, effective=bool(telling.any()))
    if not ratio.size:
        return outcome
    worst = int(np.argmax(ratio))
    outcome.ratio = float(ratio.flat[worst])
    outcome.index = tuple(int(x) for x in np.unravel_index(worst, ratio.shape))
    outcome.got, outcome.expected = float(got.flat[worst]), float(value.flat[worst])
    outcome.tolerance = float(bound.flat[worst])
    return outcome


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The worst of several outcomes on one example."""
    result = Outcome()
    for outcome in outcomes:
        result = result.worse(outcome)
    return result


def explain(judge: Judge, caller: Caller, outcome: Outcome, example: Example, what: str = "") -> Outcome:
    """Give a failing outcome its one line."""
    if not outcome.fails or outcome.message:
        return outcome
    place = "" if not outcome.index else "[" + ", ".join(map(str, outcome.index)) + "]"
    inputs = ", ".join(
        f"{name} {np.shape(value)}" if isinstance(value, np.ndarray) else f"{name} {value!r}"
        for name, value in example.inputs.items()
    )
    times = "" if not math.isfinite(outcome.ratio) else f" ({outcome.ratio:.3g} times the bound)"
    outcome.message = (
        f"{judge.formula.id}: {caller.name}: {what or outcome.what}{place} is {outcome.got:.9g}; expected "
        f"{outcome.expected:.9g} ± {outcome.tolerance:.2g}{times} for {inputs} in {example.dtype}"
    )
    outcome.violates = outcome.violates or judge.line_of(outcome.what)
    return outcome


def judge_value(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Call on an example and compare every output; a fault of the call is an infinite ratio."""
    arguments = caller.arguments(example.inputs, example.dtype, generator_seed=example.generator_seed)
    return judge_call(judge, caller, example, arguments)


def judge_call(
    judge: Judge,
    caller: Caller,
    example: Example,
    arguments: Sequence[Any],
    expected: Sequence[Expected] | None = None,
) -> Outcome:
    """As :func:`judge_value`, with the arguments made by the caller of this function."""
    try:
        got = caller.results(arguments, example.sizes, example.batch, example.dtype if judge.real else None)
    except Fault as fault:
        return Outcome(ratio=math.inf, message=str(fault), violates=judge.formula.title)
    if not judge.real:  # without real inputs the callable chooses the type, and the bound follows it
        example = replace(example, dtype=str(got[0].dtype).removeprefix("torch."))
    expected = judge.expect_batch(example) if expected is None else expected
    outcome = worst([compare(e, values(g)) for e, g in zip(expected, got, strict=True)])
    outcome.returned = example.dtype
    return explain(judge, caller, outcome, example)


__all__ = ["Expected", "Judge", "Outcome", "compare", "explain", "judge_call", "judge_value", "worst"]

"""The adjoint (first-order) error bound, for compositions too deep for the running one.

For a projection ``⟨G, output⟩`` the error is, to first order, the sum over all lines of (adjoint of the line) × (rounding
error made in that line alone). The result is doubled and must be called *first-order*. Where a comparison of inexact
numbers is not decided it is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spec.language.differentiation.gradients import ADJOINT, vjp
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import Evaluator
from spec.language.evaluation.families import Families
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.precision import Precision
from spec.language.evaluation.scope import is_inexact
from spec.language.evaluation.stepping import Place
from spec.language.evaluation.walk import Walk
from spec.language.expr import Compare, walk
from spec.language.formula import Formula
from spec.language.lines import Definition
from spec.language.ordering import arrange

USELESS = 1e-2
"""A relative first-order bound above this says nothing; a wider type must decide."""


@dataclass(frozen=True)
class FirstOrder:
    """A projection of the outputs, and how far (to first order, doubled) an implementation's may be from it."""

    value: float
    bound: float
    magnitude: float

    @property
    def useful(self) -> bool:
        """Whether the bound is small against the projection's terms."""
        return bool(self.bound <= USELESS * self.magnitude)


def first_order_bound(
    formula: Formula,
    inputs: Mapping[str, Any] | Sequence[Any],
    seeds: Mapping[str, Any] | Any,
    conventions: Mapping[str, str] | None = None,
    dtype: str = "float32",
) -> FirstOrder:
    """The first-order bound for ``Σ ⟨seeds, outputs⟩``, at these inputs, for an implementation in ``dtype``."""
    gradient = vjp(formula, None, conventions)
    if not isinstance(inputs, Mapping):
        inputs = {str(item): value for item, value in zip(formula.inputs, inputs, strict=False)}
    if not isinstance(seeds, Mapping):
        seeds = {formula.outputs[0].name: seeds}
    every = {**inputs, **gradient.seeded(seeds, bind(formula.flat(conventions), inputs).sizes)}
    precision = Precision.of(dtype, formula.choose(conventions)["intermediates"])
    bindings = bind(gradient.flat, every)
    forward = [line for line in gradient.flat.lines if line.name in gradient.forward]
    backward = [line for line in gradient.flat.lines if line.name not in gradient.forward]
    outputs = {t.name for t in formula.flat(conventions).outputs}
    local: dict[str, Num] = {}

    arithmetic = Walk(precision.operations)

    def forget(name: str, value: Any, place: Place | None) -> Any:
        if not isinstance(value, Num):
            return value
        if name in outputs or name in gradient.flat.stored:
            value = arithmetic.stored(value, precision.storage)
        if place is None:
            local[name] = value
        else:
            shape, index = place
            local[name] = arithmetic.put(
                local.get(name) or arithmetic.zeros(shape), index, value, accumulate=False
            )
        assert value.error is not None
        return Num(value.value, np.zeros_like(value.error), value.scale, value.low, value.lost)

    first = Evaluator(arithmetic, bindings, Families.of_lines(gradient.flat.lines))
    with np.errstate(all="ignore"):
        first.run(arrange(forward), forget)
        second = Evaluator(Walk(), bindings)
        second.booleans, second.integers = first.booleans, first.integers
        for name, value in first.tensors.items():
            second.tensors[name] = Num(value.value, None, value.scale)
        second.run(arrange(backward))
    running = Evaluator(Walk(precision.operations), bindings, first.families) if _compares(forward) else None
    if running is not None:
        with np.errstate(all="ignore"):
            running.run(arrange(forward))
    total = math.inf if running is not None and running.left_open else 0.0
    for name, value in local.items():
        slope = second.tensors.get(ADJOINT + name)
        if slope is not None:
            share = np.abs(slope.floats()) * np.where(slope.floats() == 0, 0.0, value.bounds())
            total += float(share.sum())
    results = {name: local[name].floats() for name in seeds}
    terms = {name: np.asarray(seed, dtype=np.float64) * results[name] for name, seed in seeds.items()}
    value = float(sum(part.sum() for part in terms.values()))
    return FirstOrder(value, 2 * total, float(sum(np.abs(part).sum() for part in terms.values())))


def _compares(lines: Sequence[Definition]) -> bool:
    """Whether some condition compares inexact numbers: across a jump the first order says nothing."""
    return any(
        isinstance(node, Compare) and any(is_inexact(part) for part in node.args[1:])
        for line in lines
        for node in walk(line.right)
    )


__all__ = ["FirstOrder", "first_order_bound"]

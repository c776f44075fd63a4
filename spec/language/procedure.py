"""Procedures: algorithms stated by what their result must satisfy, beside a plain executable reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.interpreter import Evaluator
from spec.language.evaluation.walk import Walk
from spec.language.expr import Tensor
from spec.language.formula import Formula
from spec.language.law import Axiom


@dataclass(frozen=True)
class Procedure:
    """An algorithm: the tensors it returns, the axioms they satisfy, and a reference that is plain rather than fast.

    ``reference`` takes the formula's inputs, in declared order, as NumPy arrays and Python numbers and returns the results
    as NumPy arrays. Each axiom's free indices run over ``axiom.over``.
    """

    returns: tuple[Tensor, ...]
    axioms: tuple[Axiom, ...]
    reference: Callable[..., tuple[Any, ...]]


def broken_axioms(
    formula: Formula, inputs: Mapping[str, Any], results: Sequence[Any]
) -> list[tuple[Axiom, tuple[int, ...]]]:
    """The axioms of a formula's procedure that ``results`` break, each with the first index at which it fails.

    Raises:
        ValueError: the formula states no procedure, or an input or result does not fit.
    """
    procedure = formula.procedure
    if procedure is None:
        raise ValueError(f"{formula.id} states no procedure")
    bindings = Bindings()
    for item in formula.inputs:
        if isinstance(item, Tensor):
            bindings.tensor(formula.id, item, inputs.get(item.name))
        else:
            bindings.sizes[item] = int(inputs[str(item)])
    for tensor, value in zip(procedure.returns, results, strict=True):
        bindings.tensor(formula.id, tensor, value)
    evaluator = Evaluator(Walk(), bindings)
    broken: list[tuple[Axiom, tuple[int, ...]]] = []
    for axiom in procedure.axioms:
        with evaluator.within([(symbol, 0, size - 1) for symbol, size in axiom.over], None):
            extent = tuple(len(evaluator.ranges[symbol]) for symbol, _ in axiom.over)
            held = np.broadcast_to(evaluator.condition(axiom.condition), extent)
        if not held.all():
            broken.append((axiom, tuple(int(place) for place in np.argwhere(~held)[0])))
    return broken

"""Gradients of what is drawn: given the draw, a real tensor that is returned is a differentiable function of the inputs.

That function is read off the law's axioms, which say what the tensor equals: “the context is the value at the index”. It becomes
a statement of its own, with what was drawn among its inputs, and is differentiated as any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from spec.language.arrays import DISCRETE, Tensor
from spec.language.evaluation.dimensions import whole
from spec.language.expr import Both, Case, Compare, Either, Ref, Undefined, case, lift
from spec.language.flatten import apply_conventions
from spec.language.formula import Formula
from spec.language.lines import define
from spec.language.trees import refs, substitute
from verify.faults import Fault
from verify.inputs.examples import Example, Recipe
from verify.properties.gradients import backward, compare_gradients
from verify.properties.judge import Expected, Judge
from verify.properties.plain_calls import GradientProperty
from verify.properties.setting import Setting
from verify.properties.slopes import differentiable, expect_gradients, of_what_is_said, with_cotangents
from verify.search.outcome import Outcome
from verify.subject.returned import values

SHARE = 4
"""One in so many examples of a value check."""


def judge_given_draw(judge: Judge) -> Judge | None:
    """The judge of what is returned beside the draw, a function of draw and inputs; None where all that is returned is drawn."""
    formula = _condition_on_draw(judge.formula, tuple(judge.conventions.items()))
    if formula is None:
        return None
    made = Judge(formula)
    made.oracle = judge.oracle
    return made


@lru_cache(maxsize=16)
def _condition_on_draw(formula: Formula, conventions: tuple[tuple[str, str], ...]) -> Formula | None:
    law = formula.law
    if law is None:
        return None
    made = [tensor for tensor in law.returns if tensor.domain not in DISCRETE]
    lines = []
    for tensor in made:
        for axiom in law.axioms:
            place, value = _equal(apply_conventions(axiom.condition, dict(conventions)), tensor)
            if place is not None:
                lines.append((place, value))
                break
    if not made or len(lines) < len(made):
        return None
    below, given = law.probability.shape[-1], {}
    for tensor in law.returns:
        if tensor not in made:
            given[tensor] = Tensor(tensor.name, tensor.shape, "integer", "data", below)
    fixed = []
    for place, value in lines:
        drawn = {ref: given[ref.tensor][ref.index] for ref in refs(value) if ref.tensor in given}
        fixed.append((place, substitute(value, drawn)))
    used = {ref.tensor for _, value in fixed for ref in refs(value)}
    inputs = [*given.values(), *formula.tensors]
    return Formula(
        f"{formula.id}_given_the_draw_{'_'.join(option for _, option in conventions)}",
        formula.title,
        inputs=tuple(item for item in inputs if item in used),
        lines=tuple(define(place, value) for place, value in fixed),
        outputs=tuple(made),
        auxiliary=True,
    )


def _equal(condition: Any, tensor: Tensor) -> tuple[Any, Any]:
    """The entry of a tensor, and what a condition says it is equal to; None where it says nothing of it."""
    if isinstance(condition, Compare):
        left, right = condition.args[1:]
        for one, other in ((left, right), (right, left)):
            if str(condition.args[0]) == "==" and isinstance(one, Ref) and one.tensor == tensor:
                return one, lift(other)
    if isinstance(condition, Either):  # said where the other condition fails
        for told, other in (condition.args, condition.args[::-1]):
            place, value = _equal(told, tensor)
            if place is not None:
                return place, case(other, Undefined(), value)
    if isinstance(condition, Both):
        return next(
            (found for found in (_equal(p, tensor) for p in condition.args) if found[0]), (None, None)
        )
    if isinstance(condition, Case):
        where, then, otherwise = condition.args
        (place, one), (_, other) = _equal(then, tensor), _equal(otherwise, tensor)
        if place is not None and other is not None:
            return place, case(where, one, other)
    return None, None


def judge_drawn(judge: Judge, given: Judge, setting: Setting, example: Example) -> Outcome:
    """The gradients that autograd finds of what is returned, against those of the function that the draw made of the inputs."""
    caller = setting.caller
    arguments = caller.arguments(
        example.inputs, example.dtype, grad=True, generator_seed=example.generator_seed
    )
    try:
        outputs = caller.results(arguments, example.sizes, example.batch, example.dtype)
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    inputs = dict(example.inputs)
    for item, value in zip(caller.returns, outputs, strict=True):
        if item not in given.flat.outputs:
            inputs[item.name] = np.maximum(values(value), 0).astype(np.int64)  # none: a case that is not read
    for item in judge.formula.tensors:
        if item.role == "mask" and inputs.get(item.name) is None:
            shape = tuple(whole(size, example.sizes) for size in item.shape)
            inputs[item.name] = np.full(shape, judge.formula.absent(judge.conventions))
    (asked,) = of_what_is_said(given, [example.replace_inputs(**inputs)])
    example = replace(example, cotangents=asked.cotangents)
    try:
        found = backward(caller, example, arguments, outputs)
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    wrt = differentiable(given)
    expected = expect_gradients(given, inputs, example.cotangents, wrt, example.dtype)
    for name in found:
        if name not in expected:
            zeros = np.zeros(np.shape(example.inputs[name]))
            expected[name] = Expected(name, zeros, zeros)
    return compare_gradients(judge, caller, example, found, expected)


class DrawnGradientProperty(GradientProperty):
    """The gradient of what is returned beside a draw, given that draw."""

    def __init__(self, setting: Setting, dtype: str) -> None:
        super().__init__(setting, dtype)
        self.name = f"gradient in {dtype}, given the draw"
        self.given = judge_given_draw(setting.judge)

    def reason_against(self) -> str:
        """Return why there is no such check: all that is returned is drawn."""
        some = self.given is not None and differentiable(self.given)
        return "" if some else "all that is returned is drawn"

    @cached_property
    def count(self) -> int:
        """A share of a value check's."""
        return max(1, self.setting.max_examples // SHARE)

    def example(self, recipe: Recipe) -> Example:
        """Draw an example with cotangents of what is returned beside the draw."""
        assert self.given is not None
        return with_cotangents(self.given, self.space.example(recipe, str(self.dtype)), recipe.seed)

    def announce(self, examples: Sequence[Example]) -> None:
        """Announce nothing: what will be asked depends on the draw."""

    def simpler(self, case: Example | None) -> Iterator[Any]:
        """None: a draw at other inputs is another."""
        return iter(())

    def judge(self, case: Example) -> Outcome:
        """The gradient, given the draw."""
        assert self.given is not None
        return judge_drawn(self.setting.judge, self.given, self.setting, case)


__all__ = ["DrawnGradientProperty", "judge_given_draw"]

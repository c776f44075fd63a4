"""Digits that are lost since a function is computed in another way, which is equal on paper.

The statement is written in that way, and its bound is derived anew. Where results that fail are within it, and the float64
arithmetic of the statement so written fails at most of the same examples, that way explains them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from verify.faults import Fault
from verify.inputs.examples import Example
from verify.properties.gradients import compared, pulled
from verify.properties.judge import Expected, Judge
from verify.properties.slopes import differentiable, expected_batch, unsaid, with_cotangents
from verify.properties.values import compare
from verify.search.evidence import Evidence
from verify.search.outcome import Outcome, worst
from verify.slips.roundabout import ROUNDABOUT

FEWEST, MOST, ALIKE = 2, 0.75, 0.9
"""How many examples have to fail; at which share of them the other way has to; and how many of those where it does have to be
among them, as a share."""
GRADIENTS = 60
"""Examples at which gradients are looked at."""
NEARBY, STEPS = 3, tuple(10.0 ** (-step / 2) for step in range(1, 9))
"""Of so many that fail, those of the smallest data, others are made, with smaller data yet: digits are lost little by little, and
not at once as beyond a limit."""
KIND = "float64"
"""The type in which the other way can be imitated: statements are evaluated in it."""


@dataclass(frozen=True)
class Seen:
    """What a callable did at an example: whether that is a violation, what is stated, and what a judge says of it."""

    example: Example
    fails: bool
    stated: Sequence[Expected]
    under: Callable[[Judge], tuple[Sequence[Expected], Outcome]]


def values_roundabout(evidence: Evidence) -> str:
    """Values that are those of another way, to its digits."""
    drawn = (each.example for each in evidence.drawn if each.fails and each.got is not None)
    return _explained(evidence, (each for each in drawn if each.dtype == KIND), _value)


def gradients_roundabout(evidence: Evidence) -> str:
    """Gradients that are those of another way, to its digits."""
    if KIND not in evidence.kinds or not differentiable(evidence.judge):
        return ""
    space = evidence.setting.space(moderate=True)
    drawn = (
        with_cotangents(evidence.judge, space.example(recipe, KIND), recipe.seed)
        for recipe in space.plan(GRADIENTS, evidence.setting.seed)
    )
    return _explained(evidence, drawn, _gradient)


def _explained(
    evidence: Evidence, drawn: Iterable[Example], look: Callable[[Evidence, Example], Seen | None]
) -> str:
    others = [(way, evidence.judge.written(way)) for way in ROUNDABOUT]
    others = [(way, other) for way, other in others if other.flat is not evidence.judge.flat]
    if not others:
        return ""
    failing = [each for each in _looked(evidence, drawn, look) if each.fails]
    nearest = sorted(failing, key=lambda each: _size(evidence, each.example))[:NEARBY]
    smaller = (_smaller(evidence, each.example, step) for each in nearest for step in STEPS)
    seen = [*failing, *_looked(evidence, smaller, look)]
    if sum(each.fails for each in seen) >= FEWEST and not evidence.late:
        for way, other in others:
            if _fits(other, seen):
                return way.says
    return ""


def _looked(
    evidence: Evidence, examples: Iterable[Example], look: Callable[[Evidence, Example], Seen | None]
) -> Iterator[Seen]:
    for example in examples:
        if evidence.late:
            return
        seen = look(evidence, example)
        if seen is not None:
            yield seen


def _data(evidence: Evidence) -> list[str]:
    return [t.name for t in evidence.formula.tensors if t.role == "data" and t.domain == "real"]


def _size(evidence: Evidence, example: Example) -> float:
    return max(
        (float(np.abs(example.inputs[name]).max(initial=0.0)) for name in _data(evidence)), default=0.0
    )


def _smaller(evidence: Evidence, example: Example, step: float) -> Example:
    """The example with all real data made smaller."""
    return example.changed(**{name: example.inputs[name] * step for name in _data(evidence)})


def _fits(other: Judge, every: Sequence[Seen]) -> bool:
    """Whether all that was seen is within the other way's bound, and most of what fails is where that way loses digits."""
    failing, losing, both = 0, 0, 0
    for seen in every:
        said, outcome = seen.under(other)
        if outcome.fails:
            return False
        lost = any(compare(mine, each.value).fails for mine, each in zip(seen.stated, said, strict=True))
        failing, losing, both = failing + seen.fails, losing + lost, both + (lost and seen.fails)
    return both >= MOST * failing and both >= ALIKE * losing


def _value(evidence: Evidence, example: Example) -> Seen | None:
    witness = evidence.called(example)
    if witness.got is None:
        return None
    got = witness.got

    def under(other: Judge) -> tuple[Sequence[Expected], Outcome]:
        said = other.expect(example.inputs, KIND, rigorous=False)
        return said, worst([compare(e, g) for e, g in zip(said, got, strict=True)])

    return Seen(example, witness.fails, evidence.judge.expect(example.inputs, KIND), under)


def _gradient(evidence: Evidence, example: Example) -> Seen | None:
    judge, caller = evidence.judge, evidence.caller
    arguments = caller.arguments(example.inputs, KIND, grad=True, generator_seed=example.generator_seed)
    try:
        found = pulled(caller, example, arguments)
    except Fault:
        return None
    if unsaid(judge, example):
        return None

    def under(by: Judge) -> tuple[Sequence[Expected], Outcome]:
        said = expected_batch(by, example, list(found))
        return list(said.values()), compared(by, caller, example, found, said)

    stated, outcome = under(judge)
    return Seen(example, outcome.fails, stated, under)


__all__ = ["gradients_roundabout", "values_roundabout"]

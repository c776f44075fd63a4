"""Hints: what would explain a falsification. Another convention, inputs of a certain size, or slots that nobody reads."""

from __future__ import annotations

import math

import numpy as np

from verify.faults import Unsupported
from verify.inputs.examples import Example
from verify.properties.gradients import REAL
from verify.properties.leaks import UNREAD
from verify.properties.values import Judge, Outcome, judge_value
from verify.report import Report
from verify.search.checks import Setting, conforming
from verify.search.edge_checks import REMEDY, leaking

LEAST = 40
"""Examples that are looked at, at least."""

EXACT = 1e-3
"""An error below so small a share of the bound tells nothing: the result was exact by its nature (a one, a zero)."""

Judged = list[tuple[Example, Outcome]]


def hint(setting: Setting, report: Report, kinds: list[str]) -> str:
    """What would explain the falsification, in a sentence; empty if nothing is found."""
    judge, caller = setting.judge, setting.caller
    if judge.formula.law is not None or caller.hung:
        return ""
    failed = report.falsified
    try:
        if any(c.kind == "value" for c in failed):
            examples = _examples(setting, kinds)
            other = conforming(judge, caller, examples, lambda choice: Judge(judge.formula, choice))
            return f"conforms under convention {other}" if other else _where(setting, examples)
        if failed and all(c.name == f"robustness: {UNREAD}" for c in failed):
            return _unread(setting, kinds[0])
    except Unsupported:
        pass
    return ""


def _examples(setting: Setting, kinds: list[str]) -> list[Example]:
    space = setting.space()
    batches = any(t.role == "data" for t in setting.judge.formula.tensors)
    examples: list[Example] = []
    for turn, recipe in enumerate(space.plan(max(LEAST, setting.max_examples), setting.seed)):
        batch = (2,) if batches and recipe.seed % 8 == 0 else ()
        examples.append(space.example(recipe, kinds[turn % len(kinds)], batch))
    return examples


def _where(setting: Setting, examples: list[Example]) -> str:
    """Whether it fails only on inputs of a certain size, or only in a few regimes."""
    judge, caller = setting.judge, setting.caller
    judged: Judged = [(example, judge_value(judge, caller, example)) for example in examples]
    failing = [(e, o) for e, o in judged if o.fails]
    passing = [(e, o) for e, o in judged if not o.fails and o.ratio > EXACT]
    if len(failing) < 3 or len(passing) < 3 or any(o.got is None for _, o in failing):
        return ""
    example, outcome = max(failing, key=lambda pair: pair[1].ratio)
    times = f"{outcome.ratio:.3g} times the bound" if math.isfinite(outcome.ratio) else f"got {outcome.got}"
    worst = f"worst at “{example.regime}”: {times}"
    names = [t.name for t in judge.formula.tensors if t.role == "data" and t.domain in REAL]
    if names:
        bad, good = ([_largest(e, names) for e, _ in part] for part in (failing, passing))
        least, larger = min(bad), float(np.mean([x > y for x in bad for y in good]))
        # Large inputs explain it if what fails is mostly larger than what passes, and by a factor that is no accident.
        if larger >= 0.85 and least >= 10 * float(np.median(good)):
            said = "an entry of " + (
                names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
            )
            return f"fails only where {said} reaches {least:.2g} in size ({worst}): the error grows with the inputs"
    where, fine = {e.regime for e, _ in failing}, {e.regime for e, _ in passing}
    if not where & fine and 3 * len(where) <= len(where | fine):
        return f"fails only in {len(where)} of the {len(where | fine)} regimes drawn ({worst})"
    return ""


def _largest(example: Example, names: list[str]) -> float:
    return max((float(np.abs(example.inputs[name]).max(initial=0.0)) for name in names), default=0.0)


def _unread(setting: Setting, dtype: str) -> str:
    """Which inputs leak from slots that nothing reads, where all else conforms."""
    found = leaking(setting, dtype)
    if not found:
        return ""
    return (
        f"values, gradients and theorems conform; only NaN or infinity in slots of {', '.join(found)} that nothing "
        f"reads reaches the output ({REMEDY}). Under convention unread=ignored this is accepted"
    )


__all__ = ["hint"]

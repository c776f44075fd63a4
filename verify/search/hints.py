"""What explains a falsification, in a sentence: other conventions, a cause, inputs of a certain size, slots that nobody reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from verify.faults import Unsupported
from verify.inputs.examples import Example
from verify.properties.gradients import REAL
from verify.properties.leaks import UNREAD
from verify.properties.values import Outcome
from verify.report import Report
from verify.search.between_calls import kept_between_calls
from verify.search.causes.table import CAUSES, FORMS, SLOPES, cause
from verify.search.edge_checks import REMEDY, leaking
from verify.search.elsewhere import beyond_values, in_single_precision
from verify.search.evidence import Evidence
from verify.search.nearest import Nearest, nearest
from verify.search.setting import Setting

CLEARLY = 0.8
"""The share of the examples that have to conform under other conventions, for these to be the explanation."""

EXACT = 1e-3
"""An error below so small a share of the bound tells nothing: the result was exact by its nature (a one, a zero)."""

Judged = list[tuple[Example, Outcome]]


@dataclass(frozen=True)
class Explained:
    """What explains a falsification: a sentence; what of the conventions it changes, if that does; whether it was looked for.

    ``others``: what else may be changed, if it fails under these after all.
    """

    said: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)
    tried: bool = False
    others: tuple[Mapping[str, str], ...] = ()


def explained(setting: Setting, report: Report, kinds: list[str]) -> Explained:
    """What explains what was falsified; nothing where nothing was found."""
    judge, caller = setting.judge, setting.caller
    failed = report.falsified
    if judge.formula.law is not None or caller.hung or not failed:
        return Explained()
    try:
        if any(c.kind == "value" for c in failed):
            kept = kept_between_calls(setting, kinds)
            if kept is not None:
                report.checks.append(kept)
                return Explained(kept.message, tried=True)
            return replace(wrong_values(Evidence(setting, kinds)), tried=True)
        if any(c.kind in ("gradient", "theorem") for c in failed):
            near = beyond_values(setting, report, kinds)
            if near is not None:
                return replace(_conforming(near), tried=True)
            sloped = any(c.kind == "gradient" for c in failed)
            return Explained(cause(Evidence(setting, kinds), SLOPES) if sloped else "", tried=True)
        if all(c.name == f"robustness: {UNREAD}" for c in failed):
            return Explained(_unread(setting, kinds[0]))
    except Unsupported:
        pass
    return Explained()


def wrong_values(evidence: Evidence) -> Explained:
    """What explains wrong values: results of another form first, then conventions, causes, and where it happens."""
    said = cause(evidence, FORMS)
    if said:
        return Explained(said)
    near = nearest(evidence, evidence.setting.named)
    if near is not None and near.conforming >= CLEARLY * near.examples:
        return _conforming(near)
    single = in_single_precision(evidence)
    if single is not None:
        return _conforming(single)
    evidence.anew()
    said = cause(evidence, CAUSES)
    if said:
        return Explained(said)
    if near is not None and near.telling:
        return Explained(
            f"nearest to convention {near.said}: conforms at {near.conforming} of {near.examples} examples"
        )
    return Explained(_where(evidence))


def _conforming(near: Nearest) -> Explained:
    few = "" if near.all else f" at {near.conforming} of {near.examples} examples"
    return Explained(f"conforms under convention {near.said}{few}", near.changes, others=near.others)


def _where(evidence: Evidence) -> str:
    """Whether it fails only on inputs of a certain size, or only in a few regimes."""
    judge = evidence.judge
    judged: Judged = [(w.example, w.outcome) for w in evidence.drawn]
    failing = [(e, o) for e, o in judged if o.fails]
    passing = [(e, o) for e, o in judged if not o.fails and o.ratio > EXACT]
    if len(failing) < 3 or any(o.got is None for _, o in failing):
        return ""
    odd = _odd([e for e, _ in failing], [e for e, o in judged if not o.fails])
    if odd:
        return f"fails only where {odd} is odd"
    if len(passing) < 3:
        return ""
    example, outcome = max(failing, key=lambda pair: pair[1].ratio)
    times = f"{outcome.ratio:.3g} times the bound" if math.isfinite(outcome.ratio) else f"got {outcome.got}"
    worst = f"worst at “{example.regime}”: {times}"
    names = [t.name for t in judge.formula.tensors if t.role == "data" and t.domain in REAL]
    if names:
        bad, good = ([_largest(e, names) for e, _ in part] for part in (failing, passing))
        least, larger = min(bad), float(np.mean([x > y for x in bad for y in good]))
        # Large inputs explain it if what fails is mostly larger than what passes, and by a factor that is no accident; not where
        # ordinary inputs fail, and those near 0 pass since little is left of them to be wrong.
        if not evidence.everywhere and larger >= 0.85 and least >= 10 * float(np.median(good)):
            said = "an entry of " + (
                names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
            )
            return f"fails only where {said} reaches {least:.2g} in size ({worst}): the error grows with the inputs"
    where, fine = {e.regime for e, _ in failing}, {e.regime for e, _ in passing}
    if not where & fine and 3 * len(where) <= len(where | fine):
        return f"fails only in {len(where)} of the {len(where | fine)} regimes drawn ({worst})"
    return ""


def _odd(failing: list[Example], passing: list[Example]) -> str:
    """The size that is odd wherever it fails, and even wherever it passes or most of the time (a size of one has no pair)."""
    for size in failing[0].sizes:
        if all(e.sizes[size] % 2 for e in failing) and passing:
            even = sum(e.sizes[size] % 2 == 0 or e.sizes[size] == 1 for e in passing)
            if even >= CLEARLY * len(passing):
                return str(size)
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


__all__ = ["Explained", "explained", "wrong_values"]

"""Where a callable fails, if no cause is known: in some calls alone, at some sizes, at large entries, in a few regimes."""

from __future__ import annotations

import math

import numpy as np

from verify.inputs.examples import Example
from verify.properties.slopes import REAL
from verify.report import Report
from verify.search.at_sizes import EXACT, ONLY_WHERE, at_sizes
from verify.search.causes.behaviour import UNSTEADY, drawn_from_outside
from verify.search.evidence import Evidence
from verify.search.outcome import Outcome
from verify.subject.caller import Offence

GROWS = "the error grows with the inputs"
"""How it ends what is said of entries of a certain size."""
AGAIN = 8
"""So many of the examples that fail are called again."""
SOME = 1 / 4
"""The share of them that is right then, of a callable that is not the same from call to call; of others none is."""

Judged = list[tuple[Example, Outcome]]


def whereabouts(evidence: Evidence, report: Report | None = None) -> str:
    """The first that shows; empty if nothing does."""
    offences = evidence.caller.offences
    if "inputs" in offences:
        return writes(offences["inputs"])
    evidence.anew()
    said = drawn_from_outside(evidence) or at_sizes(evidence, report) or _entries(evidence)
    if not said and "generator" in offences:
        return "it draws from a global random generator, which may be why (is dropout left on?)"
    return said


def unsteady(hint: str) -> bool:
    """Whether it was said that one call shows nothing."""
    return hint.startswith(UNSTEADY)


def by_sizes(hint: str) -> bool:
    """Whether it was said at which sizes, or under which masks, a callable fails: no limit on entries makes it right there."""
    return ONLY_WHERE in hint and not hint.endswith(GROWS)


def writes(offence: Offence) -> str:
    """That a callable writes to what it is given."""
    return (
        f"it writes to its input {', '.join(offence.written)}: the caller's tensor is another after the call"
    )


# Some calls alone --------------------------------------------------------------------------------------------------------


def now_and_then(evidence: Evidence) -> str:
    """That what failed is right when it is called again, if it is."""
    failing = [w for w in (*evidence.ordinary, *evidence.drawn) if w.fails][:AGAIN]
    again = evidence.seen([w.example for w in failing])
    right = sum(not w.fails for w in again)
    if right < SOME * max(1, len(failing)):
        return ""
    one = len(failing) == 1
    return (
        f"{UNSTEADY}: {'an example that failed is' if one else f'of {len(failing)} examples that failed {right} are'} right "
        f"when {'it is' if one else 'they are'} called again (is something kept, or drawn at random?)"
    )


# Some entries alone ------------------------------------------------------------------------------------------------------


def _entries(evidence: Evidence) -> str:
    """Whether it fails only on inputs of a certain size, or only in a few regimes."""
    judge = evidence.judge
    judged: Judged = [(w.example, w.outcome) for w in evidence.drawn]
    failing = [(e, o) for e, o in judged if o.fails]
    passing = [(e, o) for e, o in judged if not o.fails and o.ratio > EXACT]
    if min(len(failing), len(passing)) < 3 or any(o.got is None for _, o in failing):
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
            return f"{ONLY_WHERE} {said} reaches {least:.2g} in size ({worst}): {GROWS}"
    where, fine = {e.regime for e, _ in failing}, {e.regime for e, _ in passing}
    if not where & fine and 3 * len(where) <= len(where | fine):
        return f"fails in {len(where)} of the {len(where | fine)} regimes drawn ({worst})"
    return ""


def _largest(example: Example, names: list[str]) -> float:
    return max((float(np.abs(example.inputs[name]).max(initial=0.0)) for name in names), default=0.0)


__all__ = ["now_and_then", "unsteady", "whereabouts", "writes"]

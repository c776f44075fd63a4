"""Where a callable fails, if no cause is known: in some calls alone, at some sizes, at large entries, in a few regimes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spec.language.evaluation.binding import sizes_at
from spec.language.evaluation.dimensions import Size
from verify.inputs.examples import Example, Recipe
from verify.properties.gradients import REAL
from verify.properties.values import Outcome
from verify.report import Counterexample, Report
from verify.search.evidence import MOST, SPOILT, Evidence, Witness

CLEARLY = 0.8
"""The share of examples that tells a size that is odd."""
EXACT = 1e-3
"""An error below so small a share of the bound tells nothing: the result was exact by its nature (a one, a zero)."""
AGAIN = 8
"""So many of the examples that fail are called again."""
TURNS = 4
"""Examples at the same sizes, every other one with a mask: those that fail at the sizes of the counterexample have to fail."""
EDGE = 3
"""From a smaller size on what fails is no matter of that size: at one or two entries much is right by chance."""
UNSTEADY = "not the same from call to call"
"""How it begins what is said of a callable of which one call shows nothing."""

Judged = list[tuple[Example, Outcome]]
Sizes = Mapping[Size, int]


def whereabouts(evidence: Evidence, report: Report | None = None) -> str:
    """The first that shows; empty if nothing does."""
    offences = evidence.caller.offences
    if "inputs" in offences:
        return writes(offences["inputs"].message)
    return _unsteady(evidence) or _at_sizes(evidence, report) or _entries(evidence)


def unsteady(hint: str) -> bool:
    """Whether it was said that one call shows nothing."""
    return hint.startswith(UNSTEADY)


def writes(said: str) -> str:
    """That a callable writes to what it is given, from what was said of the call in which it did."""
    what = said.partition(" changes its input ")[2].partition(" in place")[0]
    return f"it writes to its input {what}: the caller's tensor has other values after the call"


# Some calls alone --------------------------------------------------------------------------------------------------------


def _unsteady(evidence: Evidence) -> str:
    """Whether what failed is right when it is called again."""
    failing = [w for w in (*evidence.ordinary, *evidence.drawn) if w.fails][:AGAIN]
    again = evidence.seen([w.example for w in failing])
    right = sum(not w.fails for w in again)
    if not failing or right < MOST * len(failing):
        drawn = "generator" in evidence.caller.offences and evidence.everywhere
        return "it draws from a global random generator, and need not (is dropout left on?)" if drawn else ""
    one = len(failing) == 1
    return (
        f"{UNSTEADY}: {'an example that failed is' if one else f'of {len(failing)} examples that failed {right} are'} right "
        f"when {'it is' if one else 'they are'} called again (is something kept, or drawn at random?)"
    )


# Some sizes alone --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A rule that sizes obey or not: how it is said, and sizes to try at which it holds, and at which it does not."""

    said: str
    holds: Callable[[Sizes], bool]
    inside: tuple[Mapping[Size, int], ...]
    outside: tuple[Mapping[Size, int], ...]


def _at_sizes(evidence: Evidence, report: Report | None) -> str:
    """A rule for sizes at which all fails, while nothing fails where it does not hold."""
    failing = [w for w in (*evidence.ordinary, *evidence.drawn) if w.fails]
    passing = [w for w in (*evidence.ordinary, *evidence.drawn) if not w.fails and w.outcome.ratio > EXACT]
    base = _base(evidence, report, failing)
    if base is None:
        return ""
    probes = Probes(evidence, base)
    for rule in _rules(base):
        if evidence.late:
            return ""
        bad = sum(rule.holds(w.example.sizes) for w in failing)
        good = sum(not rule.holds(w.example.sizes) for w in passing)
        if bad < MOST * len(failing) or good < (1 - SPOILT) * len(passing):
            continue
        if all(map(probes.fail, rule.inside)) and all(map(probes.pass_, rule.outside)):
            return f"fails only where {rule.said}{probes.condition}{probes.raised}"
    return ""


def _base(evidence: Evidence, report: Report | None, failing: list[Witness]) -> Sizes | None:
    """The sizes of the counterexample, which was made small; of an example that fails, where there is none."""
    for check in report.falsified if report is not None else ():
        found: Counterexample | None = check.counterexample
        if check.kind == "value" and found is not None and not found.calls:
            given = found.inputs
            if all(np.ndim(given.get(t.name, 0)) in (0, len(t.shape)) for t in evidence.formula.tensors):
                return dict(sizes_at(evidence.judge.flat, given))
    return min((w.example.sizes for w in failing), key=lambda sizes: sum(sizes.values()), default=None)


class Probes:
    """Calls at sizes that differ from some in a few, each made once; ``raised`` is what those say that raise."""

    def __init__(self, evidence: Evidence, base: Sizes) -> None:
        self.evidence, self.base, self.raised = evidence, base, ""
        self._found: dict[tuple[int, ...], list[Witness]] = {}
        failing = [turn for turn, witness in enumerate(self._at({})) if witness.fails]
        self.turns = [turn for turn in failing if turn % 2 == 0] or failing
        """The examples that fail at these sizes; those without a mask, if there are any: a mask may hide what is wrong."""

    def fail(self, changes: Sizes) -> bool:
        """Whether the calls fail there, too; where there can be none, this is not the reason."""
        found = self._at(changes)
        return bool(found) and bool(self.turns) and all(found[turn].fails for turn in self.turns)

    def pass_(self, changes: Sizes) -> bool:
        """Whether no call fails."""
        found = self._at(changes)
        return bool(found) and not any(w.fails for w in found)

    @property
    def condition(self) -> str:
        """What else has to hold, as it seems."""
        masks = [t.name for t in self.evidence.formula.tensors if t.role == "mask"]
        masked = (
            {w.example.inputs.get(masks[0]) is not None for w in self._at({}) if w.fails} if masks else ()
        )
        other = (
            {w.example.inputs.get(masks[0]) is not None for w in self._at({}) if not w.fails} if masks else ()
        )
        if len(masked) != 1 or masked == other or not other:
            return ""
        return " and there is a mask" if True in masked else " and there is no mask"

    def _at(self, changes: Sizes) -> list[Witness]:
        sizes = {**self.base, **changes}
        key = tuple(sizes.values())
        if key not in self._found:
            self._found[key] = self._called(sizes)
        return self._found[key]

    def _called(self, sizes: dict[Size, int]) -> list[Witness]:
        """One call for each turn; none where not all can be made."""
        evidence, space = self.evidence, self.evidence.setting.space()
        if not evidence.caller.sizes.fits(sizes) or space.sizing.affordable(sizes) != sizes:
            return []
        recipes = [Recipe(sizes=0, regime=0, other=0, mask=t % 2, number=0, seed=t) for t in range(TURNS)]
        found = evidence.seen([space.example(recipe, evidence.kind, sizes=sizes) for recipe in recipes])
        raised = [w.said.partition(" raised ")[2].partition(" for ")[0] for w in found if w.got is None]
        self.raised = next((f": it raises {said}" for said in raised if said), self.raised)
        return found if len(found) == TURNS else []


def _rules(base: Sizes) -> Iterator[Rule]:
    """The rules that some sizes obey, the plainest first."""
    for a, v in base.items():
        if v == 1:
            yield Rule(f"{a} = 1", _one(a), ({},), ({a: 2}, {a: 3}, {a: 5}))
    pairs = [(a, b) for a in base for b in base if str(a) < str(b) and base[a] == base[b]]
    for a, b in pairs:
        v = base[a]
        apart = ({a: v + 1}, {b: v + 1}, {a: 2 * v + 1})
        yield Rule(f"{a} = {b}", _equal(a, b), ({}, {a: v + 1, b: v + 1}, {a: 2 * v, b: 2 * v}), apart)
    for a, v in base.items():
        if v >= EDGE:
            yield Rule(
                f"{a} ≥ {v}", _least(a, v), ({}, {a: v + 1}, {a: 2 * v + 1}), ({a: v - 1}, {a: v // 2})
            )
    for a, v in base.items():
        for b, u in base.items():
            if v > u:
                yield Rule(
                    f"{a} > {b}", _larger(a, b), ({}, {a: u + 1}, {a: 2 * u + 1}), ({a: u}, {a: u, b: u + 2})
                )
    for a, v in base.items():
        if v >= EDGE:
            said = f"{a} is a multiple of {v}"
            yield Rule(said, _multiple(a, v), ({}, {a: 2 * v}), ({a: v - 1}, {a: v + 1}, {a: 2 * v - 1}))


def _one(a: Size) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[a] == 1


def _equal(a: Size, b: Size) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[a] == sizes[b]


def _least(a: Size, v: int) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[a] >= v


def _odd_from(a: Size, v: int) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[a] >= v and sizes[a] % 2 == 1


def _larger(a: Size, b: Size) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[a] > sizes[b]


def _multiple(a: Size, v: int) -> Callable[[Sizes], bool]:
    return lambda sizes: sizes[a] % v == 0


# Some entries alone ------------------------------------------------------------------------------------------------------


def _entries(evidence: Evidence) -> str:
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


__all__ = ["unsteady", "whereabouts", "writes"]

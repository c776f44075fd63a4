"""The conventions nearest to a callable: every combination is tried, and a majority of the examples decides.

Those that fare alike are told apart at further examples, at which they differ; what nothing tells apart is said together. Where
values in float64 do not tell, others do: float32 of what computes in float32 inside; more examples, or gradients, of what
fails there alone; a few draws, and then all, of a law.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice, product

import numpy as np

from spec.language.convention import INTERMEDIATES, Convention
from spec.language.formula import Formula
from spec.language.procedure import Procedure
from verify.edges import ARITHMETIC, STRICT
from verify.explain import evidence as budget
from verify.explain.evidence import SEED, SPOILT, Evidence, Witness, same
from verify.inputs.examples import Example, round_to
from verify.laws.checking import check_law
from verify.properties.judge import Expected, Judge
from verify.properties.plain_calls import check_gradients, check_values
from verify.properties.precision import digits_inside
from verify.properties.setting import Setting
from verify.properties.unsaid_sizes import restrict_to_stated
from verify.properties.values import compare
from verify.report import CONFORMS, FALSIFIED, CheckResult, Report, either_said

MOST = 2
"""Other choices that are tried where the nearest fails after all: each is a check of its own."""
MAJORITY = 0.5
"""The share of the examples failing by default that have to conform under other conventions."""
CLEARLY = 0.8
"""The share of all examples that have to conform under other conventions, for these to be the explanation."""
COARSE, FEW = 1e-5, 3
"""An error below this share of the largest entry may be float32's: on ordinary data its roundings come to far less. So many
examples are looked at under each choice of conventions."""
ENOUGH = 8
"""About so many failing examples, from all over, are tried first; conventions under which most of them fail are refused."""
FURTHER, AT_ONCE = 120, 12
"""So many further examples are looked at for some at which conventions differ, so many at a time."""
SCALES = (1.0, 1e1, 1e2, 1e3, 1e5, 1e7, 1e8)
"""By what their data are multiplied, in turn: fills of masks differ where scores come near to them."""
TRIED = 0.02
"""The share of the draws with which another combination of conventions is tried first: most are refused by a few."""


@dataclass(frozen=True)
class Nearest:
    """A choice of conventions and what it changes; how many of the examples conform under it, of how many.

    ``others``: changes under which more of them conform, or which leave unsaid what values alone do not settle: of a mask that is
    added the gradients are no mean's. ``alike``: changes that nothing tells from these. ``telling``: it says something of one
    that fails by default.
    """

    judge: Judge
    changes: dict[str, str]
    conforming: int
    examples: int
    others: tuple[Mapping[str, str], ...] = ()
    alike: tuple[Mapping[str, str], ...] = ()
    telling: bool = True

    @cached_property
    def changes_text(self) -> str:
        """What it changes: ``eps=outside, divisor=unbiased``; and what else it may be."""
        return either_said(self.changes, self.alike)

    @property
    def vacuous(self) -> bool:
        """Whether what fails by default lies within bounds that say nothing, though nothing is left unsaid of it."""
        return not self.telling and not self.judge.partial

    @property
    def is_clear(self) -> bool:
        """Whether it explains what fails."""
        return not self.vacuous and self.conforming >= CLEARLY * self.examples


def combinations(
    formula: Formula | Procedure, chosen: Mapping[str, str], named: Collection[str] = ()
) -> list[dict[str, str]]:
    """Every other combination of conventions as what it changes, fewest changes first; those ``named`` stay."""
    conventions: tuple[Convention, ...] = tuple(c for c in formula.conventions if c.name not in named)
    every = [
        {c.name: option for c, option in zip(conventions, options, strict=True) if option != chosen[c.name]}
        for options in product(*(c.options for c in conventions))
    ]
    return sorted((changes for changes in every if changes), key=len)


def nearest(evidence: Evidence, named: Collection[str] = ()) -> Nearest | None:
    """The conventions under which most of what fails conforms, those ``named`` unchanged; None where there are none.

    An option that leaves something unsaid is taken only where none that says it will do. Arithmetic that rounds every
    operation is the last resort: it widens every bound.
    """
    judge = evidence.judge
    called = (*evidence.drawn, *evidence.ordinary)
    witnesses = [w for w in called if w.got is not None]
    failing = [w for w in witnesses if w.fails]
    if not failing:
        return None
    found: list[tuple[tuple[bool, bool, bool, int], Nearest]] = []
    for changes in _candidates(evidence, named, failing):
        other = Judge(judge.formula, {**judge.conventions, **changes})
        made = _try_conventions(evidence, other, changes, called)
        if made is not None:
            left = made.examples - made.conforming
            found.append(((left > SPOILT * made.examples, made.vacuous, other.partial, left), made))
    if not found:
        return (
            None
            if judge.conventions["intermediates"] == "storage"
            else _try_storage_rounding(evidence, called)
        )
    found.sort(key=lambda each: each[0])  # fewest changes first, as they were tried
    tied = [made for key, made in found if key == found[0][0]]
    rest = [made for key, made in found[len(tied) :]]
    first, *alike = _hold_further(evidence, tied)
    alike = [made for made in alike if len(made.changes) == len(first.changes)]
    after = [r for r in rest if r.judge.partial > first.judge.partial or r.conforming > first.conforming]
    others = [made.changes for made in (*alike, *after)]
    return replace(
        first, others=tuple(others[: max(MOST, len(alike))]), alike=tuple(made.changes for made in alike)
    )


def _hold_further(evidence: Evidence, tied: list[Nearest]) -> list[Nearest]:
    """Those that hold at further examples at which they differ beyond their bounds; all where none does."""
    space, kinds, left = evidence.setting.space(), evidence.kinds, list(tied)
    recipes = iter(enumerate(space.plan(FURTHER, SEED + 3)))
    while len(left) > 1 and not evidence.late and (turn := list(islice(recipes, AT_ONCE))):
        examples = [
            _scaled(evidence, space.example(recipe, kinds[place % len(kinds)]), SCALES[place % len(SCALES)])
            for place, recipe in turn
        ]
        for each in left:
            each.judge.announce(examples)
        for example in examples:
            said = [each.judge.expect(example.inputs, example.dtype, rigorous=False) for each in left]
            if not any(map(partial(_differ, said[0]), said[1:])):
                continue
            for witness in (each for each in evidence.call_each([example]) if each.got is not None):
                left = [each for each in left if not evidence.under(each.judge, witness).fails] or left
    return left


def _scaled(evidence: Evidence, example: Example, scale: float) -> Example:
    """An example with its real data multiplied, within what is supported."""
    changed = {name: round_to(scale * example.inputs[name], example.dtype) for name in evidence.data}
    return evidence.setting.space().restrict(example.replace_inputs(**changed))


def _differ(said: Sequence[Expected], others: Sequence[Expected]) -> bool:
    """Whether two statements say what no result can be, in some entry."""
    with np.errstate(all="ignore"):
        return any(
            bool((np.abs(one.value - two.value) > one.bound + two.bound).any())
            for one, two in zip(said, others, strict=True)
        )


def _candidates(evidence: Evidence, named: Collection[str], failing: list[Witness]) -> list[dict[str, str]]:
    """The combinations that a few of the failing examples leave, fewest changes first.

    Where some fail without a mask these are taken. Conventions that change nothing there are not multiplied with the others:
    what these leave is refused or kept whatever they say. With masks all are multiplied: one says what another makes of them.
    """
    judge = evidence.judge
    plain = [w for w in failing if evidence.unmasked(w)]
    first = (plain or failing)[:: max(1, len(plain or failing) // ENOUGH)]
    judges: dict[frozenset[tuple[str, str]], Judge] = {}

    def under(changes: Mapping[str, str]) -> Judge:
        key = frozenset(changes.items())
        if key not in judges:
            judges[key] = Judge(judge.formula, {**judge.conventions, **changes})
            judges[key].announce(w.example for w in first)
        return judges[key]

    def moves(name: str, option: str) -> bool:
        other = under({name: option})
        return any(not same(evidence.said(other, w), evidence.said(judge, w)) for w in first)

    def is_left(changes: frozenset[tuple[str, str]]) -> bool:
        other = under(dict(changes))
        outcomes = [evidence.under(other, w) for w in first]
        right = sum(outcome.effective and not outcome.fails for outcome in outcomes)
        return sum(outcome.fails for outcome in outcomes) <= right

    every = combinations(judge.formula, judge.conventions, named)
    single = [next(iter(changes.items())) for changes in every if len(changes) == 1]
    moving = {name for name, option in single if not plain or moves(name, option)}
    parts = {frozenset((n, o) for n, o in changes.items() if n in moving) for changes in every}
    left = {part for part in parts if is_left(part)}
    return [c for c in every if frozenset((n, o) for n, o in c.items() if n in moving) in left]


def drop_unstated(judge: Judge, changes: Mapping[str, str]) -> dict[str, str]:
    """Changes without those that only leave more unsaid than a judge does."""

    def leaves_unstated(name: str, option: str) -> bool:
        return Judge(judge.formula, {**judge.conventions, name: option}).partial > judge.partial

    return {
        name: option
        for name, option in changes.items()
        if name not in judge.conventions or not leaves_unstated(name, option)
    }


def _try_storage_rounding(evidence: Evidence, called: Sequence[Witness]) -> Nearest | None:
    judge, changes = evidence.judge, {INTERMEDIATES.name: "storage"}
    return _try_conventions(evidence, Judge(judge.formula, {**judge.conventions, **changes}), changes, called)


def _try_conventions(
    evidence: Evidence, other: Judge, changes: dict[str, str], called: Sequence[Witness]
) -> Nearest | None:
    """How other conventions fare, where anything is said under them; None where most fails there as well."""
    said = restrict_to_stated(other, evidence.caller.sizes) if other.partial else evidence.caller.sizes
    called = [w for w in called if said.fits(w.example.sizes)]
    witnesses = [w for w in called if w.got is not None]
    failing = [w for w in witnesses if w.fails]
    if not failing or len(witnesses) < MAJORITY * len(called):
        return None
    other.announce(w.example for w in witnesses)
    passed, right, wrong = 0, 0, 0
    for tried, witness in enumerate(failing, 1):
        outcome = evidence.under(other, witness)
        passed += not outcome.fails
        right += outcome.effective and not outcome.fails
        wrong += outcome.fails
        if passed + len(failing) - tried <= MAJORITY * len(failing):
            return None
    if wrong > right and other.partial:  # of most nothing is said, and what is said of the others is not so
        return None
    own = telling = right > 0
    # Where masks are of keys, an example that is fully masked may be one of which nothing is said: others have to tell.
    others = [w for w in witnesses if not w.fails]
    judged = [evidence.under(other, witness) for witness in others]
    spoilt = sum(outcome.fails for outcome in judged)
    telling |= any(outcome.effective and not outcome.fails for outcome in judged)
    if not telling or spoilt > SPOILT * len(others):
        return None
    if other.partial and _is_silent(evidence, other, failing, witnesses):
        return None
    return Nearest(other, changes, passed + len(others) - spoilt, len(witnesses), telling=own)


def _is_silent(
    evidence: Evidence, other: Judge, failing: Sequence[Witness], witnesses: Sequence[Witness]
) -> bool:
    """Whether nothing is ever said of an output that fails: whatever it is, it would conform."""

    def expected(judge: Judge, witness: Witness) -> list[Expected]:
        return judge.expect_batch(witness.example, False, witness.kind)

    wrong = {
        place
        for w in failing
        for place, (said, got) in enumerate(zip(expected(evidence.judge, w), w.got or (), strict=True))
        if compare(said, got).fails
    }
    return any(
        not any(np.isfinite(expected(other, w)[place].bound).any() for w in witnesses) for place in wrong
    )


# Where values in float64 do not tell -----------------------------------------------------------------------------------


def nearest_in_float32(evidence: Evidence) -> Nearest | None:
    """The conventions of a callable that computes in float32 inside: those under which it does, and holds in float32."""
    setting = evidence.setting
    if setting.edges.get(ARITHMETIC) == STRICT[ARITHMETIC] or not {"float32", "float64"} <= {*evidence.kinds}:
        return None
    others = (judge for judge, _ in _others(setting))
    if not _is_coarse(evidence, evidence.failing) and not any(
        _is_coarse(evidence, evidence.failing[:FEW], judge) for judge in others
    ):
        return None
    near = nearest(Evidence(setting, ["float32"]), setting.named)
    return None if near is None or digits_inside(setting.aside(judge=near.judge)) is None else near


def _is_coarse(evidence: Evidence, witnesses: list[Witness], judge: Judge | None = None) -> bool:
    """Whether some results are off by as little as float32 rounds."""
    if judge is None:
        return any(0 < evidence.error(each) < COARSE for each in witnesses)
    with evidence.use_judge(judge):
        return not evidence.late and _is_coarse(evidence, witnesses)


def nearest_beyond_values(setting: Setting, report: Report, kinds: list[str]) -> Nearest | None:
    """The conventions of a callable of which a theorem or a gradient fails, where no value does.

    More examples show wrong values where there are any. Else every combination is tried at the gradients that fail.
    """
    near = nearest(Evidence(setting, kinds, many=True), setting.named)
    if near is not None or not any(check.kind == "gradient" for check in report.falsified):
        return near
    began = time.thread_time()
    for judge, changes in _others(setting):
        if setting.clock.over or time.thread_time() - began > budget.SECONDS:
            return None
        other = setting.aside(judge=judge)
        again = list(_check_again(other, report))
        if again and all(each.verdict == CONFORMS for each in again):
            examples = sum(each.examples for each in again)
            return Nearest(judge, changes, examples, examples)
    return None


def _others(setting: Setting) -> list[tuple[Judge, dict[str, str]]]:
    """Other choices of conventions: those that leave nothing unsaid first."""
    ours = setting.judge
    every = [
        (Judge(ours.formula, {**ours.conventions, **changes}), changes)
        for changes in combinations(ours.formula, ours.conventions, setting.named)
    ]
    return sorted(every, key=lambda each: each[0].partial)


def _check_again(setting: Setting, report: Report) -> Iterator[CheckResult]:
    """Repeat the failed gradient checks, and those of values, under other conventions, up to the first failure."""
    for failed in (each for each in report.falsified if each.kind == "gradient"):
        for check in (check_gradients, check_values):
            result = check(setting, str(failed.dtype))
            yield result
            if result.verdict != CONFORMS:
                return


def of_draws(setting: Setting) -> dict[str, str]:
    """The changes of conventions under which a law holds; none where there are no such."""
    ours, caller = setting.judge, setting.caller
    for changes in combinations(ours.formula, ours.conventions, setting.named):
        other = Judge(ours.formula, {**ours.conventions, **changes})
        checks = (
            check_law(caller, other.formula, other.conventions, setting.seed, caller.device, asked=share)
            for share in (TRIED, 1.0)
        )
        if not any(each.verdict == FALSIFIED for law in checks for each in law):
            return changes
    return {}


__all__ = [
    "Nearest",
    "combinations",
    "drop_unstated",
    "nearest",
    "nearest_beyond_values",
    "nearest_in_float32",
    "of_draws",
]

"""Checking an implementation that draws at random against the law of a formula.

Every check is an exact or conservative test on a fixed sample; its size follows from the power stated here and does not
depend on ``max_examples``. A check raises a false alarm with probability at most :data:`ALPHA` in all (its tests share
that); :data:`POWER` is reached against the alternatives in :func:`plan`. All expected probabilities are evaluated from the
statement's lines. A check's figure is ln p / ln level of its worst test: above 1 it is falsified.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from spec.language.formula import Formula
from spec.language.law import Together
from verify.faults import Fault, Unsupported, complaint
from verify.laws.causes import JOINED, law_cause
from verify.laws.choice_check import check_choices
from verify.laws.draw_tests import (
    counts,
    drawn_freely,
    independence,
    outcomes,
    pooled,
    rates,
    selection,
)
from verify.laws.draws import (
    Broken,
    Pointwise,
    Sample,
    apart,
    arguments,
    draw,
    impossible,
    named,
    returned,
)
from verify.laws.layouts import Bools, Ints, Layout, designs
from verify.laws.pace import NOTE, Planned, against, share
from verify.laws.pace import said as slowly
from verify.laws.results import ALPHA, POWER, RESULTS, cut, exact, in_time, judged, misused, never
from verify.laws.statistics import Tally, region, sample_size
from verify.laws.word_tests import words
from verify.properties.setting import Setting
from verify.report import FALSIFIED, INCONCLUSIVE, CheckResult
from verify.search.found import Found
from verify.search.outcome import Outcome
from verify.search.property import Property
from verify.subject.sandbox import GENERATORS, GlobalState

STEP = 1e-4
"""How finely the rate is sought that all draws together tell from the statement's."""
SHIFT, CORRELATION = 0.01, 0.05
"""The alternatives: a rate or a share that is off by 0.01 (14 or 16 for 15 %, 9 for 10 %), and adjacent correlation."""

RANDOM_WORDS = 7_000
"""Random words in the large vocabulary, about: a word that is selected and then replaced by any other."""
CALLS = 1_000
"""Calls with one short row: a rate of 20.5 % in the place of 15 % takes 620 of them to be seen with the stated power."""
LEAST = 600_000
"""Free positions drawn in the main layout at least."""


def plan(formula: Formula, conventions: Mapping[str, str] | None) -> tuple[Layout, ...]:
    """The layouts, the main one large enough for the stated power, computed from the statement's own probabilities."""
    from verify.laws.draws import statement

    trial = Layout("main", 48, 1009, 0, 64)
    _, rate, given, level, values = statement(formula, conventions, designs(formula, trial, 0))
    usual = float(rate[0].mean())  # of a row without any marked position
    shares = [
        float(given[0, 0][level[0, 0] == each].sum())
        for each in range(len(values))
        if (level[0, 0] == each).any()
    ]
    headline = ALPHA / 2 / max(4, len(values) + 2)
    joint = usual * usual
    least = usual * min(shares)
    free = max(
        sample_size(usual, usual - SHIFT, headline, POWER),
        sample_size(usual, usual + SHIFT, headline, POWER),
        math.ceil(sample_size(min(shares), min(shares) - SHIFT, headline, POWER) / usual * 1.03),
        3 * sample_size(joint, joint + CORRELATION * usual * (1 - usual), headline, POWER),
        LEAST,
    )
    return (
        Layout("main", 48, 1009, free, 64),
        Layout("small vocabulary", 48, 8, 60_000, 32),
        # Where a random word is the original, or [MASK], with a probability that shows.
        Layout("two words", 48, 2, 60_000, 32),
        Layout("three words", 48, 3, 60_000, 32),
        # Past 2^15, with enough random words that halves and quarters show a bias of 20 % against 15 %, as modulo brings it.
        Layout("large vocabulary", 8, 40_961, math.ceil(RANDOM_WORDS / least), 256),
        Layout("long rows", 521, 31, 60_000, 8, rows=(0, 4)),
        # A call of its own for each row: what is drawn again where nothing was selected shows.
        Layout("one short row", 8, 31, 8 * CALLS, 1, rows=(0,), at_once=CALLS),
    )


def check_law(
    caller: Callable[..., Any],
    formula: Formula,
    conventions: Mapping[str, str] | None = None,
    seed: int = 0,
    device: str = "cpu",
    over: Callable[[], bool] = never,
    asked: float = 1.0,
) -> list[CheckResult]:
    """Check what ``caller`` draws against the law of ``formula``.

    ``caller`` takes the formula's inputs in declared order, in batches, and returns the tensors the law names. Once ``over``
    says so, nothing more is drawn, and what is drawn is judged. Of what is planned a share ``asked`` is drawn, and less where a
    call is slow (:mod:`verify.laws.pace`): both lessen the power alone.
    """
    law = formula.law
    assert law is not None, f"{formula.id} states no law"
    if not law.selects:
        return check_choices(caller, formula, conventions, seed, device, over, asked)
    independent = law.selects_freely(formula.choose(conventions))
    axioms = {axiom.name: 0 for axiom in law.axioms}
    broken: dict[str, str] = {}
    kept: list[str] = []

    def hold(layout: Layout, call: int, inputs: list[Any], results: list[Ints], row: dict[str, Any]) -> None:
        at = Pointwise(formula, row, named(formula, inputs, results))
        for axiom in law.axioms:
            held = at.holds(axiom.condition)
            axioms[axiom.name] += held.size
            if axiom.name not in broken and not held.all():
                broken[axiom.name] = (
                    f"violated: {axiom.sentence}; call {call}, {_where(formula, inputs, results, held)}"
                )

    samples: list[Sample] = []
    layouts = plan(formula, conventions)
    state = GlobalState(device)
    try:
        part = _pace(caller, formula, layouts, seed, device)
        layouts = tuple(layout.paced(part * asked) for layout in layouts)
        samples += [
            draw(caller, formula, conventions, layout, seed, device, partial(hold, layout))
            for layout in in_time(layouts, over)
        ]
        if not GENERATORS.isdisjoint(state.restore()):
            kept.append("the global random state was used: draw from the generator that is passed")
        kept += _generator(caller, formula, seed, device)
    except Unsupported as error:
        return [CheckResult(RESULTS, "law", "inconclusive", message=str(error))]
    except Exception as error:
        ours = isinstance(error, Broken | Fault)
        said = str(error) if ours else f"{formula.id} raised {complaint(error)}"
        return [exact(RESULTS, 0, said)]

    checks = [exact(f"law: {name}", count, broken.get(name)) for name, count in axioms.items()]
    checks.append(exact("law: generator", 4, "; ".join(kept) or None, "calls"))
    tokens = sum(s.word.size for s in samples)
    for sample in samples:
        found = impossible(sample)
        if found is not None:
            t, r, i = found
            said = (
                f"{sample.layout.name}: id {sample.ids[r, i]} at position {i} became word {sample.word[t, r, i]}, "
                f"{'selected' if sample.chosen[t, r, i] else 'not selected'}: the statement gives this probability 0"
            )
            return [*checks, exact("law: possible outcomes", tokens, said)]
    checks.append(exact("law: possible outcomes", tokens, None))
    if law.together is not None:
        checks.append(exact(JOINED, tokens, _torn(samples, law.together)))

    def tests(test: Callable[[Sample, bool, Tally], None]) -> list[Callable[[Tally], None]]:
        return [partial(test, sample, independent) for sample in samples]

    main = samples[:1]
    off = against(part, SHIFT, drawn_freely(main), rates(main)[1], 4 + len(main))
    judge = partial(judged, against=off)
    checks.append(judge("law: selection", tokens, [*tests(selection), partial(pooled, samples, independent)]))
    if independent:
        checks[-1].message += f"; all draws: power ≥ {POWER} against {100 * _nearest(samples):.3g} %"
    checks.append(judge("law: counts", tokens, tests(counts)))
    checks.append(judge("law: independence", tokens, tests(independence)))
    checks.append(judge("law: outcomes", tokens, tests(outcomes)))
    checks.append(judge("law: words", tokens, tests(words)))
    rows = [designs(formula, sample.layout, seed)[0] for sample in samples]
    said = law_cause(formula, samples, rows, checks)
    for check in checks:
        if check.verdict == FALSIFIED:
            check.details["cause"] = said
    if off:
        checks[0].details[NOTE] = slowly(off, part)
    return checks + cut(len(samples), len(layouts), "layouts")


class LawProperty(Property[None]):
    """What is drawn, held to the law of the formula: its axioms, and its frequencies."""

    kind, name = "law", "law"

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def groups(self) -> Iterator[Sequence[None]]:
        """Nothing one by one: a sample is judged as a whole."""
        return iter(())

    def judge(self, case: None) -> Outcome:
        """Nothing: a sample is judged as a whole."""
        return Outcome(idle=True)

    def counterexample(self, case: None, outcome: Outcome) -> None:
        """None: no inputs show it alone."""

    def conclude(self, found: Found, result: CheckResult) -> Iterable[CheckResult]:
        """The checks of the law."""
        setting = self.setting
        judge, caller = setting.judge, setting.caller
        try:
            checks = check_law(
                caller,
                judge.formula,
                judge.conventions,
                setting.seed,
                caller.device,
                lambda: setting.clock.over,
            )
        except Fault as fault:
            return [CheckResult("law", "law", FALSIFIED, message=str(fault))]
        except Unsupported as said:
            return [CheckResult("law", "law", INCONCLUSIVE, message=str(said))]
        setting.report.notes += [str(check.details[NOTE]) for check in checks if NOTE in check.details]
        return checks


def _torn(samples: Sequence[Sample], together: Together) -> str | None:
    """Where what goes together was not selected together, if anywhere; the statement gives this probability 0."""
    for sample in samples:
        found = apart(sample)
        if found is not None:
            t, r, i = found
            one, other = (i, i - 1) if sample.chosen[found] else (i - 1, i)
            return (
                f"the {together.member}s of a {together.group} are not selected together; {sample.layout.name}, design {r}, "
                f"repetition {t}: position {one} is selected, {other} is not: the statement gives this probability 0"
            )
    return None


def _nearest(samples: list[Sample]) -> float:
    """The least rate above the statement's that :func:`pooled` sees with the stated power, at a headline test's least level."""
    count, (_, high) = drawn_freely(samples), rates(samples)
    test = region(count, high, ALPHA / 2 / (4 + len(samples)))
    return next((p for p in np.arange(high, 1, STEP) if test.power(float(p)) >= POWER), 1.0)


def _pace(
    caller: Callable[..., Any], formula: Formula, layouts: Sequence[Layout], seed: int, device: str
) -> float:
    """Which share of the draws planned is made, so that a slow callable is judged in reasonable time."""
    rows = designs(formula, layouts[0], seed)
    generator = torch.Generator(device=device).manual_seed(seed)

    def once(copies: int) -> int:
        caller(*arguments(formula, rows, copies, generator, device))
        return copies * len(rows) * layouts[0].length

    return share(once, [Planned(*layout.planned(len(rows))) for layout in layouts], 1)


def _generator(caller: Callable[..., Any], formula: Formula, seed: int, device: str) -> list[str]:
    """What is wrong with the use of the generator."""
    rows = designs(formula, Layout("generator", 48, 1009, 0, 8), seed + 1)
    return misused(
        lambda generator: arguments(formula, rows, 8, generator, device),
        lambda inputs: returned(formula, caller(*inputs), inputs),
        [str(item) for item in formula.inputs],
        device,
    )


def _where(formula: Formula, inputs: list[Any], results: list[Ints], held: Bools) -> str:
    place = int(np.argmin(held))
    first = next(x for x in inputs if isinstance(x, torch.Tensor))
    row, column = divmod(place, first.shape[-1])
    values = named(formula, inputs, results)
    return f"row {row}, position {column}: " + ", ".join(
        f"{name} {value[place]}" for name, value in values.items()
    )

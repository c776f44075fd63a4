"""The trial of a law that selects positions: which layouts it takes, how each is drawn, and what is asked of the sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch

from spec.language.formula import Formula
from verify.laws.selection_causes import JOINED, SHARES, law_cause
from verify.laws.selection_tests import (
    counts,
    drawn_freely,
    independence,
    outcomes,
    pooled,
    rates,
    selection,
    words,
)
from verify.laws.selections import (
    SLACK,
    Layout,
    Pointwise,
    Sample,
    apart,
    arguments,
    designs,
    joined_calls,
    named,
    returned,
    statement,
    together,
)
from verify.laws.statistics import ALPHA, POWER, Bools, Ints, Tally, region, sample_size
from verify.laws.trial import (
    CORRELATION,
    HEADLINE,
    SHIFT,
    Finding,
    Trial,
    share,
)

STEP = 1e-4
"""How finely the rate is sought that all draws together tell from the statement's."""
RANDOM_WORDS = 7_000
"""Random words in the large vocabulary, about: a word that is selected and then replaced by any other."""
CALLS = 1_000
"""Calls with one short row: a rate of 20.5 % in the place of 15 % takes 620 of them to be seen with the stated power."""
LEAST = 600_000
"""Free positions drawn in the main layout at least."""


def plan(formula: Formula, conventions: Mapping[str, str] | None) -> tuple[Layout, ...]:
    """The layouts, the main one large enough for the stated power, computed from the statement's own probabilities."""
    trial = Layout("main", 48, 1009, 0, 64)
    _, rate, given, level, values = statement(formula, conventions, designs(formula, trial, 0))
    usual = float(rate[0].mean())  # of a row without any marked position
    shares = [
        float(given[0, 0][level[0, 0] == each].sum())
        for each in range(len(values))
        if (level[0, 0] == each).any()
    ]
    headline = ALPHA / 2 / max(HEADLINE, len(values) + 2)
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


class SelectionTrial(Trial[Layout, Sample]):
    """What is drawn by a callable that selects positions of rows, and changes what stands there."""

    plans = "layouts"
    tests: ClassVar = dict(zip(SHARES, (selection, counts, independence, outcomes, words), strict=True))

    @cached_property
    def independent(self) -> bool:
        """Whether each position is selected by itself."""
        return self.law.selects_freely(self.formula.choose(self.conventions))

    def plan(self) -> tuple[Layout, ...]:
        """The layouts."""
        return plan(self.formula, self.conventions)

    def pace(self) -> float:
        """The share, told by calls of the main layout."""
        main = self.planned[0]
        rows, generator = designs(self.formula, main, self.seed), self.generator()

        def once(copies: int) -> int:
            self.caller(*arguments(self.formula, rows, copies, generator, self.device))
            return copies * len(rows) * main.length

        return share(once, [layout.planned(len(rows)) for layout in self.planned], 1)

    def draw(self, plan: Layout) -> Sample:
        """The sample of a layout.

        Raises:
            Fault: results that cannot be a sample.
        """
        formula = self.formula
        rows = designs(formula, plan, self.seed)
        P, rate, given, level, values = statement(formula, self.conventions, rows)
        joined = together(formula, self.conventions, rows)
        if (joined[:, 1:] & (abs(rate[:, 1:] - rate[:, :-1]) > SLACK)).any():
            raise ValueError(
                f"{formula.id}: what is selected together is stated to have different probabilities"
            )
        rate = np.where(joined, 0.0, rate)
        calls = max(2, -(-plan.tokens // (int((rate > 0).sum()) * plan.copies)))
        generator = self.generator()
        chosen, words_ = [], []
        for first in range(0, calls, plan.at_once):
            made = []
            for _ in range(first, min(calls, first + plan.at_once)):
                inputs = arguments(formula, rows, plan.copies, generator, self.device)
                made.append((inputs, returned(formula, self.caller(*inputs), inputs)))
            inputs, results = joined_calls(made)
            at = Pointwise(formula, rows[0], named(formula, inputs, results))
            self.hold(at, f"call {first}", inputs, results)
            shape = (plan.copies * len(made), len(rows), plan.length)
            words_.append(at.whole(self.law.outcome[0]).reshape(shape))
            chosen.append(at.whole(self.law.outcome[-1]).reshape(shape) != 0)
        name = next(t.name for t in formula.tensors if t.domain == "integer" and t.shape)
        ids = np.stack([row[name] for row in rows])
        drawn = np.concatenate(chosen), np.concatenate(words_)
        return Sample(plan, ids, *drawn, plan.copies, P, rate, given, level, values, joined, self.independent)

    def hold(self, at: Pointwise, call: str, inputs: list[Any], results: list[Ints]) -> None:
        """Hold the results of a call to every axiom."""
        for axiom in self.law.axioms:
            held = at.holds(axiom.condition)
            self.held[axiom.name] += held.size
            if axiom.name not in self.broken and not held.all():
                where = self.place(inputs, results, held)
                self.broken[axiom.name] = f"violated: {axiom.sentence}; {call}, {where}"

    def place(self, inputs: list[Any], results: list[Ints], held: Bools) -> str:
        """The first position at which something does not hold, and what stands there."""
        place = int(np.argmin(held))
        first = next(x for x in inputs if isinstance(x, torch.Tensor))
        row, column = divmod(place, first.shape[-1])
        values = named(self.formula, inputs, results)
        said = ", ".join(f"{name} {value[place]}" for name, value in values.items())
        return f"row {row}, position {column}: {said}"

    def misuses(self, samples: Sequence[Sample]) -> list[str]:
        """What is wrong with the use of the generator, in rows of all kinds."""
        formula, rows = (
            self.formula,
            designs(self.formula, Layout("generator", 48, 1009, 0, 8), self.seed + 1),
        )
        return self.misuses_in(
            lambda generator: arguments(formula, rows, 8, generator, self.device),
            lambda inputs: returned(formula, self.caller(*inputs), inputs),
        )

    def further_questions(self) -> dict[str, Callable[[], Finding | None]]:
        """Also whether what goes together is selected together."""
        joined = {JOINED: lambda: Finding.exact(self.total, self.torn())}
        return {**(joined if self.law.together else {}), **super().further_questions()}

    def torn(self) -> str:
        """Where what goes together was not selected together; the statement gives this probability 0."""
        for sample in self.samples:
            found = apart(sample)
            if found is not None and self.law.together is not None:
                t, r, i = found
                one, other = (i, i - 1) if sample.chosen[found] else (i - 1, i)
                return (
                    f"the {self.law.together.member}s of a {self.law.together.group} are not selected together; "
                    f"{sample.layout.name}, design {r}, repetition {t}: position {one} is selected, {other} is not: "
                    "the statement gives this probability 0"
                )
        return ""

    def test(self, name: str, tally: Tally) -> None:
        """The tests of every sample; of the rate also those of all samples together."""
        super().test(name, tally)
        if self.tests[name] is selection:
            pooled(self.samples, tally)

    def find_frequencies(self, name: str) -> Finding:
        """Of the rate also what all draws together see."""
        found = super().find_frequencies(name)
        if self.tests[name] is selection and self.independent:
            found.message += f"; all draws: power ≥ {POWER} against {100 * self.nearest():.3g} %"
        return found

    def nearest(self) -> float:
        """The least rate above the statement's that :func:`pooled` sees with the stated power, at a headline test's least level."""
        count, (_, high) = drawn_freely(self.samples), rates(self.samples)
        test = region(count, high, ALPHA / 2 / (HEADLINE + len(self.samples)))
        return next((p for p in np.arange(high, 1, STEP) if test.power(float(p)) >= POWER), 1.0)

    def main_test(self) -> tuple[int, float, int]:
        """How often positions of the main layout are selected."""
        main = self.samples[:1]
        return drawn_freely(main), rates(main)[1], HEADLINE + len(main)

    def explain(self, failed: Mapping[str, str]) -> str:
        """Which shares are off, or what the first check says."""
        rows = [designs(self.formula, sample.layout, self.seed)[0] for sample in self.samples]
        return law_cause(self.formula, self.samples, rows, failed)


__all__ = ["SelectionTrial", "plan"]

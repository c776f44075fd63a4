"""In which calls values are wrong: behind earlier ones, at random, now and then.

Of an earlier call something may be kept, which serves another with the same shapes.

At sizes that no call had before, such a callable is right the first time, and wrong the next time, with other values; whichever
of the two sets of values comes first. One that is wrong by itself is so the first time, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, count

import numpy as np

from spec.language.evaluation.dimensions import Size
from verify.explain.evidence import Evidence, Witness, same
from verify.faults import Unsupported
from verify.inputs.examples import Example, Recipe
from verify.inputs.sizes import FULL, LARGE, OTHERS
from verify.inputs.sizes import ROUNDS as ROUND_SIZES
from verify.properties.judge import Reals
from verify.properties.plain_calls import counterexample
from verify.properties.scenarios import others
from verify.properties.setting import Setting
from verify.properties.values import judge_value
from verify.report import FALSIFIED, CheckResult
from verify.search.outcome import worst
from verify.subject.caller import Offence
from verify.subject.returned import values
from verify.subject.sandbox import use_seed

NEW = 43
"""Sizes from here on are new, but for those that examples have on purpose: all others are smaller."""
ON_PURPOSE = {*LARGE, *OTHERS, *FULL, *chain(*ROUND_SIZES)}
COSTLY = 16.0
"""So many times as costly as other examples these few may be."""
ROUNDS = 8
"""Pairs of calls of which each first has to be right, and each second wrong."""
TITLE = "robustness: nothing is kept from call to call"


def kept_between_calls(setting: Setting, kinds: Sequence[str]) -> CheckResult | None:
    """The check that a callable with wrong values fails, if they are wrong for this reason."""
    for kind in () if setting.caller.sizes.few else kinds:
        pairs = Pairs(setting, kind)
        symbols = pairs.space.symbols
        try:
            for chosen in (*((size,) for size in symbols), symbols):
                if all(pairs.second_is_wrong(chosen, turn % 2 == 1) for turn in range(ROUNDS)):
                    return pairs.result(chosen)
            return None
        except Unsupported:
            continue
    return None


class Pairs:
    """Pairs of calls with the same shapes; each pair has shapes of its own."""

    def __init__(self, setting: Setting, kind: str) -> None:
        self.setting, self.kind, self.space = setting, kind, setting.space()
        self.judge, self.caller = setting.judge, setting.caller
        self.numbers = (number for number in count(NEW) if number not in ON_PURPOSE)

    def second_is_wrong(self, chosen: Sequence[Size], turned: bool) -> bool:
        """Whether the first call is right, and the second is not; ``turned``: with the values of one for the other."""
        first = self.draw_example(chosen)
        if first is None:
            return False
        pair = first, others(self.judge, first)
        return self._only_second(*(pair[::-1] if turned else pair))

    def result(self, chosen: Sequence[Size]) -> CheckResult:
        """Return the check's result: which inputs are kept, and two calls that show it."""
        kept = [item.name for item in self.judge.formula.tensors if self._keeps(item.name, chosen)]
        values = f"other values of {', '.join(kept)}" if kept else "other values"
        said = (
            "something is kept from call to call: of two calls with the same shapes the first is right; "
            f"the second, with {values}, is not"
        )
        result = CheckResult(TITLE, "robustness", FALSIFIED, ROUNDS, message=said, leads=True)
        first = self.draw_example(chosen)
        if first is None:
            return result
        second = self._change_inputs(first, kept or list(first.inputs))
        outcome = worst([judge_value(self.judge, self.caller, each) for each in (first, second)])
        if outcome.fails:
            result.counterexample = counterexample(self.setting, second, outcome)
            result.counterexample.calls = {"before": first.inputs}
        return result

    def draw_example(self, chosen: Sequence[Size]) -> Example | None:
        """An example on unit normal data at new numbers of the chosen sizes; None where there are none that are not costly."""
        numbers = {size: next(self.numbers) for size in chosen}
        sizes = self.space.sizing.keep_small(numbers)
        if self.space.sizing.cost(sizes) > COSTLY * self.space.sizing.budget or any(
            sizes[size] < NEW for size in chosen
        ):
            return None
        recipe = Recipe(sizes=0, regime=0, other=0, mask=1, number=0, seed=self.setting.seed)
        return self.space.example(recipe, self.kind, sizes=sizes)

    def _keeps(self, name: str, chosen: Sequence[Size]) -> bool:
        """Whether the second of two calls is wrong where this input alone has other values."""
        first = self.draw_example(chosen)
        if first is None or not isinstance(first.inputs.get(name), np.ndarray | float):
            return False
        return self._only_second(first, self._change_inputs(first, [name]))

    def _change_inputs(self, first: Example, names: Sequence[str]) -> Example:
        other = others(self.judge, first).inputs
        return first.replace_inputs(**{name: other[name] for name in names})

    def _only_second(self, first: Example, second: Example) -> bool:
        return not self._wrong(first) and self._wrong(second)

    def _wrong(self, example: Example) -> bool:
        if self.caller.hung:
            raise Unsupported("a call did not return")
        return judge_value(self.judge, self.caller, example).fails


def written_over(evidence: Evidence) -> str:
    """Results that a later call with the same shapes changes: both lie in one place, which is kept."""
    space = evidence.setting.space()
    for recipe in space.plan(BATCHES, evidence.setting.seed):
        example = space.example(recipe._replace(regime=0, other=0), evidence.kinds[0])
        first = evidence.call_at(example)
        if first.got is None:
            continue
        before = [np.array(part) for part in first.got]
        evidence.call_at(others(evidence.judge, example))
        if not same(before, [values(part) for part in evidence.fits(first.raw, example)]):
            return "a later call writes over an earlier result: what it returns is a buffer that it keeps"
    return ""


# Batches -----------------------------------------------------------------------------------------------------------------


def in_batches(evidence: Evidence) -> str:
    """Members of batches that are wrong, and right alone; whose inputs are read instead of their own."""
    wrong = [batch for batch in evidence.batches if any(w.fails for w in batch[1])][:BATCHES]
    failing = [w for _, batch in wrong for w in batch if w.fails]
    if not wrong or any(
        w.fails for w in (*evidence.ordinary, *evidence.call_each([w.example for w in failing]))
    ):
        return ""
    said = "right alone, wrong in batches"
    own = [t.name for t in evidence.formula.tensors if t.role in ("data", "mask")]
    for name in own:
        if all(_is_of_first(evidence, name, batch) for _, batch in wrong):
            return f"{said}: every member is given {name} of the first"
    read = [name for name in own if any(_crosses(evidence, name, *batch) for batch in wrong)]
    if not read:
        return said
    return (
        f"{said}: what a member gets depends on {' and '.join(read)} of the others (are axes folded into the batch in one order "
        "and taken apart in another, or does a sum run over the batch?)"
    )


def _is_of_first(evidence: Evidence, name: str, batch: Sequence[Witness]) -> bool:
    """Whether every member of a batch got what is stated with an input of the first."""
    first = {name: batch[0].example.inputs.get(name)}
    return all(evidence.near(w.got or (), evidence.evaluate_statement(w.example, first)) for w in batch)


def _crosses(evidence: Evidence, name: str, batch: Example, before: Sequence[Witness]) -> bool:
    """Whether what some member gets changes with an input of the others."""
    value = batch.inputs.get(name)
    for place, member in enumerate(before if isinstance(value, np.ndarray) else ()):
        moved = np.array(value)
        others = np.arange(len(moved)) != place
        other = (
            ~moved
            if moved.dtype == bool
            else np.roll(moved, 1, 0)
            if moved.dtype.kind in "iu"
            else moved / 2 + 0.75
        )
        moved[others] = other[others]
        after = evidence.members(batch.replace_inputs(**{name: moved}))
        if after and not evidence.near(after[place].got or (), member.got or ()):
            return True
    return False


# Calls that differ though their inputs are equal ------------------------------------------------------------------------

UNSTEADY = "not the same from call to call"
"""How it begins what is said of a callable of which one call shows nothing."""
BATCHES = 2
"""Batches that are looked at of those that fail."""
DRAWS = 64
"""Calls whose mean tells whether a random result averages right."""
AGAIN, SOME = 8, 1 / 4
"""So many of the examples that fail are called again; the share of them that is right then, of a callable that is not the same
from call to call: of others none is."""


def random_result(evidence: Evidence) -> str:
    """Results that differ from call to call: dropout, if they are right on average."""
    for witness in evidence.failing[:3]:
        first, other = (_call_seeded(evidence, witness.example, seed) for seed in (1, 2))
        if first is None or other is None or same(first, other):
            continue
        again = _call_seeded(evidence, witness.example, 1)
        if again is not None and not same(first, again):  # by more than what is drawn from those
            return (
                f"{UNSTEADY}: two calls with equal inputs and global generators in the same state differ (is something kept, or "
                "drawn from a generator of its own?)"
            )
        mean = _mean(evidence, witness.example)
        if mean is None:
            return ""
        average, spread = mean
        # Six standard errors; and what is dropped at a rate of a fiftieth or less is often kept in all draws, which then show no
        # spread, and is off by that rate.
        told = [
            np.abs(a - e) <= 6 * s / math.sqrt(DRAWS) + 0.02 * np.abs(e).max(initial=0.0)
            for a, s, e in zip(average, spread, evidence.evaluate_statement(witness.example), strict=True)
        ]
        zeros = max(float(np.mean(part == 0)) for part in first)
        if all(t.all() for t in told):
            shown = f"; {100 * zeros:.0f} % of its entries are 0" if 0.02 < zeros < 0.98 else ""
            return (
                "dropout is left on: the result is random, differs from call to call, and is right on average"
                f"{shown} (call .eval(), or pass training=False)"
            )
        return "the result is random: two calls with equal inputs differ (is dropout left on, or a weight not set?)"
    return ""


def drawn_from_outside(evidence: Evidence) -> str:
    """Results that differ with the state of a global generator, if only now and then."""
    if "generator" not in evidence.caller.offences:
        return ""
    largest = sorted(evidence.failing, key=lambda w: -sum(part.size for part in w.got or ()))[:2]
    for witness in largest:
        first, *others = (_call_seeded(evidence, witness.example, seed) for seed in range(DRAWS))
        if first is not None and any(other is not None and not same(first, other) for other in others):
            return "the result is random: it depends on the state of a global generator (is dropout left on?)"
    return ""


def _call_seeded(evidence: Evidence, example: Example, seed: int) -> list[Reals] | None:
    """A result after the global generators were seeded."""
    with use_seed(seed, evidence.caller.device):
        try:
            return evidence.call_at(example).got
        except Unsupported:
            return None


def _mean(evidence: Evidence, example: Example) -> tuple[list[Reals], list[Reals]] | None:
    drawn = [_call_seeded(evidence, example, seed) for seed in range(DRAWS)]
    fine = [each for each in drawn if each is not None]
    if len(fine) < DRAWS:
        return None
    columns = [
        np.stack([np.asarray(part, np.float64) for part in column]) for column in zip(*fine, strict=True)
    ]
    return [c.mean(0) for c in columns], [c.std(0) for c in columns]


def now_and_then(evidence: Evidence) -> str:
    """Say that failed examples are right when they are called again; empty unless enough of them are."""
    failing = [w for w in (*evidence.ordinary, *evidence.drawn) if w.fails][:AGAIN]
    again = evidence.call_each([w.example for w in failing])
    right = sum(not w.fails for w in again)
    if right < SOME * max(1, len(failing)):
        return ""
    one = len(failing) == 1
    return (
        f"{UNSTEADY}: {'an example that failed is' if one else f'of {len(failing)} examples that failed {right} are'} right "
        f"when {'it is' if one else 'they are'} called again (is something kept, or drawn at random?)"
    )


def writes(offence: Offence) -> str:
    """Describe inputs that the callable writes to."""
    return (
        f"it writes to its input {', '.join(offence.written)}: the caller's tensor is another after the call"
    )


__all__ = [
    "TITLE",
    "drawn_from_outside",
    "in_batches",
    "kept_between_calls",
    "now_and_then",
    "random_result",
    "writes",
    "written_over",
]

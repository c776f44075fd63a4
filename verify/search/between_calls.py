"""Whether values are wrong because of earlier calls: something was kept of one, and serves another with the same shapes.

At sizes that no call had before, such a callable is right the first time, and wrong the next time, with other values; whichever
of the two sets of values comes first. One that is wrong by itself is so the first time, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count

import numpy as np

from spec.language.evaluation.dimensions import Size
from verify.faults import Unsupported
from verify.inputs.examples import Example, Recipe
from verify.inputs.sizes import FULL, LARGE, OTHERS
from verify.inputs.sizes import ROUNDS as ROUND_SIZES
from verify.properties.plain_calls import counterexample
from verify.properties.scenarios import others
from verify.properties.setting import Setting
from verify.properties.values import judge_value
from verify.report import FALSIFIED, CheckResult
from verify.search.outcome import worst

NEW = 43
"""Sizes from here on are new, but for those that examples have on purpose: all others are smaller."""
ON_PURPOSE = {*LARGE, *OTHERS, *FULL, *chain(*ROUND_SIZES)}
DEAR = 16.0
"""So many times as dear as other examples these few may be."""
ROUNDS = 4
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
        first = self.drawn(chosen)
        if first is None:
            return False
        pair = first, others(self.judge, first)
        return self._only_second(*(pair[::-1] if turned else pair))

    def result(self, chosen: Sequence[Size]) -> CheckResult:
        """What is said of it: which inputs are kept, and two calls that show it."""
        kept = [item.name for item in self.judge.formula.tensors if self._keeps(item.name, chosen)]
        values = f"other values of {', '.join(kept)}" if kept else "other values"
        said = (
            "something is kept from call to call: of two calls with the same shapes the first is right; "
            f"the second, with {values}, is not"
        )
        result = CheckResult(TITLE, "robustness", FALSIFIED, ROUNDS, message=said, leads=True)
        first = self.drawn(chosen)
        if first is None:
            return result
        second = self._changed(first, kept or list(first.inputs))
        outcome = worst([judge_value(self.judge, self.caller, each) for each in (first, second)])
        if outcome.fails:
            result.counterexample = counterexample(self.setting, second, outcome)
            result.counterexample.calls = {"before": first.inputs}
        return result

    def drawn(self, chosen: Sequence[Size]) -> Example | None:
        """An example on unit normal data at new numbers of the chosen sizes; None where there are none that are not dear."""
        numbers = {size: next(self.numbers) for size in chosen}
        sizes = self.space.sizing.keep_small(numbers)
        if self.space.sizing.cost(sizes) > DEAR * self.space.sizing.budget or any(
            sizes[size] < NEW for size in chosen
        ):
            return None
        recipe = Recipe(sizes=0, regime=0, other=0, mask=1, number=0, seed=self.setting.seed)
        return self.space.example(recipe, self.kind, sizes=sizes)

    def _keeps(self, name: str, chosen: Sequence[Size]) -> bool:
        """Whether the second of two calls is wrong where this input alone has other values."""
        first = self.drawn(chosen)
        if first is None or not isinstance(first.inputs.get(name), np.ndarray | float):
            return False
        return self._only_second(first, self._changed(first, [name]))

    def _changed(self, first: Example, names: Sequence[str]) -> Example:
        other = others(self.judge, first).inputs
        return first.changed(**{name: other[name] for name in names})

    def _only_second(self, first: Example, second: Example) -> bool:
        return not self._wrong(first) and self._wrong(second)

    def _wrong(self, example: Example) -> bool:
        if self.caller.hung:
            raise Unsupported("a call did not return")
        return judge_value(self.judge, self.caller, example).fails


__all__ = ["TITLE", "kept_between_calls"]

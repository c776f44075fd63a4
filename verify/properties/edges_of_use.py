"""What a callable does at the edge of its contract: judged where that was asked for, and else a property of it.

Slots that nothing reads, arithmetic in float32, global generators, results in the storage of an input, slots that some outputs
do not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from verify.edges import GENERATOR, STRICT
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example
from verify.properties.leaks import leaks, unread
from verify.properties.plain_calls import ExampleProperty, usable_types
from verify.properties.setting import Setting
from verify.properties.values import judge_call, judge_value
from verify.report import (
    CONFORMS,
    FALSIFIED,
    INCONCLUSIVE,
    CheckResult,
    Counterexample,
)
from verify.search.outcome import Outcome
from verify.search.record import SearchRecord
from verify.subject.sandbox import use_seed

STATES = 64
"""States of global generators in which values are judged: what goes wrong in a tenth of them is missed once in 10³ times."""
REMEDY = "0·NaN is NaN, and so is NaN − ∞: torch.where before any product or sum keeps it out"


def find_leaking(setting: Setting, dtype: str) -> list[str]:
    """Which inputs leak from slots that nothing reads."""
    judge, caller, space = setting.judge, setting.caller, setting.space()
    found: dict[str, None] = {}
    for recipe in space.plan(6, setting.seed + 3):
        example = space.example(recipe._replace(mask=3, sizes=recipe.sizes % 3), dtype)
        slices = unread(judge, example)
        if not slices:
            continue
        for name in dict.fromkeys(each for each, _, _ in slices):
            planted = np.array(example.inputs[name])
            for other, axis, place in slices:
                if other == name:
                    planted[(slice(None),) * axis + (place,)] = np.nan
            case = replace(example, inputs={**example.inputs, name: planted})
            arguments = caller.arguments(case.inputs, case.dtype, generator_seed=case.generator_seed)
            try:
                if judge_call(judge, caller, case, arguments, example).fails:
                    found[name] = None
            except Unsupported:
                continue
    return list(found)


class LeakProperty(ExampleProperty):
    """NaN in a slot that some outputs do not read: whether it shows in those outputs is reported, and never judged."""

    kind = "robustness"
    name = "leaks"

    def __init__(self, setting: Setting, kinds: Sequence[str]) -> None:
        super().__init__(setting)
        self.kinds = kinds
        self.leaking: dict[str, None] = {}

    def reason_against(self) -> str:
        """Return why leaks are not looked for: the formula has no real inputs."""
        return "" if self.setting.judge.real else "there are no real inputs"

    def groups(self) -> Iterator[Sequence[Example]]:
        """Random masks and causal ones by turns, of ordinary data."""
        space, dtype = self.setting.space(), usable_types(self.setting, self.kinds)[0]
        for turn, recipe in enumerate(space.plan(4, self.setting.seed)):
            chosen = recipe._replace(mask=(1, 4)[turn % 2], regime=0, sizes=turn % 3)
            yield [space.example(chosen, dtype)]

    def judge(self, case: Example) -> Outcome:
        """Which inputs leak."""
        try:
            self.leaking |= dict.fromkeys(leaks(self.setting.judge, self.setting.caller, case))
        except Fault as fault:
            raise Unsupported(str(fault)) from None
        return Outcome()

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """A property of the callable."""
        if self.leaking and not found.unsupported:
            which = ", ".join(self.leaking)
            said = f"NaN in a slot of {which} reaches outputs that do not read this slot"
            self.setting.report.has("leaks", said)
        return []


class OffenceProperty(ExampleProperty):
    """What the callable did in all calls besides returning values: to its inputs, or to global state.

    Draws from global generators are a property, unless they are judged, or the formula has a law and a generator is passed.
    """

    kind = "robustness"

    def __init__(self, setting: Setting, key: str, title: str) -> None:
        super().__init__(setting)
        self.offence, self.title = key, title
        self.name = f"robustness: {title}"

    def groups(self) -> Iterator[Sequence[Example]]:
        """No groups: it has no examples of its own."""
        return iter(())

    def judge(self, case: Example) -> Outcome:
        """Judge nothing: it makes no calls of its own."""
        return Outcome(idle=True)

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """Report the offences seen in the calls of all other properties."""
        setting, caller = self.setting, self.setting.caller
        seen = dict(caller.offences)
        drawn = seen.pop("generator", None)
        if drawn is not None and self.offence == "global state":
            strict = setting.edges.get(GENERATOR) == STRICT[GENERATOR]
            if strict or setting.judge.formula.law is not None:
                seen.setdefault("global state", drawn)
            elif GENERATOR not in setting.edges:
                said = "it draws from a global random generator, which it has no need of"
                setting.report.has(GENERATOR, said, "used")
        offence = seen.get(self.offence)
        result = CheckResult(self.name, "robustness", CONFORMS, caller.calls)
        if offence is not None:
            result.verdict, result.message = FALSIFIED, offence.message
            chosen, calls = dict(setting.judge.conventions), {"offence": self.offence}
            if offence is drawn:
                calls = {"offence": "generator"}
            result.counterexample = Counterexample(
                offence.inputs, offence.dtype, chosen, violates=self.title, calls=calls
            )
        elif not caller.answered:
            result.verdict, result.message = INCONCLUSIVE, "no call has returned"
        for output, home in caller.aliases.items():
            said = f"output {output} lies in the storage of the input {home}: writing to one in place changes the other"
            setting.report.has("aliasing", said)
        return [result]


def offence_properties(setting: Setting) -> list[OffenceProperty]:
    """Whether it leaves its inputs alone, and global state."""
    return [
        OffenceProperty(setting, "inputs", "leaves its inputs alone"),
        OffenceProperty(setting, "global state", "leaves global state alone"),
    ]


class OtherDrawsProperty(ExampleProperty):
    """The values of what draws from global generators, in many states of these: each call finds them as the user left them, so
    that what is drawn seldom would never be.
    """

    kind = "robustness"
    name = "robustness: other states of global generators"

    def __init__(self, setting: Setting, dtype: str) -> None:
        super().__init__(setting)
        self.dtype = dtype

    def reason_against(self) -> str:
        """Return why this is not checked: the callable draws nothing, or it is a law."""
        draws = "generator" in self.setting.caller.offences and self.setting.judge.formula.law is None
        return "" if draws else "it draws from no global generator"

    def groups(self) -> Iterator[Sequence[Example]]:
        """Ordinary data, each in a state of its own, which is its number."""
        space = self.setting.space()
        for seed, recipe in enumerate(space.plan(STATES, self.setting.seed + 31)):
            example = space.example(recipe._replace(regime=0, other=0), str(self.dtype))
            example.turn = seed
            yield [example]

    def judge(self, case: Example) -> Outcome:
        """The value after the generators were seeded."""
        caller = self.setting.caller
        if caller.hung:
            return Outcome(idle=True)
        with use_seed(case.turn, caller.device):
            outcome = judge_value(self.setting.judge, caller, case)
        if outcome.fails:
            said = f"wrong after torch, numpy and random were seeded with {case.turn}"
            outcome.message = f"{said}: {outcome.message}"
        return outcome

    def simpler(self, case: Example | None) -> Iterator[Any]:
        """None: a failure is reported with its seed."""
        return iter(())

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """Without inputs: it is the seed that shows it."""
        result.counterexample = None
        return [result]


__all__ = ["LeakProperty", "OtherDrawsProperty", "find_leaking", "offence_properties"]

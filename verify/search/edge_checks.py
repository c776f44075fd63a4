"""What a callable does at the edge of its contract: judged where that was asked for, and else a property of it.

Slots that nothing reads, arithmetic in float32, global generators, results in the storage of an input, slots that some outputs
do not read.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from verify.edges import ARITHMETIC, EDGES, GENERATOR, STRICT, UNREAD
from verify.faults import Fault, Unsupported
from verify.properties.leaks import leaks, unread
from verify.properties.offending import played_offence
from verify.properties.values import judge_call, judge_value
from verify.report import (
    CONFORMS,
    FALSIFIED,
    INCONCLUSIVE,
    KEPT,
    CheckResult,
    Counterexample,
    Report,
)
from verify.search.precision import digits_inside
from verify.search.setting import Setting
from verify.subject.sandbox import seeded

STATES = 64
"""States of global generators in which values are judged: what goes wrong in a tenth of them is missed once in 10³ times."""
REMEDY = "0·NaN is NaN, and so is NaN − ∞: torch.where before any product or sum keeps it out"


def isolated(setting: Setting, report: Report, result: CheckResult, dtype: str) -> CheckResult:
    """The check of slots that nothing reads; a violation is a property where nobody asked for its judgement."""
    if result.verdict != FALSIFIED:
        if result.verdict == CONFORMS:
            report.has(UNREAD, EDGES[UNREAD]["isolated"], "isolated")
        return result
    if setting.edges.get(UNREAD) == STRICT[UNREAD]:
        return result
    which = ", ".join(leaking(setting, dtype))
    slots = f"slots of {which} that nothing reads" if which else "a slot that nothing reads"
    report.has(UNREAD, f"NaN or infinity in {slots} reaches the output ({REMEDY})", "ignored")
    return result.unjudged()


def kept_results(report: Report, result: CheckResult) -> CheckResult:
    """The check of results that are written to: that later ones depend on them is a property, as views of a table are common."""
    if result.verdict == FALSIFIED:
        report.has(KEPT, "writing to what it returned changes what it returns later")
        return result.unjudged()
    return result


def single_precision(setting: Setting, report: Report, result: CheckResult) -> CheckResult:
    """The check of values in float64; of a callable that computes in float32 inside it is a property, unless it is judged."""
    asked = setting.edges.get(ARITHMETIC)
    if result.dtype != "float64" or result.verdict != FALSIFIED or asked == STRICT[ARITHMETIC]:
        return result
    digits = digits_inside(setting)
    if digits is None:
        return result
    said = f"it computes in float32 inside: float64 results are good to {digits:.0f} digits, and float32 is judged"
    report.has(ARITHMETIC, said, "float32")
    return result.unjudged()


def leaking(setting: Setting, dtype: str) -> list[str]:
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


def crossing(setting: Setting, report: Report, dtype: str) -> None:
    """Report inputs whose NaN, in a slot that some outputs do not read, shows in those outputs."""
    judge, caller = setting.judge, setting.caller
    if not judge.real:
        return
    space = setting.space()
    found: dict[str, None] = {}
    for turn, recipe in enumerate(space.plan(4, setting.seed)):
        example = space.example(recipe._replace(mask=(1, 4)[turn % 2], regime=0, sizes=turn % 3), dtype)
        try:
            found.update(dict.fromkeys(leaks(judge, caller, example)))
        except (Fault, Unsupported):
            return
    if found:
        report.has("leaks", f"NaN in a slot of {', '.join(found)} reaches outputs that do not read this slot")


def offences(setting: Setting, report: Report) -> None:
    """What the callable did besides returning values: in-place damage and changed global state are checks of their own.

    Draws from global generators are a property, unless they are judged, or the formula has a law and a generator is passed.
    """
    found = dict(setting.caller.offences)
    drawn = found.pop("generator", None)
    if drawn is not None:
        strict = setting.edges.get(GENERATOR) == STRICT[GENERATOR]
        if strict or setting.judge.formula.law is not None:
            found.setdefault("global state", drawn)
        elif GENERATOR not in setting.edges:
            report.has(GENERATOR, "it draws from a global random generator, which it has no need of", "used")
    for key, title in (("inputs", "leaves its inputs alone"), ("global state", "leaves global state alone")):
        offence = found.get(key)
        result = CheckResult(f"robustness: {title}", "robustness", CONFORMS, setting.caller.calls)
        if offence is not None:
            result.verdict, result.message = FALSIFIED, offence.message
            result.counterexample = Counterexample(
                offence.inputs,
                offence.dtype,
                dict(setting.judge.conventions),
                violates=title,
                calls={"offence": "generator" if offence is drawn else key},
                played=played_offence(setting.judge, setting.caller, offence),
            )
        elif not setting.caller.answered:
            result.verdict, result.message = INCONCLUSIVE, "no call has returned"
        report.checks.append(result)
    for output, home in setting.caller.aliases.items():
        report.has(
            "aliasing",
            f"output {output} lies in the storage of the input {home}: writing to one in place changes the other",
        )


def other_draws(setting: Setting, report: Report, dtype: str) -> None:
    """The values of what draws from global generators, in many states of these: each call finds them as the user left them, so
    that what is drawn seldom would never be.
    """
    judge, caller = setting.judge, setting.caller
    if "generator" not in caller.offences or judge.formula.law is not None:
        return
    result = CheckResult("robustness: other states of global generators", "robustness", CONFORMS)
    space = setting.space()
    try:
        for seed, recipe in enumerate(space.plan(STATES, setting.seed + 31)):
            if caller.hung or setting.clock.over or result.verdict != CONFORMS:
                break
            example = space.example(recipe._replace(regime=0, other=0), dtype)
            with seeded(seed, caller.device):
                outcome = judge_value(judge, caller, example)
            result.examples, result.dtype = result.examples + 1, dtype
            if outcome.fails:
                result.verdict = FALSIFIED
                result.message = (
                    f"wrong after torch, numpy and random were seeded with {seed}: {outcome.message}"
                )
    except Unsupported as said:
        result.verdict, result.message = INCONCLUSIVE, str(said)
    report.checks.append(result)


__all__ = ["crossing", "isolated", "kept_results", "leaking", "offences", "other_draws", "single_precision"]

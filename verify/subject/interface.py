"""How a callable can be called at all, found by the first calls: its types, its leading dimensions, its sizes.

What is no tensor of the right rank, or an exception at every call, is no verdict: it is :class:`Unusable`, in one line with
advice. An exception at some sizes only, or for some numbers of leading dimensions, follows a rule more often than not: that is
found by trying, and the callable is judged where it can be called.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import torch

from spec.language.evaluation.dimensions import Size, whole
from verify.faults import Fault, Unsupported, Unusable
from verify.inputs.dtypes import DTYPES
from verify.inputs.examples import Recipe, Space
from verify.inputs.ranges import Ranges, real_numbers, span_said
from verify.inputs.size_rules import Supported, line
from verify.inputs.sizes import entries
from verify.subject.advice import advise, misfit
from verify.subject.caller import Caller
from verify.subject.leading_dimensions import accept_any_lead, describe_leading, positioned
from verify.subject.signature import matched
from verify.subject.size_search import ENTRIES, draw_related, rules_for

ODD, EVEN = (3, 5, 7, 11, 13, 17, 19, 23), (2, 4, 6, 10, 14, 22, 26, 34)
"""Distinct sizes of the first calls, in the order of the formula's sizes."""
BATCHES: tuple[tuple[int, ...], ...] = ((), (2,), (2, 3))
ELSEWHERE = 60
"""Other sizes tried, for each number of leading dimensions, where all usual calls fail."""
SECONDS = 20.0
"""How long the first calls may go on."""


@dataclass
class Trial:
    """One of the first calls: how it failed, in a line, and what to do; empty where tensors of the right ranks came back."""

    sizes: Mapping[Size, int]
    batch: tuple[int, ...]
    dtype: str
    failure: str = ""
    advice: str = ""
    declared: bool = False


@dataclass
class Interface:
    """What the first calls came to.

    Attributes:
        declined: types in which no call succeeds, while calls in another do, each with what was said.
        sentences: what the callable does not take, each with how it was judged and the option to paste.
        hung: a call that did not return, in a line.
        recovered: how a call failed that returns when it is made again, in a line.
    """

    declined: dict[str, str] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    hung: str = ""
    recovered: str = ""


class Interviewer:
    """Makes the first calls of a callable."""

    def __init__(self, caller: Caller, typed: bool) -> None:
        self.caller, self.formula, self.typed = caller, caller.formula, typed
        self.until = time.monotonic() + SECONDS
        self.space = Space(self.formula, caller.takes_mask, supported=caller.sizes)
        self.data = any(t.role == "data" for t in self.formula.tensors)
        self.batches = BATCHES if self.data else ((),)

    def sizes(self, offered: Sequence[int]) -> dict[Size, int]:
        """Supported sizes near these; smaller ones where the inputs would be large, as those of a stack of many layers."""
        near = self.caller.sizes.adjust_sizes(
            dict(zip(self.space.symbols, (*offered, *offered), strict=False))
        )
        return near if entries(self.formula, near) <= ENTRIES else self.space.sizing.affordable(near)

    def usual(self, dtype: str) -> list[Trial]:
        """Calls at distinct odd and even sizes, with leading dimensions and without, with a mask and without."""
        return [
            self.trial(self.sizes(offered), batch, dtype, place)
            for place, offered in enumerate((ODD, EVEN))
            for batch in self.batches
        ]

    def trial(
        self,
        sizes: Mapping[Size, int],
        batch: tuple[int, ...],
        dtype: str,
        mask: int = 0,
        numbers: Mapping[str, float] | None = None,
    ) -> Trial:
        """One call; none is made any more once one has not returned, or when the time is over."""
        made = Trial(sizes, batch, dtype)
        if self.caller.hung or time.monotonic() > self.until:
            made.failure = "it was not called any more: the time was over"
            return made
        example = self.space.example(Recipe(0, 0, 0, mask, 0, 0), dtype, batch, sizes=sizes).replace_inputs(
            **(numbers or {})
        )
        arguments = self.caller.arguments(example.inputs, dtype, generator_seed=0)
        begin = f"{self.formula.id}: {self.caller.name}"
        new = not self.caller.answered
        try:
            result = self.caller(*arguments)
        except (Fault, Unsupported) as fault:
            made.failure, made.advice = str(fault), advise(fault.__cause__ or fault)
            made.declared = isinstance(fault, Unsupported)
            return made
        if new:  # it may have set something up, for long
            self.until = time.monotonic() + SECONDS
        returns = self.caller.returns
        shapes = [(*batch, *(whole(size, sizes) for size in t.shape)) for t in returns]
        told, advice = misfit(result, [len(shape) for shape in shapes], shapes, [t.name for t in returns])
        if told:
            made.failure, made.advice = f"{begin} {told}", advice
        elif self.typed and dtype == "float64" and _all_single(result):
            made.failure = f"{begin} returns float32 whatever it is given"
        return made

    def recovers(self, failed: Trial) -> bool:
        """Whether a call that failed returns when it is made again: then no rule says what is taken."""
        return bool(failed.failure) and not self.trial(failed.sizes, failed.batch, failed.dtype).failure

    def find_success(self, kinds: Sequence[str]) -> Trial | None:
        """A call that succeeds at other sizes, in any of these types."""
        for kind in kinds:
            for batch in self.batches:
                for sizes in islice(draw_related(self.space.symbols, self.caller.sizes, 1), ELSEWHERE):
                    if entries(self.formula, sizes) > ENTRIES:
                        continue
                    trial = self.trial(sizes, batch, kind)
                    if not trial.failure:
                        return trial
        return None


def _all_single(result: object) -> bool:
    parts = result if isinstance(result, tuple | list) else (result,)
    real = [p.dtype for p in parts if isinstance(p, torch.Tensor) and p.dtype in DTYPES.values()]
    return bool(real) and all(dtype == torch.float32 for dtype in real)


def first_calls(caller: Caller, kinds: Sequence[str], typed: bool, declining: bool = True) -> Interface:
    """Make the first calls; the rules and the leading dimensions that are found are put into ``caller``.

    Args:
        caller: the callable.
        kinds: the types it is to be checked in.
        typed: whether it has to return the type that it is given.
        declining: whether a type in which no call succeeds may be left out.

    Raises:
        Unusable: no call gives tensors of the right ranks, or none with a mask, where all without do.
    """
    asked, found = Interviewer(caller, typed), Interface()
    trials = asked.usual(kinds[0])
    if caller.hung:
        found.hung = next(t.failure for t in trials if t.failure)
        return found
    if not any(t.failure for t in trials):
        _numbers(asked, trials[0], found)
        return found
    every = {kinds[0]: trials} | {kind: asked.usual(kind) for kind in kinds[1:]}
    if all(t.declared for trials in every.values() for t in trials):
        return found  # it says so by itself, which is no fault
    good = _returning(every)
    if good is None and (one := positioned(caller.fn, caller.formula)) is not None:
        caller.fn, before = one, caller.fn
        again = {kind: asked.usual(kind) for kind in kinds}
        if good := _returning(again):
            every = again
            found.sentences.append("it draws for one position: called with one after the other")
        else:
            caller.fn = before
    good = good or asked.find_success(kinds)
    if good is None:
        first = next((t for t in trials if not t.declared), trials[0])
        given = matched(caller.fn, caller.passed) if " raised " in first.failure else ""
        told = [first.failure, *filter(None, (first.advice, given, caller.taken.said))]
        raise Unusable(": ".join(told[:2]) + "".join(f"; {more}" for more in told[2:]))
    found.recovered = next((t.failure for t in trials if not t.declared and asked.recovers(t)), "")
    for kind in kinds:
        trial = asked.trial(good.sizes, good.batch, kind) if kind != good.dtype else good
        if trial.failure and not trial.declared and declining:
            found.declined[kind] = trial.failure
    caller.declined |= found.declined
    _require_masks(asked, good)
    _find_leading(asked, good, found)
    _sizes(asked, good, every[good.dtype], found)
    _numbers(asked, good, found)
    return found


def _returning(trials: Mapping[str, Sequence[Trial]]) -> Trial | None:
    """The first call that gave tensors of the right ranks."""
    return next((t for part in trials.values() for t in part if not t.failure), None)


def _require_masks(asked: Interviewer, good: Trial) -> None:
    """Refuse what raises wherever it is given a mask, and nowhere else: its mask is another than the statement's."""
    if not asked.caller.takes_mask or not asked.space.masked:
        return
    places = [good.sizes, asked.sizes(ODD), asked.sizes(EVEN)]
    masked = [asked.trial(sizes, good.batch, good.dtype, 1) for sizes in places]
    if all(t.failure and not t.declared for t in masked) and not any(
        asked.trial(sizes, good.batch, good.dtype).failure for sizes in places
    ):
        told = [masked[0].failure, masked[0].advice, "it does so wherever a mask is passed, and nowhere else"]
        how = 'say how a mask is passed, or mask="none": verify.adapt.function(…, mask=…)'
        raise Unusable(": ".join(filter(None, told)) + f"; {how}")


def _find_leading(asked: Interviewer, good: Trial, found: Interface) -> None:
    """How many leading dimensions it takes."""
    caller = asked.caller
    tried = [asked.trial(good.sizes, batch, good.dtype) for batch in asked.batches]
    allowed = [len(trial.batch) for trial in tried if not trial.failure]
    if not asked.data or len(allowed) in (0, len(asked.batches)):
        return
    caller.fn = accept_any_lead(caller.fn, caller.formula, allowed)
    caller.leading = tuple(allowed)
    found.sentences.append(
        f"it takes {describe_leading(allowed)} (else {_short(next(t for t in tried if t.failure))}): called so"
    )


def _sizes(asked: Interviewer, good: Trial, usual: Sequence[Trial], found: Interface) -> None:
    """Rules for the sizes it takes."""
    caller = asked.caller
    again = [asked.trial(t.sizes, good.batch, good.dtype) for t in usual[:: len(asked.batches)]]
    failing = [t for t in again if t.failure]
    if not failing:
        return
    rules = rules_for(
        caller.formula,
        asked.space.symbols,
        caller.sizes,
        lambda sizes: not asked.trial(sizes, good.batch, good.dtype).failure,
        [t.sizes for t in failing],
        1,
    )
    if not rules:
        return
    more = Supported.of(caller.formula, rules).rules
    caller.sizes = replace(caller.sizes, rules=(*caller.sizes.rules, *more))
    where = ", ".join(f"{size} = {value}" for size, value in failing[0].sizes.items())
    found.sentences.append(
        f"it raises an error unless {', '.join(map(str, more))} (at {where}: {_short(failing[0])}): "
        f"judged there; {line(rules)}"
    )


def _numbers(asked: Interviewer, good: Trial, found: Interface) -> None:
    """From where to where each number may be, where calls raise outside and nowhere inside."""
    caller = asked.caller
    for item in real_numbers(caller.formula):
        if item.name in asked.space.fixed or caller.sizes.within is not None or item.below != 0:
            continue
        values = sorted({0.0 if item.domain == "nonnegative" else 1.0, *asked.space.offered(item)})
        tried = {
            value: asked.trial(good.sizes, good.batch, good.dtype, numbers={item.name: value})
            for value in values
        }
        inside = [value for value, trial in tried.items() if not trial.failure]
        failing = {value: trial for value, trial in tried.items() if trial.failure}
        if len(inside) < 2 or not failing or any(inside[0] < value < inside[-1] for value in failing):
            continue
        low = inside[0] if inside[0] > values[0] else -math.inf
        high = inside[-1] if inside[-1] < values[-1] else math.inf
        caller.sizes = replace(
            caller.sizes, within=Ranges(caller.formula, (), numbers=((item.name, low, high),))
        )
        where, trial = next(iter(failing.items()))
        pasted = (
            f"{low:g}.." if high == math.inf else f"{high:g}" if low == -math.inf else f"{low:g}..{high:g}"
        )
        found.sentences.append(
            f"it raises an error unless {span_said(item.name, low, high)} (at {item.name} = {where:g}: {_short(trial)}): "
            f"judged there; --range {item.name}={pasted}"
        )


def _short(trial: Trial) -> str:
    """What went wrong, without the shapes."""
    text = trial.failure.split(" raised ", 1)[-1]
    text = text.rsplit(" for ", 1)[0] if " raised " in trial.failure else text
    return text if len(text) <= 120 else text[:120] + " …"


__all__ = ["Interface", "first_calls"]

"""Recurrences evaluated step by step: each line at one value of the step's index, and so on inward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import sympy

from spec.language.evaluation.compiled.frame import Finish
from spec.language.evaluation.compiled.program import split_place
from spec.language.lines import Definition
from spec.language.ordering import Group, Step

if TYPE_CHECKING:
    from tests.spec.language.evaluation.interpreter import Interpreter


@dataclass(frozen=True)
class Along:
    """Where a line writes along a step: at ``slope·symbol + offset``, from first to last; at the offset without a symbol."""

    symbol: sympy.Symbol | None
    slope: int
    offset: int
    first: int
    last: int

    def reaches(self, now: int) -> bool:
        """Whether the line writes there."""
        return self.first <= now <= self.last


@dataclass(frozen=True)
class Stepping:
    """A line of a recurrence, and its indices as far as the steps fix them."""

    line: Definition
    finish: Finish | None
    fixed: Mapping[sympy.Symbol, int] = field(default_factory=dict)

    def place(self, evaluator: Interpreter, step: Step) -> Along:
        """Where the line writes along a step.

        Raises:
            ValueError: at something else than one of its indices, up to a sign and a shift.
        """
        symbol, slope, rest = split_place(step.of(self.line), self.line, frozenset(self.fixed))
        offset = int(evaluator.index(rest).item())
        if symbol is None:
            return Along(None, 0, offset, offset, offset)
        plain = [evaluator.plain(end) for end in self.line.spans[symbol]]
        if plain[0] is not None and plain[1] is not None:
            if plain[0] > plain[1]:
                return Along(symbol, slope, offset, 0, -1)
            return Along(
                symbol, slope, offset, *sorted(slope * end + offset for end in plain if end is not None)
            )
        others = [(s, *self._span(s)) for s in self.line.spans if s != symbol]
        with evaluator.within(others, None):  # a range may depend on another index: then it is the widest
            low, high = (evaluator.index(end) for end in self.line.spans[symbol])
        if not low.size or not high.size:
            return Along(symbol, slope, offset, 0, -1)
        ends = sorted(slope * int(end) + offset for end in (low.min(), high.max()))
        return Along(symbol, slope, offset, *ends)

    def _span(self, symbol: sympy.Symbol) -> tuple[Any, Any]:
        now = self.fixed.get(symbol)
        return self.line.spans[symbol] if now is None else (now, now)

    def at(self, place: Along, now: int) -> Stepping:
        """The line with the index of a step fixed so that it writes at ``now``."""
        if place.symbol is None:
            return self
        return replace(self, fixed={**self.fixed, place.symbol: place.slope * (now - place.offset)})


def step_through(evaluator: Interpreter, group: Group, finish: Finish | None) -> None:
    """Evaluate the lines of a recurrence; what a step adds to is finished by the caller, once all is added."""
    added = {line.name for line in group.lines if line.accumulate}
    _stepped(
        evaluator, group, [Stepping(line, None if line.name in added else finish) for line in group.lines]
    )


def _stepped(evaluator: Interpreter, group: Group, lines: list[Stepping]) -> None:
    """Evaluate those of a group's lines that have a part at the current steps."""
    if group.step is None:
        for each in lines:
            evaluator.line(each.line, each.fixed, each.finish)
        return
    places = [each.place(evaluator, group.step) for each in lines]
    first = min((place.first for place in places), default=0)
    last = max((place.last for place in places), default=-1)
    inside = [{id(line) for line in part.lines} for part in group.body]
    for now in range(first, last + 1) if group.step.ascends else range(last, first - 1, -1):
        here = [x.at(place, now) for x, place in zip(lines, places, strict=True) if place.reaches(now)]
        for part, own in zip(group.body, inside, strict=True):
            _stepped(evaluator, part, [x for x in here if id(x.line) in own])

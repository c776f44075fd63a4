"""Programs: a flattened formula compiled once, run in any arithmetic at any sizes; a recurrence runs its lines at each value of
its step, and so on inward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from spec.language.arrays import DISCRETE
from spec.language.evaluation.arithmetic import Arithmetic
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.compiled.conditions import Opening
from spec.language.evaluation.compiled.frame import Finish, Frame, Sized
from spec.language.evaluation.compiled.indices import Index
from spec.language.evaluation.compiled.lines import CompiledLine, Lines
from spec.language.evaluation.numbers import Num
from spec.language.flatten import Flat
from spec.language.lines import Definition
from spec.language.ordering import Group, Step
from spec.language.trees import free_symbols


@dataclass(frozen=True)
class Along:
    """Where a line writes along a step: at ``slope·index + offset`` over the index's range; without an index, at the offset."""

    slot: int | None
    slope: int
    offset: Index
    enter: Opening | None = None
    ends: tuple[Index, Index] | None = None

    def reach(self, frame: Frame) -> tuple[int, int, int]:
        """The offset, and where the line writes first and last; nowhere if first is after last."""
        offset = self.offset.once(frame)
        if self.ends is None:
            return offset, offset, offset
        low, high = self.ends
        if low.plain and high.plain and low.number is not None and high.number is not None:
            first, last = low.number(frame), high.number(frame)
            if first > last:
                return offset, 0, -1
        else:  # a range may depend on another index: then it is the widest
            assert self.enter is not None
            self.enter(frame)
            lows, highs = low.array(frame), high.array(frame)
            frame.guard = None
            if not lows.size or not highs.size:
                return offset, 0, -1
            first, last = int(lows.min()), int(highs.max())
        first, last = sorted((self.slope * first + offset, self.slope * last + offset))
        return offset, first, last


@dataclass(frozen=True)
class Run:
    """Lines evaluated one after the other, those of them that have a part at the steps around."""

    lines: tuple[tuple[int, CompiledLine, bool], ...]

    def run(self, frame: Frame, active: frozenset[int], finish: Finish | None) -> None:
        """Evaluate; ``active`` numbers the lines that have a part here."""
        for number, line, finished in self.lines:
            if number in active:
                line.run(frame, finish if finished else None)


@dataclass(frozen=True)
class SteppedRun:
    """A recurrence: where each line writes along its step, and what one step evaluates."""

    ascends: bool
    places: tuple[tuple[int, Along], ...]
    body: tuple[Run | SteppedRun, ...]

    def run(self, frame: Frame, active: frozenset[int], finish: Finish | None) -> None:
        """Evaluate the body at each value of the step at which some line writes."""
        reaches = [(number, along, *along.reach(frame)) for number, along in self.places if number in active]
        first = min((reach[3] for reach in reaches), default=0)
        last = max((reach[4] for reach in reaches), default=-1)
        for now in range(first, last + 1) if self.ascends else range(last, first - 1, -1):
            here = []
            for number, along, offset, start, end in reaches:
                if start <= now <= end:
                    here.append(number)
                    if along.slot is not None:
                        frame.low[along.slot], frame.length[along.slot] = along.slope * (now - offset), 1
            now_active = frozenset(here)
            for part in self.body:
                part.run(frame, now_active, finish)


@dataclass(frozen=True)
class Recurrence:
    """Lines that refer to one another, and the tensors that they fill."""

    tensors: tuple[tuple[str, Any], ...]
    part: SteppedRun
    every: frozenset[int]

    def run(self, frame: Frame, finish: Finish | None) -> None:
        """Evaluate all steps."""
        for name, shape in self.tensors:
            if name not in frame.tensors:
                frame.tensors[name] = frame.arithmetic.zeros(shape(frame))
                frame.owned.add(name)
        self.part.run(frame, self.every, finish)


class Steps(Lines):
    """Compiles recurrences."""

    def recurrence(self, group: Group) -> Recurrence:
        """A group of lines that step through an index."""
        added = {line.name for line in group.lines if line.accumulate}
        tensors = {
            line.name: line.left.tensor for line in group.lines if line.left.tensor.domain not in DISCRETE
        }
        slots = [{symbol: self.slots.axis() for symbol in line.spans} for line in group.lines]
        lines = list(zip(range(len(slots)), group.lines, slots, strict=True))
        self.stepping = True
        part = self._make_run(group, [(*line, frozenset()) for line in lines], added)
        self.stepping = False
        assert isinstance(part, SteppedRun)
        return Recurrence(
            tuple((name, self.shape(tensor)) for name, tensor in tensors.items()),
            part,
            frozenset(range(len(slots))),
        )

    def _make_run(
        self,
        group: Group,
        lines: list[tuple[int, Definition, Mapping[sympy.Symbol, int], frozenset[Any]]],
        added: set[str],
    ) -> Run | SteppedRun:
        if group.step is None:
            return Run(
                tuple(
                    (number, self.line(line, slots, fixed), line.name not in added)
                    for number, line, slots, fixed in lines
                )
            )
        places, inner = [], []
        for number, line, slots, fixed in lines:
            symbol, along = self._along(group.step, line, slots, fixed)
            places.append((number, along))
            inner.append((number, line, slots, fixed if symbol is None else fixed | {symbol}))
        body = []
        for part in group.body:
            own = {id(line) for line in part.lines}
            body.append(self._make_run(part, [each for each in inner if id(each[1]) in own], added))
        return SteppedRun(group.step.ascends, tuple(places), tuple(body))

    def _along(
        self, step: Step, line: Definition, slots: Mapping[sympy.Symbol, int], fixed: frozenset[Any]
    ) -> tuple[sympy.Symbol | None, Along]:
        symbol, slope, rest = split_place(step.of(line), line, fixed)
        own = {s: slots[s] if s in fixed else self.slots.axis() for s in slots}  # the line opens its own
        if symbol is None:
            around, _, _ = self.indices(line, own, fixed)
            return None, Along(None, 0, self.index(rest, around))
        around, enter, _ = self.indices(line, own, fixed, without=symbol)
        first, last = (self.index(end, around) for end in line.spans[symbol])
        return symbol, Along(slots[symbol], slope, self.index(rest, around), enter, (first, last))


@lru_cache(maxsize=4096)
def split_place(
    place: sympy.Expr, line: Definition, fixed: frozenset[sympy.Symbol]
) -> tuple[sympy.Symbol | None, int, sympy.Expr]:
    """A place as ±symbol + rest, for the one index of the line that is not fixed and moves it."""
    place = sympy.expand(place)
    found = [s for s in line.spans if s in free_symbols(place) and s not in fixed]
    symbol = found[0] if found else None
    slope = 0 if symbol is None else place.coeff(symbol)
    if len(found) > 1 or abs(slope) not in (0, 1):
        raise ValueError(f"a recurrence cannot be stepped through by {place} in {line.left}")
    return symbol, int(slope), place if symbol is None else place - slope * symbol


class Program(Sized):
    """The lines of a flattened formula as closures; see :meth:`run`. ``stored`` names what an implementation stores."""

    def __init__(self, flat: Flat) -> None:
        compiler, outputs = Steps(flat.softmax_groups), {t.name for t in flat.outputs}
        self.groups, made, read = [], [], []
        for group in flat.groups:
            compiler.read = set()
            self.groups.append(_group(compiler, group))
            made.append({line.name for line in group.lines})
            read.append(compiler.read)
        self.passing = _plan_lifetimes(made, read, outputs)
        self.stored = flat.stored | outputs
        super().__init__(compiler.slots)

    def run(
        self,
        arithmetic: Arithmetic[Any],
        bindings: Bindings,
        finish: Finish | None = None,
        every: bool = True,
    ) -> Frame:
        """Evaluate all lines; ``finish`` may change what is stored for a tensor, see :data:`Finish`.

        Unless ``every`` tensor is asked for, each goes once nothing reads it any more, outputs excepted.
        """
        frame = self.frame(arithmetic, bindings)
        held: dict[str, int] = {}
        for (lines, recurrence, names), (made, done) in zip(self.groups, self.passing, strict=True):
            if recurrence is not None:
                recurrence.run(frame, finish)
            for line in lines:
                line.run(frame, None)
            if finish is not None:
                for name in names:
                    if name in frame.tensors:
                        frame.tensors[name] = finish(name, frame.tensors[name], False)
            if not every:
                held |= {name: _bytes(frame.tensors[name]) for name in made if name in frame.tensors}
                frame.most = max(frame.most, sum(held.values()))
                for name in done:
                    frame.tensors.pop(name, None)
                    held.pop(name, None)
        return frame


def compile_program(flat: Flat) -> Program:
    """The program of a flattened formula, compiled when first asked for."""
    found = flat.memo.get(Program)
    if found is None:
        found = flat.memo[Program] = Program(flat)
    return found


def _group(compiler: Steps, group: Group) -> tuple[list[CompiledLine], Recurrence | None, tuple[str, ...]]:
    """Lines, or a recurrence; and the tensors that are finished once all of it is evaluated."""
    if group.step is not None:
        added = dict.fromkeys(line.name for line in group.lines if line.accumulate)
        return [], compiler.recurrence(group), tuple(added)
    lines = []
    for line in group.lines:
        slots = {symbol: compiler.slots.axis() for symbol in line.spans}
        lines.append(compiler.line(line, slots, frozenset()))
    return lines, None, tuple(dict.fromkeys(line.name for line in group.lines))


def _plan_lifetimes(
    made: Sequence[Set[str]], read: Sequence[Set[str]], outputs: Set[str]
) -> list[tuple[Set[str], Set[str]]]:
    """For each group the tensors that it makes, and those that nothing reads after it."""
    found: list[tuple[Set[str], Set[str]]] = []
    later = set(outputs)
    for own, others in zip(reversed(made), reversed(read), strict=True):
        found.append((own, (own | others) - later))
        later |= own | others
    return found[::-1]


def _bytes(tensor: Any) -> int:
    """Bytes that a tensor keeps others from using; of a view those of the array that it shows a part of."""
    array = tensor.value if isinstance(tensor, Num) else tensor
    while isinstance(array.base, np.ndarray):
        array = array.base
    return int(array.nbytes)

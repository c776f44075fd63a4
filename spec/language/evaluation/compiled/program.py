"""Programs: a flattened formula compiled once, run in any arithmetic at any sizes."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from spec.language.evaluation.arithmetic import Arithmetic
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.compiled.frame import Finish, Frame, Sized
from spec.language.evaluation.compiled.lines import Compiled
from spec.language.evaluation.compiled.steps import Recurrence, Steps
from spec.language.evaluation.numbers import Num
from spec.language.flatten import Flat
from spec.language.ordering import Group


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
        self.passing = _passing(made, read, outputs)
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


def compiled(flat: Flat) -> Program:
    """The program of a flattened formula, compiled when first asked for."""
    found = flat.kept.get(Program)
    if found is None:
        found = flat.kept[Program] = Program(flat)
    return found


def _group(compiler: Steps, group: Group) -> tuple[list[Compiled], Recurrence | None, tuple[str, ...]]:
    """Lines, or a recurrence; and the tensors that are finished once all of it is evaluated."""
    if group.step is not None:
        added = dict.fromkeys(line.name for line in group.lines if line.accumulate)
        return [], compiler.recurrence(group), tuple(added)
    lines = []
    for line in group.lines:
        slots = {symbol: compiler.slots.axis() for symbol in line.spans}
        lines.append(compiler.line(line, slots, frozenset()))
    return lines, None, tuple(dict.fromkeys(line.name for line in group.lines))


def _passing(
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

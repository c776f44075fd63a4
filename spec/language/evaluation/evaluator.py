"""Trees that stand by themselves, evaluated: claims with formulas applied in them, axioms, conditions, indices.

Each is compiled once, over the indices that are opened around it, and run at whatever is given; lines of formulas are run by
:mod:`~spec.language.evaluation.evaluate`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sympy

from spec.language.evaluation.arithmetic import Arithmetic, Truth
from spec.language.evaluation.binding import Bindings
from spec.language.evaluation.compiled.applications import Applications, Claims, Gathering
from spec.language.evaluation.compiled.conditions import Opening
from spec.language.evaluation.compiled.frame import Around, Frame, Sized
from spec.language.evaluation.compiled.lines import together
from spec.language.evaluation.indexing import Ints
from spec.language.expr import TRUE, Node
from spec.language.known import is_known

Spans: TypeAlias = tuple[tuple[sympy.Symbol, Any, Any], ...]
"""Indices, each with its first and last value, outermost first."""
MOST_QUERIES = 2048
"""How many trees are kept compiled."""


class Query(Sized):
    """Trees of one kind, compiled over the indices around them, under a condition."""

    def __init__(
        self, kind: str, trees: Sequence[Any], spans: Spans, where: Node, calls: Applications | None
    ) -> None:
        leading, beside = (calls.leading, calls.beside) if calls is not None else ((), ())
        compiler, around = Claims(leading, beside), Around()
        openings = list[Opening | None]()
        for symbol, first, last in spans:
            around, opening = compiler.open_range(symbol, first, last, around)
            openings.append(opening)
        self._open, self._where = together(openings), compiler.condition(where, around)
        self._axes = [around.axes[symbol].slot for symbol, _, _ in spans]
        self.parts: list[Any] = [getattr(compiler, kind)(tree, around) for tree in trees]
        self.callees = tuple(compiler.callees.values())
        super().__init__(compiler.slots)

    def enter(self, frame: Frame) -> Truth | None:
        """Open the indices; the condition under which they count, None for always."""
        condition = self._open(frame)
        if not self._where.always:
            held = self._where.truth(frame)
            condition = held if condition is None else condition & held
        frame.guard = None if condition is None else condition.possibly
        return condition

    def extent(self, frame: Frame) -> tuple[int, ...]:
        """How many values each index has."""
        return tuple(frame.length[slot] for slot in self._axes)


_COMPILED: OrderedDict[Any, Query] = OrderedDict()


def compile_query(
    kind: str, trees: Sequence[Any], spans: Spans, where: Node, calls: Applications | None
) -> Query:
    """Trees compiled, once for all evaluators."""
    key = (kind, tuple(trees), spans, where, calls and (calls.leading, calls.beside))
    found = _COMPILED.get(key)
    if found is None or not all(is_known(callee) for callee in found.callees):  # tests state formulas again
        found = _COMPILED[key] = Query(kind, trees, spans, where, calls)
        if len(_COMPILED) > MOST_QUERIES:
            _COMPILED.popitem(last=False)
    else:
        _COMPILED.move_to_end(key)
    return found


@dataclass(frozen=True)
class Over:
    """Values of trees over indices.

    Attributes:
        values: of each tree, an axis for each index; along one on which it does not depend the axis may have length 1.
        where: the condition under which they count; None for always.
        extent: how many values each index has.
    """

    values: list[Any]
    where: Truth | None
    extent: tuple[int, ...]


class Evaluator:
    """Evaluates trees in one arithmetic at given tensors and sizes; ``calls`` gives results where a formula is applied."""

    def __init__(
        self, arithmetic: Arithmetic[Any], bindings: Bindings, calls: Applications | None = None
    ) -> None:
        self.arithmetic, self.bindings, self.calls = arithmetic, bindings, calls
        self.sizes, self.integers, self.booleans = bindings.sizes, bindings.integers, bindings.booleans
        self.tensors: dict[str, Any] = bindings.numbers(arithmetic)
        self.outcomes: Sequence[tuple[Any, Any]] | None = None
        """Values of a random entry with their probabilities, over which expectations are taken."""

    def at(self, fixed: Mapping[sympy.Symbol, int]) -> Evaluator:
        """An evaluator of the same tensors with some indices fixed."""
        bindings = replace(self.bindings, sizes={**self.sizes, **fixed}, reals={}, rationals={})
        found = Evaluator(self.arithmetic, bindings, self.calls)
        found.tensors, found.outcomes = self.tensors, self.outcomes
        return found

    def values(self, trees: Sequence[Any], spans: Spans = (), where: Node = TRUE) -> Over | None:
        """The values of trees wherever the indices are; None where the condition holds nowhere, or an index has no value."""
        query, frame = self._run("value", trees, spans, where)
        with np.errstate(all="ignore"):
            inside = query.enter(frame)
            extent = query.extent(frame)
            if not all(extent) or (inside is not None and not inside.surely.any()):
                return None
            return Over([part(frame) for part in query.parts], inside, extent)

    def truth(self, condition: Any, spans: Spans = ()) -> Truth:
        """A condition wherever the indices are."""
        query, frame = self._run("condition", [condition], spans)
        query.enter(frame)
        extent = query.extent(frame)
        with np.errstate(all="ignore"):
            found: Truth = query.parts[0].truth(frame)
        return found.view(lambda part: np.broadcast_to(part, extent))

    def condition(self, condition: Any, spans: Spans = ()) -> npt.NDArray[np.bool_]:
        """A condition as the values at hand say it, decided or not."""
        return self.truth(condition, spans).holds

    def index(self, expr: Any, spans: Spans = ()) -> Ints:
        """An index expression wherever the indices are."""
        query, frame = self._run("index", [expr], spans)
        query.enter(frame)
        return np.broadcast_to(query.parts[0].array(frame), query.extent(frame))

    def arguments(self, node: Any, spans: Spans = ()) -> list[dict[str, Any]]:
        """What a formula is applied to, at each value of the leading indices and of those that its arguments depend on."""
        query, frame = self._run("gather_arguments", [node], spans)
        query.enter(frame)
        gathering: Gathering = query.parts[0]
        with np.errstate(all="ignore"):
            return gathering.everywhere(frame)

    def _run(self, kind: str, trees: Sequence[Any], spans: Spans, where: Node = TRUE) -> tuple[Query, Frame]:
        query = compile_query(kind, trees, spans, where, self.calls)
        frame = query.frame(self.arithmetic, self.bindings, self.tensors)
        frame.calls, frame.outcomes = self.calls, self.outcomes
        return query, frame

"""Claims compiled: formulas applied in them, and expectations over what is random.

Where a formula is applied, its arguments are gathered at every value of the indices around that they depend on; something, the
statement itself or a callable, gives the results at all of these (:class:`Applications`); and the entries asked for are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, prod
from typing import Any

import flint
import numpy as np
import sympy

from spec.language.arrays import WHOLE, Comprehension, Tensor
from spec.language.binders import Expectation
from spec.language.calls import ABSENT, Call, Pullback
from spec.language.evaluation.compiled.conditions import Opening, Value
from spec.language.evaluation.compiled.frame import Around, Axis, Frame, broadcast, reshaped
from spec.language.evaluation.compiled.indices import Index, reader
from spec.language.evaluation.compiled.lines import together
from spec.language.evaluation.compiled.values import Values
from spec.language.evaluation.dimensions import Size, is_size
from spec.language.expr import Literal, Node
from spec.language.known import get_formula
from spec.language.trees import free_symbols

MOST_OUTCOMES = 256
"""How many outcomes of the random entries an expectation is summed over at most."""


class NotEvaluated(ValueError):  # noqa: N818  (what is found, not a fault)
    """A claim that cannot be evaluated at a point; the message says why."""


class Applications:
    """What gives the results where a claim applies a formula; subclasses do.

    Attributes:
        leading: the indices that every argument has an axis for, in front.
        beside: indices by which results are told apart that come from the same arguments; they have an axis before all others.
        most: at how many values of the indices around it a formula is applied at most.
    """

    leading: tuple[sympy.Symbol, ...] = ()
    beside: tuple[sympy.Symbol, ...] = ()
    most: float = inf

    def read_argument(self, frame: Frame, item: Tensor, value: Tensor) -> Sequence[Any]:
        """A tensor that is an argument as it stands, at each value of the leading indices."""
        if item.domain == "boolean":
            return [frame.booleans[value.name]]
        return [frame.integers[value.name] if item.domain in WHOLE else self.real(frame.tensors[value.name])]

    def real(self, number: Any) -> Any:
        """An array of a real argument, from a number of the arithmetic."""
        raise NotImplementedError

    def apply_all(self, node: Call | Pullback, every: list[dict[str, Any]]) -> list[Any]:
        """The whole outputs (or gradients) at each of these arguments; that of a pullback's seed is called ``seed``."""
        raise NotImplementedError

    def join_results(self, parts: list[Any], lead: tuple[int, ...], beside: bool) -> Any:
        """These results as one number of the arithmetic: axes for the indices around come first.

        ``beside`` says whether there is an axis, before all others, for the indices by which results are told apart.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Argument:
    """An argument compiled.

    Attributes:
        name: of the input.
        item: the input.
        standing: the tensor, where it is one as it stands.
        rows: its values, the first axis for the indices around; of a size the number; None where nothing is given.
        moves: it depends on an index around, the leading ones apart.
    """

    name: str
    item: Tensor | Size
    standing: Tensor | None
    rows: Callable[[Frame], Any] | None
    moves: bool

    def column(self, frame: Frame, leading: int, places: int) -> list[Any]:
        """The argument at each value of the leading indices and, for each, of the others."""
        if self.standing is not None:
            assert isinstance(self.item, Tensor)
            return [
                own
                for own in frame.calls.read_argument(frame, self.item, self.standing)
                for _ in range(places)
            ]
        found = None if self.rows is None else self.rows(frame)
        if found is None or isinstance(found, int):
            return [found] * (leading * places)
        each = [found[k, ...] for k in range(len(found))] if found.dtype == object else list(found)
        return each if self.moves else [own for own in each for _ in range(places)]


@dataclass(frozen=True)
class Gathering:
    """The arguments of an application, gathered at every value of the indices around that they depend on.

    Attributes:
        node: what is applied.
        leading: the leading indices around.
        others: the other indices around on which arguments depend.
        fixed: for each of these where one value of it is held, if the shapes of arguments depend on them: then one place is
            evaluated after the other.
        arguments: in declared order.
    """

    node: Call | Pullback
    leading: tuple[Axis, ...]
    others: tuple[Axis, ...]
    fixed: tuple[int, ...]
    arguments: tuple[Argument, ...]

    def everywhere(self, frame: Frame) -> list[dict[str, Any]]:
        """The arguments at each value of the leading indices and, for each, of the others."""
        leading = prod(frame.length[axis.slot] for axis in self.leading)
        places = prod(frame.length[axis.slot] for axis in self.others)
        if leading * places > frame.calls.most:
            raise NotEvaluated(f"{self.node.args[0]} is applied at more than {frame.calls.most} places")
        if not leading * places:
            return []
        if not self.fixed:
            return self._rows(frame, leading, places)
        every = []
        for at in product(*(range(frame.length[axis.slot]) for axis in self.others)):
            for slot, axis, value in zip(self.fixed, self.others, at, strict=True):
                frame.low[slot], frame.length[slot] = frame.low[axis.slot] + value, 1
            every.append(self._rows(frame, leading, 1))
        return [place[k] for k in range(leading) for place in every]

    def _rows(self, frame: Frame, leading: int, places: int) -> list[dict[str, Any]]:
        saved, frame.guard = frame.guard, None
        names = [argument.name for argument in self.arguments]
        columns = [argument.column(frame, leading, places) for argument in self.arguments]
        frame.guard = saved
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


class Claims(Values):
    """Compiles what stands in claims."""

    def __init__(self, leading: tuple[sympy.Symbol, ...], beside: tuple[sympy.Symbol, ...]) -> None:
        super().__init__(None)
        self.leading, self.beside = leading, beside
        self.callees: dict[str, Any] = {}

    def call(self, node: Call | Pullback, around: Around) -> Value:
        """A formula applied: gathers the arguments, has them applied, reads the entries asked for."""
        gathering = self.gather_arguments(node, around)
        outer = (*gathering.leading, *gathering.others)
        beside = [around.axes[symbol] for symbol in self.beside if symbol in around.axes]
        readings = [
            *(_from_first(axis, around.depth) for axis in (*beside, *outer)),
            *(self.index(part, around) for part in node.index),
        ]
        places = reader(readings, around.depth, self.slots) if readings else None
        scalar = reshaped((1,) * around.depth)

        def value(frame: Frame) -> Any:
            arithmetic = frame.arithmetic
            parts = frame.calls.apply_all(node, gathering.everywhere(frame))
            lead = tuple(frame.length[axis.slot] for axis in outer)
            number = frame.calls.join_results(parts, lead, bool(beside))
            if places is None:
                return arithmetic.view(number, scalar)
            return arithmetic.view(number, places(frame, arithmetic.shape(number)).change(frame))

        return value

    def gather_arguments(self, node: Call | Pullback, around: Around) -> Gathering:
        """The arguments of an application compiled."""
        callee = self.callees[node.formula_id] = get_formula(node.formula_id)
        pulled = isinstance(node, Pullback)
        values = list((node.call if pulled else node).arguments)
        items = [(str(item), item, value) for item, value in zip(callee.inputs, values, strict=False)]
        if isinstance(node, Pullback):
            items.append(("seed", callee.line(node.output), node.seed))
        used = set().union(*(free_symbols(value) for _, _, value in items))
        leading = {s: around.axes[s] for s in self.leading if s in around.axes}
        others = {s: axis for s, axis in around.axes.items() if s in used and s not in leading}
        others = dict(sorted(others.items(), key=lambda pair: pair[1].place))
        sized = set().union(*(_find_size_symbols(item, value) for _, item, value in items))
        fixed = {s: self.slots.axis() for s in others} if not sized.isdisjoint(others) else {}
        stepping, self.stepping = self.stepping, self.stepping or bool(fixed)
        arguments = [self._argument(name, item, value, leading, others, fixed) for name, item, value in items]
        self.stepping = stepping
        return Gathering(
            node, tuple(leading.values()), tuple(others.values()), tuple(fixed.values()), tuple(arguments)
        )

    def _argument(
        self,
        name: str,
        item: Tensor | Size,
        value: Any,
        leading: dict[sympy.Symbol, Axis],
        others: dict[sympy.Symbol, Axis],
        fixed: dict[sympy.Symbol, int],
    ) -> Argument:
        if value == ABSENT or (isinstance(item, Tensor) and item.role == "generator"):
            return Argument(name, item, None, None, False)
        if isinstance(value, Tensor) and isinstance(item, Tensor):
            return Argument(name, item, value, None, False)
        moves = not free_symbols(value).isdisjoint(others)
        around = Around()
        for symbol, axis in (leading | (others if moves else {})).items():
            slot = fixed.get(symbol, axis.slot)
            still = axis.fixed or symbol in fixed
            around = around.inside(symbol, slot, still, axis.static and not still, axis.size)
        if not isinstance(item, Tensor):
            size = self.index(value.value if isinstance(value, Literal) else value, around)
            return Argument(name, item, None, size.once, moves)
        return Argument(name, item, None, self._rows(item, value, around), moves)

    def _rows(self, item: Tensor, value: Any, around: Around) -> Callable[[Frame], Any]:
        """The values of an array, the axes of the indices around joined to one."""
        rows, openings = around.depth, list[Opening | None]()
        if isinstance(value, Comprehension):
            for symbol, size in zip(value.vars, value.shape, strict=True):
                around, opening = self.open_range(symbol, sympy.S.Zero, size - 1, around)
                openings.append(opening)
            value = value.body
        slots = [axis.slot for axis in sorted(around.axes.values(), key=lambda axis: axis.place)]
        enter, array = together(openings), self._array(item, value, around)

        def read_rows(frame: Frame) -> Any:
            enter(frame)
            extent = tuple([frame.length[slot] for slot in slots])
            values = array(frame, extent)
            frame.guard = None
            return values.reshape((prod(extent[:rows]), *extent[rows:]))

        return read_rows

    def _array(self, item: Tensor, value: Any, around: Around) -> Callable[[Frame, tuple[int, ...]], Any]:
        """The values of a tree, as an array of a domain."""
        if item.domain == "boolean":
            condition = self.condition(value, around).truth
            return lambda frame, extent: np.array(np.broadcast_to(condition(frame).holds, extent))
        if item.domain in WHOLE:
            index = self.index(value, around)
            return lambda frame, extent: np.array(np.broadcast_to(index.array(frame), extent))
        number = self.value(value if isinstance(value, Node) else Literal(value), around)
        return lambda frame, extent: frame.calls.real(broadcast(frame.arithmetic, number(frame), extent))

    def expectation(self, node: Expectation, around: Around) -> Value:
        """An expectation, by every outcome of its random entries."""
        names = [tensor.name for tensor in node.random]
        stepping, self.stepping = self.stepping, True
        body = self.value(node.body, around)
        self.stepping = stepping
        scalar = reshaped((1,) * around.depth)

        def value(frame: Frame) -> Any:
            if frame.outcomes is None:
                raise TypeError(f"Expectation has no value: {node}")
            saved, arithmetic, total = {name: frame.tensors[name] for name in names}, frame.arithmetic, None
            for weight, drawn in _outcomes(frame.outcomes, saved):
                frame.tensors |= drawn
                chance = arithmetic.view(arithmetic.rational(int(weight.p), int(weight.q)), scalar)
                part = arithmetic.times(chance, body(frame))
                total = part if total is None else arithmetic.plus(total, part)
            frame.tensors |= saved
            return total

        return value


def _outcomes(
    outcomes: Sequence[tuple[Any, Any]], tensors: dict[str, Any]
) -> Iterator[tuple[flint.fmpq, dict[str, Any]]]:
    """Every outcome of the entries of these tensors, with its probability."""
    entries = sum(array.size for array in tensors.values())
    if len(outcomes) ** entries > MOST_OUTCOMES:
        raise NotEvaluated(f"the expectation is over {entries} random entries")
    for outcome in product(outcomes, repeat=entries):
        left, weight, drawn = list(outcome), flint.fmpq(1), {}
        for name, array in tensors.items():
            drawn[name] = np.empty(array.shape, dtype=object)
            for place in np.ndindex(*array.shape):
                number, chance = left.pop()
                drawn[name][place], weight = flint.arb(number), weight * chance
        yield weight, drawn


def _from_first(axis: Axis, depth: int) -> Index:
    """Where along an axis of results an index stands: they begin at its first value."""
    shape, slot = (*(1,) * axis.place, -1, *(1,) * (depth - axis.place - 1)), axis.slot

    def values(frame: Frame) -> Any:
        return np.arange(frame.length[slot]).reshape(shape)

    if axis.fixed:
        return Index(values, lambda frame: 0)
    return Index(values, None, axis.static, axis=axis, shift=lambda frame: -frame.low[slot])


def _find_size_symbols(item: Tensor | Size, value: Any) -> set[Any]:
    """The indices and sizes on which a size, or the shape of an array, depends."""
    if is_size(item):
        return free_symbols(value)
    shape = value.shape if isinstance(value, Comprehension) else ()
    return set().union(*(free_symbols(size) for size in shape))

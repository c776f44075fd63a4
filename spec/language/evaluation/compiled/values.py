"""Values compiled: closures that give numbers of whatever arithmetic the run has, one axis for each index around.

What a run asks for in several places, or several runs in one, is worked out once. The exponentials of a softmax stand in its
numerator, in its denominator and, over and over, in its gradient; a deviation from a mean does, too. A root of a size is the same
number in every run of these sizes. An arithmetic that draws its roundings is asked each time anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any, TypeAlias

import numpy as np
import sympy

from spec.language import expr
from spec.language.arrays import DISCRETE, WHOLE
from spec.language.binders import Expectation, MaxOf, SumOf
from spec.language.calls import Call, Pullback
from spec.language.evaluation.arithmetic import Arithmetic, Truth
from spec.language.evaluation.compiled.conditions import Conditions, Value, evaluate_guarded, exact
from spec.language.evaluation.compiled.frame import Around, Array, Axis, Frame, broadcast, reshaped
from spec.language.evaluation.compiled.indices import STANDING, Index, Places, refusal
from spec.language.evaluation.contraction import FEWEST
from spec.language.evaluation.indexing import by_products, is_integral, reach, spelt_out
from spec.language.evaluation.numbers import Num
from spec.language.evaluation.softmax_groups import SoftmaxGroups
from spec.language.exact import fraction
from spec.language.expr import Ref
from spec.language.trees import free_symbols, walk

Key: TypeAlias = tuple[Any, ...]
"""What a value is, whatever its indices are called."""

MOST_CONSTANTS = 64
"""For how many choices of the sizes in it a constant is kept."""
_OPERATIONS = (expr.Func, expr.Minus, expr.Over, expr.Plus, expr.Power, expr.Times)


class Shared:
    """A value that several places of a program may ask for, each along indices of its own: as the first works it out.

    It is worked out from the tensors that are ``read``.
    """

    def __init__(
        self, place: int, value: Value, read: Collection[str], axes: Sequence[Axis], depth: int
    ) -> None:
        self.place, self.value, self.read, self.askers = place, value, frozenset(read), 0
        self.own, self.depth = _own(axes), depth

    def read_along(self, axes: Sequence[Axis], depth: int, family: Any) -> Value:
        """The value along these of so many indices, as one of a softmax's family."""
        self.askers += 1
        value, place, before, own = self.value, self.place, self.depth, _own(axes)
        same = own == self.own and depth == before
        drop = tuple([slice(None) if k in self.own else 0 for k in range(before)])
        spread = tuple([slice(None) if k in own else None for k in range(depth)])

        def move_axes(array: Array) -> Array:
            found: Array = array[drop][spread] if array.ndim == before else array
            return found

        def share_value(frame: Frame) -> Any:
            if self.askers == 1:
                return value(frame)
            kept = frame.literals[place]
            found = value(frame) if kept is None else kept[0]
            if frame.certain:
                left = (self.askers if kept is None else kept[1]) - 1
                frame.literals[place] = (found, left) if left else None
            found = found if same else frame.arithmetic.view(found, move_axes)
            if isinstance(found, Num) and found.softmax is not None and found.softmax[0] != family:
                return replace(found, softmax=(family, found.softmax[1]))
            return found

        return share_value


def _own(axes: Sequence[Axis]) -> frozenset[int]:
    """The places of a value's axes; the first of all is there in any case, since it may count samples."""
    return frozenset({0, *(axis.place for axis in axes)})


def shareable(
    node: Any, around: Around, softmax_groups: SoftmaxGroups | None
) -> tuple[Key, list[Axis]] | None:
    """What a value is, and its indices, from the outermost to the innermost; None if it is none that is shared.

    Each entry that it is made of has to be there at any sizes: nothing around then tells whether it counts.
    """
    if not isinstance(node, _OPERATIONS) or not around.depth:
        return None
    found: dict[sympy.Symbol, Axis] = {}
    if not _entries(node, around, found):
        return None
    symbols = sorted(found, key=lambda symbol: found[symbol].place)
    axes = [found[symbol] for symbol in symbols]
    form = _form(node, {symbol: number for number, symbol in enumerate(symbols)}, around, softmax_groups)
    if form is None:
        return None
    return (form, *(axis.slot for axis in axes), bool(axes) and not axes[0].place), axes


def _entries(node: Any, around: Around, found: dict[sympy.Symbol, Axis]) -> bool:
    """Whether a value is made of operations on numbers, sizes and entries that are there at any sizes; their indices."""
    if isinstance(node, expr.Literal):
        return not free_symbols(node) & around.axes.keys()
    if isinstance(node, Ref):
        if node.tensor.domain in DISCRETE:
            return False
        for part, size in zip(node.index, node.tensor.shape, strict=True):
            axis = around.axes.get(part)
            if axis is None or axis.size is None or axis.size != size:
                return False
            found[part] = axis
        return len(set(node.index)) == len(node.index)
    return isinstance(node, (*_OPERATIONS, expr.Negative)) and all(
        _entries(part, around, found) for part in node.args[isinstance(node, expr.Func) :]
    )


def _form(
    node: Any, numbers: dict[sympy.Symbol, int], around: Around, softmax_groups: SoftmaxGroups | None
) -> Key | None:
    """A value with its indices numbered; None if its exponentials depend on others, through what they are divided by."""
    if isinstance(node, expr.Literal):
        return (node,)
    if isinstance(node, Ref):
        return (node.tensor.name, *(numbers[part] for part in node.index))
    parts: list[Any] = [type(node)]
    if isinstance(node, expr.Func):
        parts.append(node.name)
        family = _family(node, softmax_groups)
        if family is not None:
            if not free_symbols(family[1]) & around.axes.keys() <= numbers.keys():
                return None
            parts.append(family[0][0])
    for part in node.args[isinstance(node, expr.Func) :]:
        form = _form(part, numbers, around, softmax_groups)
        if form is None:
            return None
        parts.append(form)
    return tuple(parts)


def is_constant(node: Any, around: Around, softmax_groups: SoftmaxGroups | None) -> bool:
    """Whether a value is worked out from the sizes in it and from numbers alone: an exponential that is divided by a sum is not,
    since what is subtracted from its exponent depends on what the sum runs over.
    """
    plain = isinstance(node, expr.Func | expr.Over | expr.Power) and not _tensors(node)
    return (
        plain and _entries(node, around, {}) and not any(_family(part, softmax_groups) for part in walk(node))
    )


def _family(node: Any, softmax_groups: SoftmaxGroups | None) -> tuple[tuple[object, ...], MaxOf] | None:
    """The family of an exponential that is divided by the sum of such, and the largest exponent; None for all else."""
    exponential = isinstance(node, expr.Func) and node.name == "exp"
    return softmax_groups.of(node.args[1]) if exponential and softmax_groups is not None else None


def _tensors(node: Any) -> bool:
    return isinstance(node, Ref) or any(_tensors(part) for part in node.args)


def constant(value: Value, sizes: Sequence[Callable[[Frame], int]]) -> Value:
    """A value of sizes alone, kept from run to run for each choice of them and each precision."""
    kept: dict[Key, Num] = {}

    def get_number(frame: Frame) -> Any:
        precision = frame.arithmetic.precision_name
        if precision is None:
            return value(frame)
        key = (precision, *[size(frame) for size in sizes])
        number = kept.get(key)
        if number is None:
            if len(kept) >= MOST_CONSTANTS:
                kept.clear()
            number = kept[key] = value(frame)
        return number

    return get_number


class Values(Conditions):
    """Compiles values; ``softmax_groups`` tells of exponentials that are divided by their own sum."""

    def __init__(self, softmax_groups: SoftmaxGroups | None) -> None:
        super().__init__()
        self.softmax_groups = softmax_groups
        self.shared: dict[Any, Shared] = {}
        self.read: set[str] = set()  # the tensors that are read by what was compiled since it was emptied
        self.stepping = False  # tensors are filled by and by: an entry may change

    def value(self, node: Any, around: Around) -> Value:
        """A value, one axis for each index around."""
        handler = _VALUES.get(type(node))
        if handler is None:
            return refusal(TypeError(f"{type(node).__name__} has no value: {node}"))
        if is_constant(node, around, self.softmax_groups):
            sizes = [self.index(size, around).number for size in sorted(free_symbols(node), key=str)]
            return constant(handler(self, node, around), [size for size in sizes if size is not None])
        found = None if self.stepping else shareable(node, around, self.softmax_groups)
        if found is None:
            return handler(self, node, around)
        key, axes = found
        shared = self.shared.get(key)
        if shared is None:
            before, self.read = self.read, set()
            value = handler(self, node, around)
            shared = self.shared[key] = Shared(self.slots.literal(), value, self.read, axes, around.depth)
            self.read = before
        self.read |= shared.read  # any of those who ask may have to work it out
        family = _family(node, self.softmax_groups)
        return shared.read_along(axes, around.depth, None if family is None else family[0])

    def _ref(self, node: Ref, around: Around) -> Value:
        name, domain = node.tensor.name, node.tensor.domain
        if domain in WHOLE:
            return exact(self.index(node, around))
        if domain == "boolean":
            return self._indicator(node, around)
        self.read.add(name)
        if not node.index:
            scalar = reshaped((1,) * around.depth)
            return lambda frame: frame.arithmetic.view(frame.tensors[name], scalar)
        places = self.places(node.tensor, [self.index(part, around) for part in node.index], around)
        if places is STANDING:
            return lambda frame: frame.tensors[name]
        if isinstance(places, Places):
            take = places.take
            return lambda frame: frame.arithmetic.view(frame.tensors[name], take)

        def read_entries(frame: Frame) -> Any:
            stored, arithmetic = frame.tensors[name], frame.arithmetic
            return arithmetic.view(stored, places(frame, arithmetic.shape(stored)).change(frame))

        return read_entries

    def _indicator(self, node: Ref, around: Around) -> Value:
        held, scalar = self.condition(node, around).truth, reshaped((1,) * around.depth)

        def value(frame: Frame) -> Any:
            arithmetic, found = frame.arithmetic, held(frame)
            numbers = arithmetic.exact(found.holds.astype(np.float64), positive=True)
            if found.open is None:
                return numbers
            one, zero = (arithmetic.view(arithmetic.rational(number, 1), scalar) for number in (1, 0))
            return arithmetic.select(found, one, zero)

        return value

    def _literal(self, node: expr.Literal, around: Around) -> Value:
        number = node.value
        if number.is_Rational:
            return self._rational(int(number.p), int(number.q), around)
        if number == sympy.pi:
            scalar = reshaped((1,) * around.depth)
            return lambda frame: frame.arithmetic.view(frame.arithmetic.pi(), scalar)
        if number.has(sympy.pi):
            return self._with_pi(number, around)
        over, under = fraction(number)
        numerator = self._whole(over, around)
        if under == 1:
            return numerator
        denominator = self._whole(under, around)
        return lambda frame: frame.arithmetic.over(numerator(frame), denominator(frame))

    def _with_pi(self, number: sympy.Expr, around: Around) -> Value:
        """Arithmetic over letters, numbers and π."""
        if isinstance(number, sympy.Add | sympy.Mul):
            join = "plus" if isinstance(number, sympy.Add) else "times"
            parts = [self.value(expr.Literal(part), around) for part in number.args]
            return lambda frame: reduce(getattr(frame.arithmetic, join), [part(frame) for part in parts])
        if isinstance(number, sympy.Pow) and number.exp.is_Integer:
            base, power = self.value(expr.Literal(number.base), around), int(number.exp)
            return lambda frame: frame.arithmetic.power(base(frame), None, power)
        return refusal(ValueError(f"{number} is no number that can be evaluated"))

    def _whole(self, number: sympy.Expr, around: Around) -> Value:
        """Index arithmetic as what it is; computed as values are where it may become larger than whole numbers are held."""
        whole = self._convert_index(self.index(number, around))
        if (found := reach(number)) is None:
            return whole
        letters, largest = [self.index(letter, around) for letter in found[0]], found[1]
        spelt = self.value(spelt_out(number), around)

        def value(frame: Frame) -> Any:
            tops = (int(np.abs(letter.array(frame)).max(initial=0)) for letter in letters)
            return (whole if largest(*tops) <= frame.arithmetic.held else spelt)(frame)

        return value

    def _rational(self, p: int, q: int, around: Around) -> Value:
        scalar = reshaped((1,) * around.depth)

        def value(frame: Frame) -> Any:
            return frame.arithmetic.view(frame.arithmetic.rational(p, q), scalar)

        if q != 1:
            return value  # it is rounded, each time anew if the arithmetic has it so
        place = self.slots.literal()

        def same(frame: Frame) -> Any:
            found = frame.literals[place]
            if found is None:
                found = frame.literals[place] = value(frame)
            return found

        return same

    def _convert_index(self, index: Index) -> Value:
        def floats(frame: Frame) -> tuple[Any, bool]:
            values = index.array(frame)
            return values.astype(np.float64), bool((values >= 0).all())

        made = self.slots.keep(floats) if index.static else floats

        def value(frame: Frame) -> Any:
            values, positive = made(frame)
            return frame.arithmetic.exact(values, positive=positive)

        return value

    def _case(self, node: expr.Case, around: Around) -> Value:
        condition = self.condition(node.args[0], around).truth
        then, otherwise = (self.value(part, around) for part in node.args[1:])

        def value(frame: Frame) -> Any:
            held, guard = condition(frame), frame.guard
            may, may_not = held.possibly, ~held.surely
            counts, others = (may, may_not) if guard is None else (may & guard, may_not & guard)
            if not counts.any():
                return broadcast(frame.arithmetic, evaluate_guarded(frame, may_not, otherwise), may.shape)
            first = evaluate_guarded(frame, may, then)
            if guard is None and not others.any():
                return broadcast(frame.arithmetic, first, may.shape)
            return frame.arithmetic.select(held, first, evaluate_guarded(frame, may_not, otherwise))

        return value

    def _sum(self, node: SumOf, around: Around) -> Value:
        inside, enter = self.within(node, around)
        parts: list[Value] = []
        slot, body = inside.axes[node.var].slot, self._product(node.body, inside, parts)
        slots = [axis.slot for axis in inside.axes.values()]
        scalar = reshaped((1,) * around.depth)

        def value(frame: Frame) -> Any:
            saved, arithmetic = frame.guard, frame.arithmetic
            where = enter(frame)
            length = frame.length
            terms = length[slot]
            # How many products the sums have, all in all.
            if len(parts) > 1 and prod([length[one] or 1 for one in slots]) >= FEWEST:
                values = [part(frame) for part in parts]
                frame.guard = saved
                found = arithmetic.contract(values, terms, where)
                if found is not None:
                    return found
                product = reduce(arithmetic.times, values)
                return arithmetic.sum(_terms(arithmetic, product, terms, where), where)
            if not terms:
                frame.guard = saved
                return arithmetic.view(arithmetic.zeros(()), scalar)
            found = body(frame)
            frame.guard = saved
            return arithmetic.sum(_terms(arithmetic, found, terms, where), where)

        return value

    def _product(self, node: Any, around: Around, parts: list[Value]) -> Value:
        """A value, and its factors if it is a product; a square is one factor."""
        if not isinstance(node, expr.Times) or node.args[0] == node.args[1]:
            parts.append(self.value(node, around))
            return parts[-1]
        left, right = (self._product(part, around, parts) for part in node.args)
        return lambda frame: frame.arithmetic.times(left(frame), right(frame))

    def _max(self, node: MaxOf, around: Around) -> Value:
        inside, enter = self.within(node, around)
        slot, body = inside.axes[node.var].slot, self.value(node.body, inside)

        def value(frame: Frame) -> Any:
            saved, arithmetic = frame.guard, frame.arithmetic
            where = enter(frame)
            found = body(frame)
            frame.guard = saved
            return arithmetic.maximum(_terms(arithmetic, found, frame.length[slot], where), where)

        return value

    def _power(self, node: expr.Power, around: Around) -> Value:
        base, exponent = self.value(node.args[0], around), node.args[1]
        if (whole := by_products(exponent)) is not None:
            return lambda frame: frame.arithmetic.power(base(frame), None, whole)
        power, integral = self.value(exponent, around), is_integral(exponent)
        return lambda frame: frame.arithmetic.power(base(frame), power(frame), None, integral)

    def _func(self, node: expr.Func, around: Around) -> Value:
        name, inner = node.name, node.args[1]
        if name == "exp" and isinstance(inner, expr.Func) and inner.name == "log":
            recovered = self.value(inner.args[1], around)
            return lambda frame: frame.arithmetic.exp_of_log(recovered(frame))
        argument = self.value(inner, around)
        if name != "exp":
            return lambda frame: frame.arithmetic.function(name, argument(frame))
        found = _family(node, self.softmax_groups)
        if found is None:
            return lambda frame: frame.arithmetic.exponential(argument(frame), None, None)
        family, largest = found[0], self.value(found[1], around)

        def value(frame: Frame) -> Any:
            exponent = argument(frame)
            if not frame.arithmetic.tracks:
                return frame.arithmetic.exponential(exponent, None, None)
            saved, frame.guard = frame.guard, None
            top = largest(frame)
            frame.guard = saved
            return frame.arithmetic.exponential(exponent, top, family)

        return value

    def _times(self, node: expr.Times, around: Around) -> Value:
        left, right = node.args
        first = self.value(left, around)
        if left == right:
            return lambda frame: frame.arithmetic.power(first(frame), None, 2)
        second = self.value(right, around)
        return lambda frame: frame.arithmetic.times(first(frame), second(frame))

    def _two(self, node: Any, around: Around, name: str) -> Value:
        left, right = (self.value(part, around) for part in node.args)
        return lambda frame: getattr(frame.arithmetic, name)(left(frame), right(frame))

    def _negative(self, node: expr.Negative, around: Around) -> Value:
        inner = self.value(node.args[0], around)
        return lambda frame: frame.arithmetic.negative(inner(frame))

    def _delta(self, node: expr.Delta, around: Around) -> Value:
        left, right = (self.index(part, around) for part in node.args)

        def floats(frame: Frame) -> Array:
            return (left.array(frame) == right.array(frame)).astype(np.float64)

        same = self.slots.keep(floats) if left.static and right.static else floats
        return lambda frame: frame.arithmetic.exact(same(frame), positive=True)

    def _undefined(self, node: expr.Undefined, around: Around) -> Value:
        scalar = reshaped((1,) * around.depth)
        return lambda frame: frame.arithmetic.view(frame.arithmetic.undefined(), scalar)

    def call(self, node: Call | Pullback, around: Around) -> Value:
        """A formula applied; see :mod:`~spec.language.evaluation.compiled.applications`."""
        return refusal(
            TypeError(f"{node.args[0]} is applied here, but calls are not evaluated in this place")
        )

    def expectation(self, node: Expectation, around: Around) -> Value:
        """An expectation; see :mod:`~spec.language.evaluation.compiled.applications`."""
        return refusal(TypeError(f"Expectation has no value: {node}"))


def _terms(arithmetic: Arithmetic[Any], value: Any, terms: int, where: Truth | None) -> Any:
    """The terms of a sum in its length, and in the shape of the condition that permits them."""
    others = (1,) * (len(arithmetic.shape(value)) - 1) if where is None else where.holds.shape[:-1]
    return broadcast(arithmetic, value, (*others, terms))


_VALUES: dict[type, Callable[[Values, Any, Around], Value]] = {
    Ref: Values._ref,
    expr.Literal: Values._literal,
    expr.Plus: lambda made, node, around: made._two(node, around, "plus"),
    expr.Minus: lambda made, node, around: made._two(node, around, "minus"),
    expr.Times: Values._times,
    expr.Over: lambda made, node, around: made._two(node, around, "over"),
    expr.Negative: Values._negative,
    expr.Power: Values._power,
    expr.Func: Values._func,
    expr.Delta: Values._delta,
    expr.Case: Values._case,
    SumOf: Values._sum,
    MaxOf: Values._max,
    expr.Undefined: Values._undefined,
    Call: lambda made, node, around: made.call(node, around),
    Pullback: lambda made, node, around: made.call(node, around),
    Expectation: lambda made, node, around: made.expectation(node, around),
}

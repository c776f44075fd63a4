"""Applying one formula inside another: calls, and derivatives of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.core.symbol import Str

from spec.language.arrays import Comprehension, Tensor, part
from spec.language.evaluation.dimensions import solve_size
from spec.language.exact import exact
from spec.language.expr import Arithmetic, Node, arg, as_index, lift
from spec.language.known import Stated, get_formula
from spec.language.symbols import Index
from spec.language.trees import Binder, free_symbols, substitute

ABSENT = Str("absent")
"""Stands for an optional argument that is not given."""


class Application(Binder):
    """A formula applied to arguments; ``args`` begin with: formula ID, output, arguments, indices."""

    @property
    def formula_id(self) -> str:
        """The ID of the formula applied."""
        return str(self.args[0].name)

    @property
    def output(self) -> str:
        """The output that is read."""
        return str(self.args[1].name)

    @property
    def index(self) -> tuple[Index, ...]:
        """The entry that is read."""
        return self.args[3].args


class Call(Application):
    """An entry of an output of a formula applied to arguments; ``args``: formula ID, output, arguments, indices.

    An argument is a :class:`Tensor`, a :class:`Comprehension`, a scalar node, a size, or ``ABSENT``.
    """

    @property
    def arguments(self) -> tuple[Basic, ...]:
        """The arguments, in declared order."""
        return self.args[2].args

    def free_symbols_unbound(self) -> set[sympy.Symbol]:
        """The symbols free in this node."""
        parts = (*self.arguments, *self.index)
        return set().union(*(free_symbols(part) for part in parts))

    def substitute(self, changes: Mapping[Basic, Basic]) -> Basic:
        """This node after a capture-avoiding substitution."""
        arguments = (substitute(argument, changes) for argument in self.arguments)
        index = (substitute(part, changes) for part in self.index)
        return Call(self.args[0], self.args[1], BasicTuple(*arguments), BasicTuple(*index))


class Pullback(Application):
    """An entry of a vector–Jacobian product of a formula: seed ``g`` on an output, pulled back to an input.

    ``Σ_out g[out] ∂output[out]/∂input[index]``; ``args``: formula ID, output, arguments, indices, seed, input name.
    """

    @property
    def call(self) -> Call:
        """The application that is differentiated."""
        return Call(*self.args[:4])

    seed = arg(4, Basic, "The cotangent of the output.")

    @property
    def wrt(self) -> str:
        """The name of the input."""
        return str(self.args[5].name)

    def free_symbols_unbound(self) -> set[sympy.Symbol]:
        """The symbols free in this node."""
        return self.call.free_symbols_unbound() | free_symbols(self.seed)

    def substitute(self, changes: Mapping[Basic, Basic]) -> Basic:
        """This node after a capture-avoiding substitution."""
        call = substitute(self.call, changes)
        return Pullback(*call.args, substitute(self.seed, changes), self.args[5])


class Applied(Arithmetic):
    """A formula applied to arguments, waiting for an index: ``softmax(s, mask)[i, j]``.

    With fewer indices, or none, it is the array of the entries they leave open; of shape () it is a value as it stands.
    """

    def __init__(self, formula_id: str, output: str, arguments: tuple[Basic, ...]) -> None:
        self._call = (Str(formula_id), Str(output), BasicTuple(*arguments))

    def __repr__(self) -> str:
        return f"{self._call[0]}({', '.join(map(str, self._call[2].args))})"

    @property
    def shape(self) -> tuple[sympy.Expr, ...]:
        """The symbolic shape of the result, in the caller's sizes."""
        callee = get_formula(str(self._call[0]))
        sizes = unify(callee, self._call[2].args)
        return tuple(substitute(size, sizes) for size in callee.line(str(self._call[1])).shape)

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        rank = len(get_formula(str(self._call[0])).line(str(self._call[1])).shape)
        if len(index) == rank and not any(isinstance(one, slice) for one in index):
            return self.entry(tuple(as_index(one) for one in index))
        if len(index) > rank:
            raise ValueError(f"{self._call[0]} gives {rank} axes, but {len(index)} indices were given")
        return part(self.shape, index, self.entry, free_symbols(self._call[2]))

    def entry(self, index: tuple[Index, ...]) -> Call:
        """The entry at these indices."""
        return Call(*self._call, BasicTuple(*index))

    def whole(self) -> Any:
        """The result as an argument of another formula: all of the array, or the value."""
        return self[()]

    def as_node(self) -> Node:
        """The value, where the result has no axes."""
        found = self.whole()
        return found if isinstance(found, Node) and not isinstance(found, Comprehension) else found.as_node()

    def output(self, name: str | Tensor) -> Applied:
        """The same application, another of its outputs; inside a theorem, the tensor of any of its lines."""
        return Applied(str(self._call[0]), str(name), self._call[2].args)

    def pullback(self, seed: Any, wrt: str | Tensor) -> AppliedPullback:
        """The vector–Jacobian product with ``seed`` on this output, with respect to the input ``wrt``."""
        return AppliedPullback(self._call, argument(seed), str(wrt))


class AppliedPullback(Arithmetic):
    """A vector–Jacobian product waiting for the index of the input's entry; with respect to a scalar, a value."""

    def __init__(self, call: tuple[Basic, ...], seed: Basic, wrt: str) -> None:
        self._call, self._seed, self._wrt = call, seed, Str(wrt)

    def __getitem__(self, index: Any) -> Pullback:
        index = index if isinstance(index, tuple) else (index,)
        return Pullback(*self._call, BasicTuple(*(as_index(one) for one in index)), self._seed, self._wrt)

    def as_node(self) -> Node:
        """The derivative with respect to a scalar."""
        return self[()]


def argument(value: Any, item: Any = None) -> Basic:
    """Anything usable as an argument of a formula, as a tree; a plain number is a value where ``item`` is no size."""
    if value is None:
        return ABSENT
    if isinstance(value, Applied):
        value = value.whole()
    if isinstance(value, Tensor | Comprehension | Node):
        return value
    return lift(value) if isinstance(item, Tensor) else exact(value)


def shape_of(value: Basic) -> tuple[sympy.Expr, ...]:
    """The symbolic shape of an argument."""
    return value.shape if isinstance(value, Tensor | Comprehension) else ()


def unify(callee: Stated, arguments: tuple[Basic, ...]) -> dict[Basic, Basic]:
    """The callee's size symbols in terms of the caller's, read off the arguments' shapes.

    Raises:
        ValueError: a shape that does not fit, naming formula, input, expected and given.
    """
    changes: dict[Any, Any] = {}
    shapes: list[tuple[Tensor, tuple[sympy.Expr, ...]]] = []
    for item, value in zip(callee.inputs, arguments, strict=True):
        if isinstance(item, sympy.Symbol):
            changes[item] = value
        elif value != ABSENT:
            shapes.append((item, shape_of(value)))
    for again in (False, True):  # a size such as L + 1 may be known from a later input only
        for item, given in shapes:
            try:
                for size, actual in zip(item.shape, given, strict=True):
                    if not again or not isinstance(size, sympy.Symbol):
                        changes |= solve_size(size, actual, changes) or {}
                    elif sympy.expand(changes[size] - actual) != 0:
                        raise ValueError(f"{size} is not {actual}")
            except ValueError:
                here = tuple(substitute(size, changes) for size in item.shape)
                shapes_said = [", ".join(str(size) for size in shape) for shape in (item.shape, given)]
                if shapes_said[0] == shapes_said[1]:  # the two formulas use one letter for different sizes
                    shapes_said[0] += f"), here ({', '.join(map(str, here))}"
                raise ValueError(
                    f"{callee.id}: {item.name} has shape ({shapes_said[0]}), "
                    f"but an argument of shape ({shapes_said[1]}) was given"
                ) from None
    return changes

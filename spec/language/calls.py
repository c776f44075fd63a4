"""Applying one formula inside another: comprehensions (whole arrays given entry by entry), calls, and derivatives of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.core.symbol import Str

from spec.language.expr import (
    Binder,
    Index,
    Node,
    Tensor,
    free_symbols,
    fresh,
    lift,
    substitute,
)


class Comprehension(Binder):
    """A whole array given entry by entry; ``args``: body, then (index, size) pairs. Build it with :func:`each`."""

    @property
    def body(self) -> Node:
        """The entry at the bound indices."""
        return self.args[0]

    @property
    def vars(self) -> tuple[sympy.Symbol, ...]:
        """The bound indices."""
        return tuple(pair.args[0] for pair in self.args[1:])

    @property
    def shape(self) -> tuple[sympy.Expr, ...]:
        """The size of each axis."""
        return tuple(pair.args[1] for pair in self.args[1:])

    def free_symbols_unbound(self) -> set[sympy.Symbol]:
        """The symbols free in this node."""
        inner = free_symbols(self.body) - set(self.vars)
        return inner.union(*(free_symbols(size) for size in self.shape))

    def substituted(self, changes: Mapping[Basic, Basic]) -> Basic:
        """This node after a capture-avoiding substitution."""
        bound = set(self.vars)
        inner = {old: new for old, new in changes.items() if not bound & free_symbols(old)}
        incoming = set().union(*(free_symbols(new) for new in inner.values())) if inner else set()
        taken = incoming | free_symbols(self.body) | bound
        rename: dict[Basic, Basic] = {}
        for var in self.vars:
            if var in incoming:
                rename[var] = fresh(var, taken)
                taken.add(rename[var])
        body = substitute(substitute(self.body, rename), inner)
        pairs = (
            BasicTuple(rename.get(var, var), substitute(size, changes))
            for var, size in zip(self.vars, self.shape, strict=True)
        )
        return Comprehension(body, *pairs)

    def at(self, index: tuple[Index, ...]) -> Node:
        """The entry at ``index``."""
        return substitute(self.body, dict(zip(self.vars, index, strict=True)))


def each(body: Any, *spans: tuple[sympy.Symbol, Any]) -> Comprehension:
    """``each(s[i, j] + c[i], (i, n), (j, m))``: the n×m array with these entries."""
    return Comprehension(lift(body), *(BasicTuple(var, sympy.sympify(size)) for var, size in spans))


ABSENT = Str("absent")
"""Stands for an optional argument that is not given."""


class Call(Binder):
    """An entry of an output of a formula applied to arguments; ``args``: formula ID, output, arguments, indices.

    An argument is a :class:`Tensor`, a :class:`Comprehension`, a scalar node, a size, or ``ABSENT``.
    """

    @property
    def formula_id(self) -> str:
        """The ID of the formula applied."""
        return str(self.args[0])

    @property
    def output(self) -> str:
        """The output that is read."""
        return str(self.args[1])

    @property
    def arguments(self) -> tuple[Basic, ...]:
        """The arguments, in declared order."""
        return self.args[2].args

    @property
    def index(self) -> tuple[Index, ...]:
        """The entry that is read."""
        return self.args[3].args

    def free_symbols_unbound(self) -> set[sympy.Symbol]:
        """The symbols free in this node."""
        parts = (*self.arguments, *self.index)
        return set().union(*(free_symbols(part) for part in parts))

    def substituted(self, changes: Mapping[Basic, Basic]) -> Basic:
        """This node after a capture-avoiding substitution."""
        arguments = (substitute(argument, changes) for argument in self.arguments)
        index = (substitute(part, changes) for part in self.index)
        return Call(self.args[0], self.args[1], BasicTuple(*arguments), BasicTuple(*index))


class Pullback(Binder):
    """An entry of a vector–Jacobian product of a formula: seed ``g`` on an output, pulled back to an input.

    ``Σ_out g[out] ∂output[out]/∂input[index]``; ``args``: formula ID, output, arguments, indices, seed, input name.
    """

    @property
    def call(self) -> Call:
        """The application that is differentiated."""
        return Call(*self.args[:4])

    @property
    def seed(self) -> Basic:
        """The cotangent of the output."""
        return self.args[4]

    @property
    def wrt(self) -> str:
        """The name of the input."""
        return str(self.args[5])

    @property
    def index(self) -> tuple[Index, ...]:
        """The entry that is read."""
        return self.args[3].args

    def free_symbols_unbound(self) -> set[sympy.Symbol]:
        """The symbols free in this node."""
        return self.call.free_symbols_unbound() | free_symbols(self.seed)

    def substituted(self, changes: Mapping[Basic, Basic]) -> Basic:
        """This node after a capture-avoiding substitution."""
        call = substitute(self.call, changes)
        return Pullback(*call.args, substitute(self.seed, changes), self.args[5])


class Applied:
    """A formula applied to arguments, waiting for an index: ``softmax(s, mask)[i, j]``."""

    def __init__(self, formula_id: str, output: str, arguments: tuple[Basic, ...]) -> None:
        self._call = (Str(formula_id), Str(output), BasicTuple(*arguments))

    def __getitem__(self, index: Any) -> Call:
        index = index if isinstance(index, tuple) else (index,)
        return Call(*self._call, BasicTuple(*(sympy.sympify(part) for part in index)))

    def output(self, name: str) -> Applied:
        """The same application, another of its outputs; inside a theorem, the tensor of any of its lines."""
        return Applied(str(self._call[0]), name, self._call[2].args)

    def pullback(self, seed: Tensor | Comprehension, wrt: str) -> AppliedPullback:
        """The vector–Jacobian product with ``seed`` on this output, with respect to the input named ``wrt``."""
        return AppliedPullback(self._call, seed, wrt)


class AppliedPullback:
    """A vector–Jacobian product waiting for the index of the input's entry."""

    def __init__(self, call: tuple[Basic, ...], seed: Basic, wrt: str) -> None:
        self._call, self._seed, self._wrt = call, seed, Str(wrt)

    def __getitem__(self, index: Any) -> Pullback:
        index = index if isinstance(index, tuple) else (index,)
        return Pullback(
            *self._call, BasicTuple(*(sympy.sympify(part) for part in index)), self._seed, self._wrt
        )


def argument(value: Any) -> Basic:
    """Anything usable as an argument of a formula, as a tree."""
    if value is None:
        return ABSENT
    if isinstance(value, Tensor | Comprehension | Node):
        return value
    return sympy.sympify(value)


def shape_of(value: Basic) -> tuple[sympy.Expr, ...]:
    """The symbolic shape of an argument."""
    return value.shape if isinstance(value, Tensor | Comprehension) else ()

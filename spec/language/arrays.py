"""Arrays: tensors by name, arrays given entry by entry, and parts of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.core.symbol import Str

from spec.language.exact import exact
from spec.language.expr import Arithmetic, Leaf, Node, Ref, arg, as_index, lift
from spec.language.symbols import Index, Letter, span
from spec.language.trees import Binder, free_symbols, fresh, substitute

WHOLE = ("integer", "label", "permutation")
"""The domains of whole numbers."""
DISCRETE = ("boolean", *WHOLE)
"""The domains in which nothing is differentiated or rounded."""
NO_LABEL = -100
"""The label that marks an entry without one, as everywhere in the field."""


class Tensor(Arithmetic, Leaf):
    """A named array with symbolic sizes; ``x[i, j]`` refers to one entry, ``x[i]`` to a row, ``x[:k]`` to a part.

    A tensor of shape () is a value as it stands. ``meaning`` says in words what it holds; it is no part of what it is.

    ``domain`` is ``"real"``, ``"positive"``, ``"nonnegative"``, ``"share"`` (from 0 to 1), ``"boolean"``, ``"integer"``
    (entries lie in ``0 … below-1``), or ``"label"`` (the same, or :data:`NO_LABEL` where there is none). A positive number
    may be at most ``below``, where that is not 0.
    ``role`` says how an implementation receives it: ``data`` (leading batch dimensions allowed), ``parameter`` (none),
    ``mask`` (optional boolean data, absent = all True), ``number`` (a Python number), ``constant`` (fixed by the statement),
    ``generator`` (a random generator), ``internal`` (defined by a line).
    """

    def __new__(  # noqa: D102  (the class says what the arguments are)
        cls,
        name: str | Str,
        shape: Any = (),
        domain: str | Str = "real",
        role: str | Str = "internal",
        below: Any = 0,
        meaning: str = "",
    ) -> Tensor:
        made: Tensor = Basic.__new__(
            cls,
            Str(str(name)),
            BasicTuple(*map(exact, shape)),
            Str(str(domain)),
            Str(str(role)),
            sympy.sympify(below),
        )
        made.meaning = meaning
        # Asked for at every turn, so they are not looked up in ``args`` each time.
        made.name, made.domain, made.role = str(name), str(domain), str(role)
        return made

    meaning: str
    name: str
    """The name, as the statement writes it."""
    domain: str
    """What the entries are; see the class."""
    role: str
    """How an implementation receives it; see the class."""

    @property
    def shape(self) -> tuple[sympy.Expr, ...]:
        """The symbolic sizes of the axes."""
        return tuple(self.args[1].args)

    below = arg(4, sympy.Expr, "For integers: entries are smaller than this.")

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > len(self.shape):
            raise ValueError(
                f"{self.name} has shape ({listed(self.shape)}), but {len(index)} indices were given"
            )
        return part(self.shape, index, lambda every: Ref(self, *every))

    def as_node(self) -> Node:
        """The value of a tensor of shape ()."""
        if self.shape:
            names = ", ".join("ijkl"[: len(self.shape)])
            raise TypeError(
                f"{self.name} has shape ({listed(self.shape)}) and is no value by itself: write an entry, "
                f"{self.name}[{names}], or the array entry by entry, each(…, {names})"
            )
        return Ref(self)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def _sympystr(self, printer: Any) -> str:
        return self.name


class Comprehension(Binder):
    """A whole array given entry by entry; ``args``: body, then (index, size) pairs. Build it with :func:`each`."""

    body = arg(0, Node, "The entry at the bound indices.")

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

    def substitute(self, changes: Mapping[Basic, Basic]) -> Basic:
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

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > len(self.shape):
            raise ValueError(
                f"an array of shape ({listed(self.shape)}) was given {len(index)} indices: {self}"
            )
        return part(self.shape, index, self.at, free_symbols(self))

    def as_node(self) -> Node:
        """An array is no value."""
        raise TypeError(
            f"{self} is an array of shape ({listed(self.shape)}), where a value belongs: write an entry of it"
        )


def each(body: Any, *spans: Any) -> Comprehension:
    """``each(s[i, j] + c[i], i, j)``: the n×m array with these entries; ``(i, k)`` where an index runs below k instead."""
    pairs = []
    for one in spans:
        symbol, first, last = span(one)
        if first != 0:
            raise ValueError(f"an array begins at 0; {symbol} was given the range {first} … {last}")
        pairs.append(BasicTuple(symbol, last + 1))
    return Comprehension(body if isinstance(body, Node) else lift(body), *pairs)


def part(
    shape: tuple[sympy.Expr, ...],
    index: tuple[Any, ...],
    entry: Callable[[tuple[Any, ...]], Node],
    inside: Iterable[sympy.Symbol] = (),
) -> Any:
    """An entry, or where indices are missing or slices, the array of the entries that they leave open.

    ``x[t]`` is the row t, ``x[:k]`` the first k rows, ``x[a:b, c]`` a part of column c. The letters that the parts are given
    are none of those ``inside`` the array, nor of its shape or of the index.

    Raises:
        ValueError: a slice with a step.
    """
    if len(index) == len(shape) and not any(isinstance(one, slice) for one in index):
        return entry(tuple(as_index(one) for one in index))
    written = [end for one in index for end in ((one.start, one.stop) if isinstance(one, slice) else (one,))]
    around = (*shape, *(as_index(one) for one in written if one is not None))
    taken = {s.name for s in set(inside).union(*map(free_symbols, around))}
    letters = (name for name in (*"κινabceuvw", *(f"a_{k}" for k in range(99))) if name not in taken)
    made: list[Any] = []
    open_: list[Letter] = []
    for size, one in zip(shape, (*index, *(slice(None),) * (len(shape) - len(index))), strict=True):
        if not isinstance(one, slice):
            made.append(as_index(one))
            continue
        if one.step is not None:
            raise ValueError("a part of an array is a range of its indices: no step can be given")
        first = sympy.sympify(one.start or 0)
        end = size if one.stop is None else sympy.sympify(one.stop)
        open_.append(Letter(next(letters), end - first))
        made.append(first + open_[-1])
    return Comprehension(entry(tuple(made)), *(BasicTuple(letter, letter.size) for letter in open_))


def listed(shape: tuple[sympy.Expr, ...]) -> str:
    """The sizes of a shape, as a message names them."""
    return ", ".join(str(size) for size in shape)

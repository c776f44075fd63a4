"""The tree that statements are written in: SymPy nodes that keep the order and shape in which they were typed.

SymPy's own ``Add`` and ``Mul`` reorder, merge and cancel while they are being built, which is wrong for a statement (it must
be shown, evaluated and proved as written) and unsound for a proof (``Z/Z`` is 1 only where ``Z`` is not 0). So the operators
below build :class:`Node` objects: SymPy expressions that nothing simplifies. Index and size arithmetic (``2*i + 1``, ``m - n``)
is plain SymPy over integer symbols.

Only this package takes trees apart. ``subs``, ``xreplace`` and ``diff`` do not know which indices are bound; use
:func:`substitute`, which renames bound indices out of the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.core.symbol import Str

Index: TypeAlias = sympy.Expr
"""An integer expression over index and size symbols, or an integer-valued :class:`Ref` (a look-up)."""
Span: TypeAlias = "sympy.Symbol | tuple[sympy.Symbol, Any] | tuple[sympy.Symbol, Any, Any]"
"""How a binder names its index: ``j`` (0 to its size − 1), ``(j, m)`` (0 to m − 1) or ``(j, 1, m)`` (1 to m)."""

FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "abs", "round")


class Letter(sympy.Symbol):  # type: ignore[misc]  # (SymPy's Symbol is untyped)
    """An index that carries its size: it runs from 0 to ``size`` − 1 where nothing else is said.

    Two letters of one name and different sizes are different symbols; a size of None leaves every range to be written.
    """

    __slots__ = ("size",)
    size: sympy.Expr | None

    def __new__(cls, name: str, size: Any = None) -> Letter:  # noqa: D102  (the class says it)
        made = sympy.Symbol.__xnew__(cls, name, integer=True)
        made.size = None if size is None else sympy.sympify(size)
        return made  # type: ignore[no-any-return]  # (likewise)

    def __getnewargs_ex__(self) -> tuple[tuple[str, sympy.Expr | None], dict[str, Any]]:
        return (self.name, self.size), {}

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.name, self.size, *sorted(self.assumptions0.items()))


def sizes(names: str) -> tuple[sympy.Symbol, ...]:
    """Size symbols, each an integer of at least 1: ``n, m = sizes("n m")``."""
    return tuple(sympy.Symbol(name, integer=True, positive=True) for name in names.split())


def indices(names: str = "", /, **ranges: Any) -> tuple[Letter, ...]:
    """Indices with their sizes: ``i, j, l = indices(i=n, j=m, l=m)``; by name alone, ``indices("i j")``, without."""
    return (*(Letter(name) for name in names.split()), *(Letter(name, size) for name, size in ranges.items()))


def span(given: Any) -> tuple[sympy.Symbol, sympy.Expr, sympy.Expr]:
    """An index with its first and last value, from any way to write it (:data:`Span`).

    Raises:
        ValueError: an index without a size of its own, and no range.
    """
    if isinstance(given, sympy.Symbol):
        given = (given, getattr(given, "size", None))
    symbol, *ends = given
    if None in ends:
        raise ValueError(f"the index {symbol} has no size of its own: write its range, as in ({symbol}, n)")
    first, last = (0, sympy.sympify(ends[0]) - 1) if len(ends) == 1 else ends
    return symbol, sympy.sympify(first), sympy.sympify(last)


class Arithmetic:
    """What has a value in a statement: operators build nodes, and evaluate nothing."""

    def __add__(self, other: Any) -> Node:
        return Plus(lift(self), lift(other))

    def __radd__(self, other: Any) -> Node:
        return Plus(lift(other), lift(self))

    def __sub__(self, other: Any) -> Node:
        return Minus(lift(self), lift(other))

    def __rsub__(self, other: Any) -> Node:
        return Minus(lift(other), lift(self))

    def __mul__(self, other: Any) -> Node:
        return Times(lift(self), lift(other))

    def __rmul__(self, other: Any) -> Node:
        return Times(lift(other), lift(self))

    def __truediv__(self, other: Any) -> Node:
        return Over(lift(self), lift(other))

    def __rtruediv__(self, other: Any) -> Node:
        return Over(lift(other), lift(self))

    def __pow__(self, other: Any, modulo: Any = None) -> Node:
        return Power(lift(self), lift(other))

    def __rpow__(self, other: Any) -> Node:
        return Power(lift(other), lift(self))

    def __neg__(self) -> Node:
        return Negative(lift(self))

    def __and__(self, other: Any) -> Node:
        return Both(lift(self), lift(other))

    def __or__(self, other: Any) -> Node:
        return Either(lift(self), lift(other))

    def __invert__(self) -> Node:
        return Not(lift(self))

    def as_node(self) -> Node:
        """This as a node of a statement.

        Raises:
            TypeError: an array where a value belongs, with what to write.
        """
        raise NotImplementedError


class Tensor(Arithmetic, Basic):  # type: ignore[misc]  # (SymPy's Basic is untyped)
    """A named array with symbolic sizes; ``x[i, j]`` refers to one entry, ``x[i]`` to a row, ``x[:k]`` to a part.

    A tensor of shape () is a value as it stands. ``meaning`` says in words what it holds; it is no part of what it is.

    ``domain`` is ``"real"``, ``"positive"``, ``"nonnegative"``, ``"boolean"``, or ``"integer"`` (entries lie in
    ``0 … below-1``).
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
            cls, Str(str(name)), BasicTuple(*shape), Str(str(domain)), Str(str(role)), sympy.sympify(below)
        )
        made.meaning = meaning
        return made

    meaning: str

    @property
    def name(self) -> str:
        """The name, as the statement writes it."""
        return self.args[0].name

    @property
    def shape(self) -> tuple[sympy.Expr, ...]:
        """The symbolic sizes of the axes."""
        return tuple(self.args[1].args)

    @property
    def domain(self) -> str:
        """What the entries are; see the class."""
        return self.args[2].name

    @property
    def role(self) -> str:
        """How an implementation receives it; see the class."""
        return self.args[3].name

    @property
    def below(self) -> sympy.Expr:
        """For integers: entries are smaller than this."""
        return self.args[4]

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > len(self.shape):
            raise ValueError(
                f"{self.name} has shape ({_listed(self.shape)}), but {len(index)} indices were given"
            )
        return part(self.shape, index, lambda every: Ref(self, *every))

    def as_node(self) -> Node:
        """The value of a tensor of shape ()."""
        if self.shape:
            names = ", ".join("ijkl"[: len(self.shape)])
            raise TypeError(
                f"{self.name} has shape ({_listed(self.shape)}) and is no value by itself: write an entry, "
                f"{self.name}[{names}], or the array entry by entry, each(…, {names})"
            )
        return Ref(self)

    def renamed(self, name: str, lead: tuple[sympy.Expr, ...] = ()) -> Tensor:
        """The same tensor under another name, with further leading axes."""
        return Tensor(name, (*lead, *self.shape), self.domain, "internal", self.below, self.meaning)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def _sympystr(self, printer: Any) -> str:
        return self.name


class Node(Arithmetic, sympy.Expr):  # type: ignore[misc]  # (likewise)
    """A node of a statement. Operators build further nodes and evaluate nothing."""

    _op_priority = 100.0
    is_commutative = True

    def __new__(cls, *args: Any) -> Any:
        """A node with these parts; nothing is evaluated."""
        return Basic.__new__(cls, *(a if isinstance(a, Basic) else sympy.sympify(a) for a in args))

    def as_node(self) -> Node:
        """This."""
        return self

    written: ClassVar[Callable[[Any], str]] = repr
    """How a tree is written as text; rendering, which knows the tree, fills it in (:func:`written_by`)."""

    def _sympystr(self, printer: Any) -> str:
        return Node.written(self)

    def __repr__(self) -> str:
        return self._sympystr(None)

    __str__ = __repr__


def written_by(function: Callable[[Basic], str]) -> None:
    """Let trees be written by this function where Python asks for text."""
    Node.written = staticmethod(function)


class Ref(Node):
    """An entry of a tensor, ``x[i, 2*j]``; an index may itself be a look-up, ``x[pi[j]]``."""

    @property
    def tensor(self) -> Tensor:
        """The tensor referred to."""
        return self.args[0]

    @property
    def index(self) -> tuple[Index, ...]:
        """One index for each axis."""
        return tuple(self.args[1:])


class Literal(Node):
    """A number, a size or index arithmetic used as a value: ``d_k``, ``2*i/d``, ``1/2``."""

    @property
    def value(self) -> sympy.Expr:
        """The exact value."""
        return self.args[0]


class Plus(Node):
    """a + b."""


class Minus(Node):
    """a - b."""


class Times(Node):
    """a * b."""


class Over(Node):
    """a / b."""


class Power(Node):
    """a ** b; b a literal, or a positive."""


class Negative(Node):
    """-a."""


class Func(Node):
    """An elementary function of one argument; ``args`` are its name and the argument."""

    @property
    def name(self) -> str:
        """The name, as the statement writes it."""
        return self.args[0].name


class Delta(Node):
    """Kronecker's delta of two index expressions."""


class Case(Node):
    """``a`` where a condition holds, else ``b``; what is not chosen is never evaluated."""


class Undefined(Node):
    """A value about which the statement says nothing."""


class Choice(Node):
    """One of several expressions, picked by a convention; ``args``: its name, then (option, expression) pairs."""


# Conditions -------------------------------------------------------------------------------------------------------------


class Compare(Node):
    """A comparison of index expressions; ``args``: ``"<="``, ``"<"`` or ``"=="``, left, right."""


class Both(Node):
    """Logical and."""


class Either(Node):
    """Logical or."""


class Not(Node):
    """Logical not."""


class Always(Node):
    """The condition that always holds."""


TRUE = Always()


# Binders ----------------------------------------------------------------------------------------------------------------


class Bound(Node):
    """A node that binds one index over a range: ``args`` are body, index, first, last, condition."""

    @property
    def body(self) -> Node:
        """What is summed, maximised or asked for."""
        return self.args[0]

    @property
    def var(self) -> sympy.Symbol:
        """The bound index."""
        return self.args[1]

    @property
    def first(self) -> sympy.Expr:
        """The first value of the index."""
        return self.args[2]

    @property
    def last(self) -> sympy.Expr:
        """The last value of the index, included."""
        return self.args[3]

    @property
    def where(self) -> Node:
        """The condition under which an index counts."""
        return self.args[4]


class SumOf(Bound):
    """A sum over the permitted indices of a range; excluded terms are never evaluated."""


class MaxOf(Bound):
    """The largest permitted value over a range; undefined when there is none."""


class AnyOf(Bound):
    """Whether a condition (the body) holds for some permitted index of a range."""


def Sum(body: Any, *spans: Any, where: Any = TRUE) -> SumOf:
    """``Sum(f, j, where=mask[i, j])``: the sum of ``f`` over ``j`` with ``mask[i, j]``; over several, the last innermost."""
    *outer, inner = spans
    total = SumOf(lift(body), *span(inner), lift(where))
    for one in reversed(outer):
        total = SumOf(total, *span(one), TRUE)
    return total


def Max(body: Any, over: Any, where: Any = TRUE) -> MaxOf:
    """The maximum of ``body`` over the permitted values of an index."""
    return MaxOf(lift(body), *span(over), lift(where))


def Some(condition: Any, over: Any) -> AnyOf:
    """Whether ``condition`` holds for some value of an index."""
    return AnyOf(lift(condition), *span(over), TRUE)


def Every(condition: Any, over: Any) -> Not:
    """The condition that ``condition`` holds for every value of an index."""
    return Not(Some(Not(lift(condition)), over))


class Expectation(Node):
    """The expectation of a body; ``args``: body, then the random tensors (independent entries, mean 0, variance 1)."""

    @property
    def body(self) -> Node:
        """What the expectation is of."""
        return self.args[0]

    @property
    def random(self) -> tuple[Tensor, ...]:
        """The random tensors."""
        return tuple(self.args[1:])


def expected(body: Any, *random: Tensor) -> Expectation:
    """``expected(f, q, k)``: E f when all entries of q and k are independent with mean 0 and variance 1."""
    return Expectation(lift(body), *random)


def lift(value: Any) -> Node:
    """Anything usable as a value, as a node: numbers and index arithmetic become literals.

    Raises:
        TypeError: a float, or an array; it says what to write.
    """
    if isinstance(value, Arithmetic):
        return value.as_node()
    if isinstance(value, float):
        raise TypeError(f"{value} is a float; statements are exact, so write it as a Rational")
    return Literal(sympy.sympify(value))


def _function(name: str) -> Callable[[Any], Node]:
    def build(argument: Any) -> Node:
        return Func(Str(name), lift(argument))

    build.__name__ = name
    build.__doc__ = f"The function {name} as a node."
    return build


exp, log, sqrt, sin, cos, tanh, sigmoid, absolute, rounded = map(_function, FUNCTIONS)


def as_index(value: Any) -> Any:
    """Anything usable as an index: index arithmetic, or a look-up (an integer tensor of shape () included)."""
    return value.as_node() if isinstance(value, Arithmetic) else sympy.sympify(value)


def delta(a: Any, b: Any) -> Node:
    """Kronecker's delta: 1 where the two index expressions agree, else 0."""
    return Delta(as_index(a), as_index(b))


def case(condition: Any, then: Any, otherwise: Any = 0) -> Node:
    """``then`` where ``condition`` holds, else ``otherwise``."""
    return Case(lift(condition), lift(then), lift(otherwise))


def le(a: Any, b: Any) -> Node:
    """The condition a ≤ b on index expressions."""
    return Compare(Str("<="), as_index(a), as_index(b))


def lt(a: Any, b: Any) -> Node:
    """The condition a < b on index expressions."""
    return Compare(Str("<"), as_index(a), as_index(b))


def eq(a: Any, b: Any) -> Node:
    """The condition a = b on index expressions."""
    return Compare(Str("=="), as_index(a), as_index(b))


def by_convention(name: str, /, **options: Any) -> Node:
    """An expression that a convention picks: ``by_convention("polarity", true_attends=a, true_drops=b)``."""
    pairs = [BasicTuple(Str(option), lift(value)) for option, value in options.items()]
    return Choice(Str(name), *pairs)


# Walking and rebuilding ---------------------------------------------------------------------------------------------------


def walk(node: Basic) -> Iterator[Basic]:
    """The node and everything below it, outermost first, in source order."""
    yield node
    for child in node.args:
        yield from walk(child)


def refs(node: Basic) -> Iterator[Ref]:
    """Every reference to a tensor entry inside ``node``, look-up indices included."""
    return (x for x in walk(node) if isinstance(x, Ref))


def free_symbols(node: Basic) -> set[sympy.Symbol]:
    """The index and size symbols that occur unbound in ``node`` (sizes inside tensor shapes do not count)."""
    if isinstance(node, sympy.Symbol):
        return {node}
    if isinstance(node, Tensor):
        return set()
    if isinstance(node, Binder):
        return node.free_symbols_unbound()
    found: set[sympy.Symbol] = set()
    if isinstance(node, Bound):
        inner = free_symbols(node.body) | free_symbols(node.where)
        return (inner - {node.var}) | free_symbols(node.first) | free_symbols(node.last)
    for child in node.args:
        found |= free_symbols(child)
    return found


def fresh(symbol: sympy.Symbol, taken: set[sympy.Symbol]) -> sympy.Symbol:
    """A symbol like ``symbol`` that is not in ``taken``."""
    names = {s.name for s in taken}
    candidate, count = symbol.name, 0
    while candidate in names:
        count += 1
        candidate = f"{symbol.name}_{count}"
    if not count:
        return symbol
    if isinstance(symbol, Letter):
        return Letter(candidate, symbol.size)
    return sympy.Symbol(candidate, **symbol.assumptions0)


class Binder(Node):
    """A node that binds several indices at once (see :mod:`spec.language.calls`)."""

    def free_symbols_unbound(self) -> set[sympy.Symbol]:
        """The symbols free in this node."""
        raise NotImplementedError

    def substituted(self, changes: Mapping[Basic, Basic]) -> Basic:
        """This node after a capture-avoiding substitution."""
        raise NotImplementedError


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

    def __getitem__(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > len(self.shape):
            raise ValueError(
                f"an array of shape ({_listed(self.shape)}) was given {len(index)} indices: {self}"
            )
        return part(self.shape, index, self.at)

    def as_node(self) -> Node:
        """An array is no value."""
        raise TypeError(
            f"{self} is an array of shape ({_listed(self.shape)}), where a value belongs: write an entry of it"
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
    shape: tuple[sympy.Expr, ...], index: tuple[Any, ...], entry: Callable[[tuple[Any, ...]], Node]
) -> Any:
    """An entry, or where indices are missing or slices, the array of the entries that they leave open.

    ``x[t]`` is the row t, ``x[:k]`` the first k rows, ``x[a:b, c]`` a part of column c.

    Raises:
        ValueError: a slice with a step.
    """
    taken = {s.name for one in index if not isinstance(one, slice) for s in free_symbols(as_index(one))}
    letters = (name for name in (*"abceuvw", *(f"a_{k}" for k in range(99))) if name not in taken)
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
    if not open_:
        return entry(tuple(made))
    return Comprehension(entry(tuple(made)), *(BasicTuple(letter, letter.size) for letter in open_))


def _listed(shape: tuple[sympy.Expr, ...]) -> str:
    return ", ".join(str(size) for size in shape)


def substitute(node: Any, changes: Mapping[Any, Any]) -> Any:
    """Replace index or size symbols, and references by nodes, without capturing anything.

    ``changes`` maps symbols to index expressions, or :class:`Ref` nodes to nodes. Bound indices that would capture a symbol
    of a replacement are renamed; a bound index is never replaced.
    """
    if not changes:
        return node
    if node in changes:
        return changes[node]
    if isinstance(node, Tensor | Str) or not node.args:
        return node
    if isinstance(node, Binder):
        return node.substituted(changes)
    if isinstance(node, Bound):
        inner = {old: new for old, new in changes.items() if node.var not in free_symbols(old)}
        incoming = set().union(*(free_symbols(new) for new in inner.values())) if inner else set()
        var, body, where = node.var, node.body, node.where
        if var in incoming:
            taken = incoming | free_symbols(body) | free_symbols(where)
            var = fresh(node.var, taken)
            body, where = (substitute(part, {node.var: var}) for part in (body, where))
        first, last = (substitute(part, changes) for part in (node.first, node.last))
        return node.func(substitute(body, inner), var, first, last, substitute(where, inner))
    return node.func(*(substitute(child, changes) for child in node.args))


def transform(node: Any, rule: Callable[[Basic], Basic | None]) -> Any:
    """Rebuild ``node`` bottom-up, replacing each part for which ``rule`` returns something.

    The rule sees bound indices as they stand: it must not move a part across a binder.
    """
    if node.args and not isinstance(node, Tensor | Str):
        children = tuple(transform(child, rule) for child in node.args)
        if children != node.args:
            node = node.func(*children)
    replaced = rule(node)
    return node if replaced is None else replaced

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
from typing import Any, TypeAlias

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.core.symbol import Str

Index: TypeAlias = sympy.Expr
"""An integer expression over index and size symbols, or an integer-valued :class:`Ref` (a look-up)."""

FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "abs", "round")


def sizes(names: str) -> tuple[sympy.Symbol, ...]:
    """Size symbols, each an integer of at least 1: ``n, m = sizes("n m")``."""
    return tuple(sympy.Symbol(name, integer=True, positive=True) for name in names.split())


def indices(names: str) -> tuple[sympy.Symbol, ...]:
    """Index symbols, each an integer: ``i, j = indices("i j")``."""
    return tuple(sympy.Symbol(name, integer=True) for name in names.split())


class Tensor(Basic):
    """A named array with symbolic sizes; ``x[i, j]`` refers to one entry.

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
    ) -> Tensor:
        return super().__new__(
            cls, Str(str(name)), BasicTuple(*shape), Str(str(domain)), Str(str(role)), sympy.sympify(below)
        )

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

    def __getitem__(self, index: Any) -> Ref:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            raise ValueError(f"{self.name} has {len(self.shape)} axes, but {len(index)} indices were given")
        return Ref(self, *index)

    @property
    def value(self) -> Ref:
        """The entry of a tensor without axes, such as ``eps``."""
        return self[()]

    def renamed(self, name: str, lead: tuple[sympy.Expr, ...] = ()) -> Tensor:
        """The same tensor under another name, with further leading axes."""
        return Tensor(name, (*lead, *self.shape), self.domain, "internal", self.below)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def _sympystr(self, printer: Any) -> str:
        return self.name


class Node(sympy.Expr):
    """A node of a statement. Operators build further nodes and evaluate nothing."""

    _op_priority = 100.0
    is_commutative = True

    def __new__(cls, *args: Any) -> Any:
        """A node with these parts; nothing is evaluated."""
        return Basic.__new__(cls, *(a if isinstance(a, Basic) else sympy.sympify(a) for a in args))

    def __add__(self, other: Any) -> Node:
        return Plus(self, lift(other))

    def __radd__(self, other: Any) -> Node:
        return Plus(lift(other), self)

    def __sub__(self, other: Any) -> Node:
        return Minus(self, lift(other))

    def __rsub__(self, other: Any) -> Node:
        return Minus(lift(other), self)

    def __mul__(self, other: Any) -> Node:
        return Times(self, lift(other))

    def __rmul__(self, other: Any) -> Node:
        return Times(lift(other), self)

    def __truediv__(self, other: Any) -> Node:
        return Over(self, lift(other))

    def __rtruediv__(self, other: Any) -> Node:
        return Over(lift(other), self)

    def __pow__(self, other: Any, modulo: Any = None) -> Node:
        return Power(self, lift(other))

    def __rpow__(self, other: Any) -> Node:
        return Power(lift(other), self)

    def __neg__(self) -> Node:
        return Negative(self)

    def __and__(self, other: Any) -> Node:
        return Both(self, other)

    def __or__(self, other: Any) -> Node:
        return Either(self, other)

    def __invert__(self) -> Node:
        return Not(self)

    def _sympystr(self, printer: Any) -> str:
        from spec.language.render import unicode  # rendering knows the tree, not the other way round

        return unicode(self)

    def __repr__(self) -> str:
        return self._sympystr(None)

    __str__ = __repr__


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


def Sum(body: Any, span: tuple[sympy.Symbol, Any, Any], where: Node = TRUE) -> SumOf:
    """``Sum(f, (j, 0, m-1), where=mask[i, j])``: the sum of ``f`` over ``j`` with ``mask[i, j]``."""
    return SumOf(lift(body), span[0], sympy.sympify(span[1]), sympy.sympify(span[2]), where)


def Max(body: Any, span: tuple[sympy.Symbol, Any, Any], where: Node = TRUE) -> MaxOf:
    """The maximum of ``body`` over the permitted indices of ``span``."""
    return MaxOf(lift(body), span[0], sympy.sympify(span[1]), sympy.sympify(span[2]), where)


def Some(condition: Node, span: tuple[sympy.Symbol, Any, Any]) -> AnyOf:
    """Whether ``condition`` holds for some index of ``span``."""
    return AnyOf(condition, span[0], sympy.sympify(span[1]), sympy.sympify(span[2]), TRUE)


def Every(condition: Node, span: tuple[sympy.Symbol, Any, Any]) -> Not:
    """The condition that ``condition`` holds for every index of ``span``."""
    return Not(Some(Not(condition), span))


def lift(value: Any) -> Node:
    """Anything usable as a value, as a node: numbers and index arithmetic become literals."""
    if isinstance(value, Node):
        return value
    if isinstance(value, Tensor):
        return value.value
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


def delta(a: Any, b: Any) -> Node:
    """Kronecker's delta: 1 where the two index expressions agree, else 0."""
    return Delta(sympy.sympify(a), sympy.sympify(b))


def case(condition: Node, then: Any, otherwise: Any = 0) -> Node:
    """``then`` where ``condition`` holds, else ``otherwise``."""
    return Case(condition, lift(then), lift(otherwise))


def le(a: Any, b: Any) -> Node:
    """The condition a ≤ b on index expressions."""
    return Compare(Str("<="), sympy.sympify(a), sympy.sympify(b))


def lt(a: Any, b: Any) -> Node:
    """The condition a < b on index expressions."""
    return Compare(Str("<"), sympy.sympify(a), sympy.sympify(b))


def eq(a: Any, b: Any) -> Node:
    """The condition a = b on index expressions."""
    return Compare(Str("=="), sympy.sympify(a), sympy.sympify(b))


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
    return sympy.Symbol(candidate, **symbol.assumptions0) if count else symbol


class Binder(Node):
    """A node that binds several indices at once (see :mod:`spec.language.calls`)."""

    def free_symbols_unbound(self) -> set[sympy.Symbol]:
        """The symbols free in this node."""
        raise NotImplementedError

    def substituted(self, changes: Mapping[Basic, Basic]) -> Basic:
        """This node after a capture-avoiding substitution."""
        raise NotImplementedError


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

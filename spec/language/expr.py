"""The tree that statements are written in: SymPy nodes that keep the order and shape in which they were typed.

SymPy's own ``Add`` and ``Mul`` reorder, merge and cancel while they are being built, which is wrong for a statement (it must
be shown, evaluated and proved as written) and unsound for a proof (``Z/Z`` is 1 only where ``Z`` is not 0). So the operators
below build :class:`Node` objects: SymPy expressions that nothing simplifies. Index and size arithmetic (``2*i + 1``, ``m - n``)
is plain SymPy over integer symbols.

Sums and whatever else binds an index are in :mod:`spec.language.binders`, arrays in :mod:`spec.language.arrays`; what walks and
rebuilds trees is in :mod:`spec.language.trees`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar, NoReturn, TypeVar

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.core.symbol import Str

from spec.language.exact import exact, fraction, is_ratio, is_whole
from spec.language.symbols import Index

FUNCTIONS = ("exp", "log", "sqrt", "sin", "cos", "tanh", "sigmoid", "erf", "abs", "round", "stop")


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
        return power(lift(self), lift(other))

    def __rpow__(self, other: Any) -> Node:
        return power(lift(other), lift(self))

    def __floordiv__(self, other: Any) -> NoReturn:
        raise TypeError(
            f"{self} // {other} is no part of a statement: floor(i / 2) is one, of indices and sizes"
        )

    def __mod__(self, other: Any) -> NoReturn:
        raise TypeError(f"{self} % {other} is no part of a statement: i % 2 is one, of indices and sizes")

    def __neg__(self) -> Node:
        return Negative(lift(self))

    def __and__(self, other: Any) -> Node:
        return Both(lift(self), lift(other))

    def __or__(self, other: Any) -> Node:
        return Either(lift(self), lift(other))

    def __invert__(self) -> Node:
        return Not(lift(self))

    def __iter__(self) -> NoReturn:
        raise TypeError(
            f"{self} has symbolic sizes and cannot be gone through: write Sum(…, j), or each(…, j)"
        )

    def as_node(self) -> Node:
        """This as a node of a statement.

        Raises:
            TypeError: an array where a value belongs, with what to write.
        """
        raise NotImplementedError


class Leaf(Basic):
    """What is taken as a whole where trees are taken apart: a tensor."""


class Node(Arithmetic, sympy.Expr):
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
    """How a tree is written as text; rendering, which knows the tree, fills it in (:func:`set_writer`)."""

    def _sympystr(self, printer: Any) -> str:
        return Node.written(self)

    def __repr__(self) -> str:
        return self._sympystr(None)

    __str__ = __repr__


Part = TypeVar("Part")


def arg(place: int, kind: type[Part], meaning: str) -> Part:
    """A property of a node: the part at this place among its ``args``."""
    return property(lambda node: node.args[place], doc=meaning)  # type: ignore[return-value]


def set_writer(function: Callable[[Basic], str]) -> None:
    """Let trees be written by this function where Python asks for text."""
    Node.written = staticmethod(function)


class Ref(Node):
    """An entry of a tensor, ``x[i, 2*j]``; an index may itself be a look-up, ``x[pi[j]]``."""

    tensor: Any = arg(0, object, "The tensor referred to.")

    @property
    def index(self) -> tuple[Index, ...]:
        """One index for each axis."""
        return tuple(self.args[1:])


class Literal(Node):
    """A number, a size or index arithmetic used as a value: ``d_k``, ``2*i/d``, ``1/2``."""

    value = arg(0, sympy.Expr, "The exact value.")


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
    """An elementary function of one argument; ``args`` are its name and the argument.

    ``stop`` is the argument itself; a derivative takes it for a constant.
    """

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


class Condition(Node):
    """What holds or does not hold; which of them, Python cannot know."""

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self} is a condition of the statement: write case(…), and &, | or ~ instead of and, or, not"
        )


class Compare(Condition):
    """A comparison of index expressions; ``args``: ``"<="``, ``"<"`` or ``"=="``, left, right."""


class Both(Condition):
    """Logical and."""


class Either(Condition):
    """Logical or."""


class Not(Condition):
    """Logical not."""


class Always(Node):
    """The condition that always holds."""


TRUE = Always()


# Values, functions, conditions --------------------------------------------------------------------------------------------


def lift(value: Any) -> Node:
    """Anything usable as a value, as a node: numbers and index arithmetic become literals.

    Raises:
        TypeError: a float, an array, or what has no value; it says what to write.
    """
    return value.as_node() if isinstance(value, Arithmetic) else spelt(exact(value))


def _is_literal(value: sympy.Expr) -> bool:
    return is_ratio(value) or value == sympy.pi


def spelt(value: sympy.Expr, whole: Callable[[sympy.Expr], bool] = _is_literal) -> Node:
    """What SymPy has made of sizes and indices, as nodes: literals for what is ``whole``, joined where it is more than that.

    Raises:
        TypeError: a part that has no node.
    """
    if whole(value):
        return Literal(value)
    over, under = fraction(value)
    if under != 1:
        return Over(spelt(over, whole), spelt(under, whole))
    parts = [spelt(part, whole) for part in value.args]
    if isinstance(value, sympy.Add | sympy.Mul):
        return reduce(Plus if isinstance(value, sympy.Add) else Times, parts)
    if isinstance(value, sympy.Pow):
        return sqrt(parts[0]) if value.exp == _HALF else power(*parts)
    if isinstance(value, sympy.Function) and value.func.__name__.lower() in FUNCTIONS:
        return _function(value.func.__name__.lower())(parts[0])
    raise TypeError(f"{value} is no part of a statement: write it in the words of the vocabulary")


_HALF = sympy.Rational(1, 2)


def power(base: Node, exponent: Node) -> Node:
    """A power. That of a negative number by its sign: whether the exponent, a whole number, is even, decides it.

    Raises:
        TypeError: the exponent of a negative number is no arithmetic of indices.
    """
    number = base.value if isinstance(base, Literal) else _HALF
    whole = exponent.value if isinstance(exponent, Literal) else _HALF
    if not number.is_negative or whole.is_Integer:
        return Power(base, exponent)
    if not is_whole(whole):
        raise TypeError(
            f"a power of {number}, a negative number, has whole exponents alone: indices, sizes and numbers, added and multiplied"
        )
    size = lift(1) if number == -1 else Power(lift(-number), exponent)
    return case(eq(whole - 2 * sympy.floor(whole / 2), 0), size, -size)


def _function(name: str) -> Callable[[Any], Node]:
    def build(argument: Any) -> Node:
        return Func(Str(name), lift(argument))

    build.__name__ = name
    build.__doc__ = f"The function {name} as a node."
    return build


exp, log, sqrt, sin, cos, tanh, sigmoid, erf, absolute, rounded, stopped = map(_function, FUNCTIONS)


def as_index(value: Any) -> Any:
    """Anything usable as an index: index arithmetic, or a look-up (an integer tensor of shape () included)."""
    if isinstance(value, Arithmetic):
        return value.as_node()
    found = exact(value)
    if not is_ratio(found):
        raise TypeError(
            f"{found} is no index: sums, products, floor and ceiling of indices, sizes and whole numbers are"
        )
    return found


def delta(a: Any, b: Any) -> Node:
    """Kronecker's delta: 1 where the two index expressions agree, else 0."""
    return Delta(as_index(a), as_index(b))


def case(condition: Any, then: Any, otherwise: Any = 0) -> Node:
    """``then`` where ``condition`` holds, else ``otherwise``."""
    return Case(lift(condition), lift(then), lift(otherwise))


def le(a: Any, b: Any) -> Node:
    """The condition a ≤ b on index expressions or values."""
    return Compare(Str("<="), _side(a), _side(b))


def lt(a: Any, b: Any) -> Node:
    """The condition a < b on index expressions or values."""
    return Compare(Str("<"), _side(a), _side(b))


def eq(a: Any, b: Any) -> Node:
    """The condition a = b on index expressions or values."""
    return Compare(Str("=="), _side(a), _side(b))


def _side(value: Any) -> Any:
    """A side of a comparison: an index, or a value such as 1/2, n/3 or π, which no index is."""
    if isinstance(value, Arithmetic):
        return value.as_node()
    found = exact(value)
    return found if is_whole(found) else lift(found)


def by_convention(name: str, /, **options: Any) -> Node:
    """An expression that a convention picks: ``by_convention("polarity", true_attends=a, true_drops=b)``."""
    pairs = [BasicTuple(Str(option), lift(value)) for option, value in options.items()]
    return Choice(Str(name), *pairs)

"""Expressions in Python: how each kind of node is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.printing.str import StrPrinter

from spec.language import expr
from spec.language.arrays import Comprehension, Tensor
from spec.language.binders import AnyOf, Bound, MaxOf, SumOf
from spec.language.calls import ABSENT, Call, unify
from spec.language.exact import fraction
from spec.language.expr import Node, Ref
from spec.language.known import get_formula
from spec.language.render.printer import Printer, in_order, rule
from spec.language.render.python_names import Applied, called, identifier
from spec.language.trees import free_symbols, substitute

IF, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, POWER, ATOM = range(10)
"""How strongly Python's operators bind."""


class _Index(StrPrinter):
    """Index arithmetic; floors are divisions."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[sympy.Expr]:
        return in_order(expr)

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return identifier(expr.name)

    def _print_floor(self, expr: Any) -> str:
        over, under = fraction(expr.args[0])
        return f"({self.parenthesize(over, 50)}÷{self.parenthesize(under, 60)})"

    def _print_ceiling(self, expr: Any) -> str:
        return f"ceil({self._print(expr.args[0])})"


class Python(Printer):
    """Python, for what the function of a formula computes.

    Attributes:
        filled: the masks of which entries are read, so that they have to be there.
    """

    rules: ClassVar[dict[type, Callable[[Any, Any], tuple[str, int]]]] = {}

    def __init__(self, key: Applied, names: Mapping[Applied, str]) -> None:
        self.key, self.names = key, names
        self.filled: set[str] = set()

    def name(self, name: str) -> str:
        """A tensor's name."""
        return identifier(name)

    def index(self, expr: Basic, strength: int = IF) -> str:
        """Index arithmetic."""
        if isinstance(expr, BasicTuple):  # a range of indices; without ends, all
            return ":".join("" if end == 0 else self.index(end) for end in expr.args) or ":"
        if isinstance(expr, sympy.Rational) and not expr.is_Integer:
            out, own = decimal(expr)
            return out if own >= strength else f"({out})"
        out = str(_Index().doprint(expr))
        out = out.replace("**", "^").replace("*", " * ").replace("/", " / ").replace("^", "**")
        if isinstance(expr, sympy.floor):
            out = out[1:-1]
        weak = isinstance(expr, sympy.Mul | sympy.floor) or expr.is_negative
        own = SUM if isinstance(expr, sympy.Add) else PRODUCT if weak else ATOM
        out = out.replace("÷", " // ")
        return out if own >= strength else f"({out})"

    def where(self, node: Bound) -> str:
        """The ``for`` and ``if`` of something that binds an index."""
        condition = "" if node.where == expr.TRUE else f" if {self.text(node.where, OR)}"
        return f" for {self.index(node.var)} in {self.range(node.first, node.last)}{condition}"

    def range(self, first: Any, last: Any) -> str:
        """The range of an index."""
        ends = [self.index(sympy.sympify(end)) for end in (first, last + 1)]
        return f"range({', '.join(ends[first == 0 :])})"

    def array(self, node: Comprehension) -> str:
        """An array that is given entry by entry: part of another, or rows in brackets."""
        axes = list(zip(node.vars, node.shape, strict=True))
        if (found := sliced(node.body, axes)) is not None:
            return self.text(found)
        body: Node | None = None
        inner = axes
        while body is None and inner:  # as many of the last axes as are whole rows of something
            inner = inner[1:]
            body = rows(node.body, inner)
        text = self.text(node.body if body is None else body)
        for symbol, size in reversed(axes[: len(axes) - len(inner)]):
            alone = size == 1 and symbol not in free_symbols(node.body)
            text = f"[{text}]" if alone else f"[{text} for {self.index(symbol)} in {self.range(0, size - 1)}]"
        return f"array({text})"

    def argument(self, item: Any, value: Basic, callee: Applied) -> str:
        """What is given for an input."""
        if value == ABSENT:
            return "None"
        optional = (
            isinstance(item, Tensor) and isinstance(value, Tensor) and item.role == value.role == "mask"
        )
        if optional and stands_for(callee) == stands_for(self.key):
            return self.name(value.name)
        return self.text(value)

    def call(self, node: Call) -> str:
        """A formula applied, all of its outputs."""
        callee, key = get_formula(node.formula_id), called(node.formula_id, self.key[1])
        given = [*zip(callee.inputs, node.arguments, strict=True)]
        while given[-1][1] == ABSENT:
            given.pop()
        shown = [self.argument(item, value, key) for item, value in given if not draws(item)]
        return f"{self.names[key]}({', '.join(shown)})"


def draws(item: Any) -> bool:
    """Whether an input is a generator, which no probability depends on."""
    return isinstance(item, Tensor) and item.role == "generator"


def stands_for(key: Applied) -> bool:
    """What a mask that is not given stands for."""
    return bool(get_formula(key[0]).absent(dict(key[1])))


def decimal(value: Any) -> tuple[str, int]:
    """A fraction: a decimal where that is exact."""
    number = Fraction(int(value.p), int(value.q))
    if number.denominator == 1:
        return str(number), ATOM if number >= 0 else UNARY
    short = repr(float(number))
    short = short.replace("e-0", "e-")
    return (short, ATOM) if Fraction(short) == number > 0 else (f"{value.p} / {value.q}", PRODUCT)


def rows(node: Node, axes: Sequence[tuple[sympy.Symbol, Any]]) -> Node | None:
    """A node without its last indices, so that it stands for all rows along these axes; None if it is no arithmetic of rows."""
    symbols = tuple(symbol for symbol, _ in axes)
    if not free_symbols(node) & set(symbols):
        return node
    if isinstance(node, Ref | Call):
        kept = node.index[: len(node.index) - len(axes)]
        own = node.index[len(kept) :]
        inside = free_symbols(node.args[2]) if isinstance(node, Call) else set()
        inside = inside.union(*map(free_symbols, kept))
        whole = shape_of_whole(node)[len(kept) :] == tuple(size for _, size in axes)
        return at_index(node, kept) if own == symbols and whole and not inside & set(symbols) else None
    if isinstance(node, expr.Plus | expr.Minus | expr.Times | expr.Over | expr.Negative):
        parts = [rows(part, axes) for part in node.args]
        return None if None in parts else node.func(*parts)
    return None


def sliced(node: Node, axes: Sequence[tuple[sympy.Symbol, Any]]) -> Node | None:
    """An entry with ranges in the places of some indices, which stand there in this order; None where they do not."""
    if not isinstance(node, Ref):
        return rows(node, axes) if isinstance(node, Call) else None
    left, index = list(axes), list(node.index)
    for place, (part, size) in enumerate(zip(node.index, node.tensor.shape, strict=True)):
        if left and isinstance(part, sympy.Expr) and not isinstance(part, Node):
            symbol, length = left[0]
            first = part - symbol
            if symbol in free_symbols(part) and symbol not in free_symbols(first):
                index[place] = BasicTuple() if length == size else BasicTuple(first, first + length)
                left.pop(0)
    while index and index[-1] == BasicTuple():
        index.pop()
    made = at_index(node, index)
    return made if not left and not free_symbols(made) & {symbol for symbol, _ in axes} else None


def at_index(node: Ref | Call, index: Iterable[Any]) -> Node:
    """The same at another index."""
    return Ref(node.tensor, *index) if isinstance(node, Ref) else Call(*node.args[:3], BasicTuple(*index))


def shape_of_whole(node: Ref | Call) -> tuple[Any, ...]:
    """The shape of what an entry is read from."""
    if isinstance(node, Ref):
        return tuple(node.tensor.shape)
    callee = get_formula(node.formula_id)
    sizes = unify(callee, node.arguments)
    return tuple(substitute(size, sizes) for size in callee.line(node.output).shape)


@rule(Tensor, Python)
def _tensor(p: Python, node: Tensor) -> tuple[str, int]:
    if node.role == "mask":
        p.filled.add(node.name)
    return p.name(node.name), ATOM


@rule(Ref, Python)
def _ref(p: Python, node: Ref) -> tuple[str, int]:
    name, index = p.text(node.tensor), ", ".join(p.text(part) for part in node.index)
    return f"{name}[{index}]" if index else name, ATOM


@rule(Call, Python)
def _call(p: Python, node: Call) -> tuple[str, int]:
    outputs = [t.name for t in get_formula(node.formula_id).outputs]
    index = ", ".join(p.text(part) for part in node.index)
    place = f"[{outputs.index(node.output)}]" if len(outputs) > 1 else ""
    return p.call(node) + place + (f"[{index}]" if index else ""), ATOM


@rule(Comprehension, Python)
def _comprehension(p: Python, node: Comprehension) -> tuple[str, int]:
    return p.array(node), ATOM


@rule(expr.Literal, Python)
def _literal(p: Python, node: expr.Literal) -> tuple[str, int]:
    value = node.value
    if isinstance(value, sympy.Rational):
        return decimal(value)
    own = (
        SUM
        if isinstance(value, sympy.Add)
        else PRODUCT
        if isinstance(value, sympy.Mul | sympy.floor)
        else ATOM
    )
    return p.index(value), POWER if isinstance(value, sympy.Pow) else own


@rule(expr.Plus, Python)
@rule(expr.Minus, Python)
def _sum(p: Python, node: Node) -> tuple[str, int]:
    sign = "+" if isinstance(node, expr.Plus) else "-"
    left, right = p.text(node.args[0], SUM), p.text(node.args[1], SUM if sign == "+" else PRODUCT)
    if sign == "+" and right.startswith("-"):
        return f"{left} - {right[1:]}", SUM
    return f"{left} {sign} {right}", SUM


@rule(expr.Times, Python)
@rule(expr.Over, Python)
def _product(p: Python, node: Node) -> tuple[str, int]:
    sign = "*" if isinstance(node, expr.Times) else "/"
    right = p.text(node.args[1], PRODUCT if sign == "*" else UNARY)
    return f"{p.text(node.args[0], PRODUCT)} {sign} {right}", PRODUCT


@rule(expr.Negative, Python)
def _negative(p: Python, node: expr.Negative) -> tuple[str, int]:
    return f"-{p.text(node.args[0], PRODUCT)}", PRODUCT


@rule(expr.Power, Python)
def _power(p: Python, node: expr.Power) -> tuple[str, int]:
    base, exponent = p.text(node.args[0], ATOM), p.text(node.args[1], UNARY)
    simple = all(re.fullmatch(r"[\w.]+", part) for part in (base, exponent))
    return f"{base}{'**' if simple else ' ** '}{exponent}", POWER


@rule(expr.Func, Python)
def _func(p: Python, node: expr.Func) -> tuple[str, int]:
    return f"{node.name}({p.text(node.args[1])})", ATOM


@rule(SumOf, Python)
@rule(MaxOf, Python)
@rule(AnyOf, Python)
def _bound(p: Python, node: Bound, body: Node | None = None) -> tuple[str, int]:
    name = {SumOf: "sum", MaxOf: "max", AnyOf: "any"}[type(node)] if body is None else "all"
    inner, spans = node.body, p.where(node)
    while type(inner) is type(node):  # a sum of sums goes through all of them at once
        inner, spans = inner.body, spans + p.where(inner)
    return f"{name}({p.text(inner if body is None else body)}{spans})", ATOM


@rule(expr.Case, Python)
def _case(p: Python, node: expr.Case) -> tuple[str, int]:
    condition, then, otherwise = node.args
    return f"{p.text(then, OR)} if {p.text(condition, OR)} else {p.text(otherwise, IF)}", IF


@rule(expr.Undefined, Python)
def _undefined(p: Python, node: expr.Undefined) -> tuple[str, int]:
    return "nan", ATOM


@rule(expr.Delta, Python)
def _delta(p: Python, node: expr.Delta) -> tuple[str, int]:
    a, b = (p.text(part, SUM) for part in node.args)
    return f"int({a} == {b})", ATOM


@rule(expr.Compare, Python)
def _compare(p: Python, node: expr.Compare) -> tuple[str, int]:
    a, b = (p.text(part, SUM) for part in node.args[1:])
    return f"{a} {node.args[0].name} {b}", COMPARE


@rule(expr.Both, Python)
@rule(expr.Either, Python)
def _junction(p: Python, node: Node) -> tuple[str, int]:
    word, own = ("and", AND) if isinstance(node, expr.Both) else ("or", OR)
    sides = (p.text(part, own if type(part) is type(node) else NOT) for part in node.args)
    return f" {word} ".join(sides), own


@rule(expr.Not, Python)
def _not(p: Python, node: expr.Not) -> tuple[str, int]:
    inner = node.args[0]
    if inner == expr.TRUE:
        return "False", ATOM
    if isinstance(inner, AnyOf) and isinstance(inner.body, expr.Not):
        return _bound(p, inner, inner.body.args[0])
    if isinstance(inner, expr.Compare) and inner.args[0].name == "==":
        return p.text(inner).replace(" == ", " != "), COMPARE
    return f"not {p.text(inner, NOT)}", NOT


@rule(expr.Always, Python)
def _always(p: Python, node: expr.Always) -> tuple[str, int]:
    return "True", ATOM

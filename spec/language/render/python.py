"""Statements as plain Python: a function that does what the lines say, one after the other, in loops over NumPy arrays.

Names are those of the statement. A prime is written out, ``h'`` is ``h_new``; a name that Python needs for itself has an
underscore at its end, ``self_``. A formula that draws gives the probabilities that its lines define, and takes no generator.
Numbers are floats: what leaves their range, as exp(1000) does, is an error or infinite here, and neither in the statement.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import sympy
from sympy.core.basic import Basic
from sympy.core.containers import Tuple as BasicTuple
from sympy.printing.str import StrPrinter

from spec.language import expr
from spec.language.arrays import WHOLE, Comprehension, Tensor
from spec.language.binders import AnyOf, Bound, MaxOf, SumOf
from spec.language.calls import ABSENT, Call, unify
from spec.language.exact import fraction
from spec.language.expr import Node, Ref
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.lines import Definition
from spec.language.ordering import Group, arrange
from spec.language.render.printer import Printer, in_order, rule
from spec.language.trees import free_symbols, refs, substitute, transform, walk

WIDTH = 100
"""No line is longer."""
IF, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, POWER, ATOM = range(10)
"""How strongly Python's operators bind."""
MATH = ("ceil", "cos", "erf", "exp", "log", "pi", "sin", "sqrt", "tanh")
NUMPY = ("array", "nan", "ones", "zeros")
SIGMOID = "def sigmoid(x):\n    return 1 / (1 + exp(-x))"
BUILTIN = ("abs", "all", "any", "bool", "int", "len", "max", "range", "reversed", "round", "sum")
TAKEN = frozenset((*keyword.kwlist, *MATH, *NUMPY, *BUILTIN, "sigmoid"))
"""What no name of a statement may be here."""
Applied = tuple[str, tuple[tuple[str, str], ...]]
"""A formula by its ID, with the options chosen."""


def python(formula: Formula, conventions: Mapping[str, str] | None = None) -> str:
    """The source of one function that computes the outputs of a formula from its inputs, line by line.

    Raises:
        ValueError: lines that refer to one another in a way that no loop follows.
    """
    key = _key(formula, conventions)
    return _Function(key, _names(_closure(key))).source()


def program(formula: Formula, conventions: Mapping[str, str] | None = None) -> str:
    """What :func:`python` gives, after all that it calls: imports, then the function of each formula applied.

    Raises:
        ValueError: as :func:`python`.
    """
    keys = _closure(_key(formula, conventions))
    names = _names(keys)
    parts = [_Function(key, names).source() for key in keys]
    used = set(re.findall(r"\w+", "\n".join(parts)))
    if "sigmoid" in used:
        parts, used = [SIGMOID, *parts], used | {"exp"}
    modules = [(home, [name for name in known if name in used]) for home, known in _MODULES]
    imports = [f"from {home} import {', '.join(found)}" for home, found in modules if found]
    return "\n\n\n".join((["\n".join(imports)] if imports else []) + parts) + "\n"


def function_name(formula: Formula) -> str:
    """The name of the function of a formula: the last part of its ID."""
    return _identifier(formula.id.split(".")[-1])


_MODULES = (("math", MATH), ("numpy", NUMPY))


def _identifier(name: str) -> str:
    """A name of a statement as one of Python."""
    name = re.sub(r"\W", "_", name.replace("'", "_new"))
    return f"{name}_" if name in TAKEN else name


# Which formulas are applied, and what their functions are called ----------------------------------------------------------


def _key(formula: Formula, conventions: Mapping[str, str] | None) -> Applied:
    own = {c.name for c in formula.conventions}
    return formula.id, tuple((name, o) for name, o in formula.choose(conventions).items() if name in own)


def _called(formula_id: str, chosen: Iterable[tuple[str, str]]) -> Applied:
    """A formula as one that has chosen these options applies it."""
    callee = get_formula(formula_id)
    own = {c.name for c in callee.conventions}
    return _key(callee, {name: option for name, option in chosen if name in own})


def _closure(key: Applied) -> list[Applied]:
    """A formula and all that it applies, each after what it applies itself."""
    found: dict[Applied, None] = {}

    def visit(one: Applied) -> None:
        for line in own_lines(get_formula(one[0]), get_formula(one[0]).choose(dict(one[1]))):
            for part in walk(line.right):
                if isinstance(part, Call) and _called(part.formula_id, one[1]) not in found:
                    visit(_called(part.formula_id, one[1]))
        found[one] = None

    visit(key)
    return list(found)


def _names(keys: Sequence[Applied]) -> dict[Applied, str]:
    """What the functions are called: by the last part of the ID, with the subject before it where that is taken."""
    letters = {_identifier(str(item)) for key in keys for item in get_formula(key[0]).inputs}
    letters |= {_identifier(line.name) for key in keys for line in get_formula(key[0]).definitions}
    names = {keys[-1]: function_name(get_formula(keys[-1][0]))}
    for key in keys[:-1]:
        name = function_name(get_formula(key[0]))
        taken = letters.union(names.values())
        if name in taken:
            name = _identifier(key[0].replace(".", "_"))
        names[key] = _free(name, taken)
    return names


def _free(name: str, taken: Iterable[str]) -> str:
    """A name, or the first of it with a number that is not taken."""
    candidate, count = name, 1
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate


# Expressions --------------------------------------------------------------------------------------------------------------


class _Index(StrPrinter):
    """Index arithmetic; floors are divisions."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[sympy.Expr]:
        return in_order(expr)

    def _print_Symbol(self, expr: sympy.Symbol) -> str:
        return _identifier(expr.name)

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
        return _identifier(name)

    def index(self, expr: Basic, strength: int = IF) -> str:
        """Index arithmetic."""
        if isinstance(expr, BasicTuple):  # a range of indices; without ends, all
            return ":".join("" if end == 0 else self.index(end) for end in expr.args) or ":"
        if isinstance(expr, sympy.Rational) and not expr.is_Integer:
            out, own = _decimal(expr)
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
        optional = isinstance(item, Tensor) and isinstance(value, Tensor) and item.role == value.role == "mask"
        if optional and _absent(callee) == _absent(self.key):
            return self.name(value.name)  # type: ignore[attr-defined]
        return self.text(value)

    def call(self, node: Call) -> str:
        """A formula applied, all of its outputs."""
        callee, key = get_formula(node.formula_id), _called(node.formula_id, self.key[1])
        given = [*zip(callee.inputs, node.arguments, strict=True)]
        while given[-1][1] == ABSENT:
            given.pop()
        shown = [self.argument(item, value, key) for item, value in given if not _draws(item)]
        return f"{self.names[key]}({', '.join(shown)})"


def _draws(item: Any) -> bool:
    return isinstance(item, Tensor) and item.role == "generator"


def _absent(key: Applied) -> bool:
    """What a mask that is not given stands for."""
    return bool(get_formula(key[0]).absent(dict(key[1])))


def _decimal(value: Any) -> tuple[str, int]:
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
        whole = _shape(node)[len(kept) :] == tuple(size for _, size in axes)
        return _at(node, kept) if own == symbols and whole and not inside & set(symbols) else None
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
    made = _at(node, index)
    return made if not left and not free_symbols(made) & {symbol for symbol, _ in axes} else None


def _at(node: Ref | Call, index: Iterable[Any]) -> Node:
    """The same at another index."""
    return Ref(node.tensor, *index) if isinstance(node, Ref) else Call(*node.args[:3], BasicTuple(*index))


def _shape(node: Ref | Call) -> tuple[Any, ...]:
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
        return _decimal(value)
    own = SUM if isinstance(value, sympy.Add) else PRODUCT if isinstance(value, sympy.Mul | sympy.floor) else ATOM
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
    if node.name == "stop":
        own = p.text(node.args[1])
        return own, ATOM if re.fullmatch(r"[\w.]+(\[[^\]]*\])?", own) else IF
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
    return f" {word} ".join(p.text(part, own) for part in node.args), own


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


# Lines --------------------------------------------------------------------------------------------------------------------


@dataclass
class _Set:
    """An assignment; ``call``: the formula whose outcome it is, as it stands."""

    target: str
    value: str
    call: Call | None = None


@dataclass
class _Loop:
    """A loop around other lines."""

    head: str
    body: list[_Set | _Loop] = field(default_factory=list)


class _Function:
    """The function of a formula, as it is being written."""

    def __init__(self, key: Applied, names: Mapping[Applied, str]) -> None:
        self.formula: Formula = get_formula(key[0])
        self.name, self.printer = names[key], Python(key, names)
        self.lines = own_lines(self.formula, self.formula.choose(dict(key[1])))
        self.taken = {_identifier(line.name) for line in self.lines} | {*names.values()}
        self.taken |= {_identifier(str(item)) for item in self.formula.inputs} | TAKEN
        self.taken |= {_identifier(t.name) for t in self.formula.constants}

    def source(self) -> str:
        """The function as text."""
        body: list[_Set | _Loop] = []
        lines = dict(zip(map(_read_out, self.lines), self.lines, strict=True))
        for group in arrange(lines):
            body += self.write_group(group, lines, allocate=True)
        given = [self.parameter(item) for item in self.formula.inputs if not _draws(item)]
        outputs = ", ".join(self.printer.name(t.name) for t in self.formula.outputs)
        text = [*_written(body, 4), *fit(f"return {outputs}", 4)]
        masks = [line for item in self.formula.tensors for line in self.write_mask(item)]
        used = set(re.findall(r"\w+", "\n".join((*text, *masks))))
        head = [*self.write_sizes(used), *self.write_constants(used)]
        return "\n".join(
            (*fit(f"def {self.name}({', '.join(given)}):", 0), *_indented(head), *_indented(masks), *text)
        )

    def parameter(self, item: Any) -> str:
        """An input as the function takes it."""
        optional = isinstance(item, Tensor) and item.role == "mask"
        return _identifier(str(item)) + ("=None" if optional else "")

    def write_mask(self, item: Tensor) -> Iterator[str]:
        """What a mask that is not given stands for, where its entries are read."""
        if item.name in self.printer.filled:
            name = self.printer.name(item.name)
            made = "ones" if _absent(self.printer.key) else "zeros"
            yield f"if {name} is None:"
            yield f"    {name} = {made}({self.shape(item)}, bool)"

    def write_constants(self, used: set[str]) -> Iterator[str]:
        """The numbers that the statement fixes."""
        for item, value in self.formula.constants.items():
            if self.printer.name(item.name) in used:
                yield f"{self.printer.name(item.name)} = {_decimal(sympy.Rational(value))[0]}"

    def write_sizes(self, used: set[str]) -> Iterator[str]:
        """The sizes that are used, read off the shapes of the inputs."""
        known = {item for item in self.formula.inputs if isinstance(item, sympy.Symbol)}
        places: dict[sympy.Symbol, tuple[Tensor, int, Any, Any]] = {}
        axes = [
            (item, axis, sympy.expand(size))
            for item in self.formula.tensors
            if item.role != "mask"
            for axis, size in enumerate(item.shape)
        ]
        axes.sort(key=lambda one: not one[2].is_Symbol)
        for item, axis, size in axes * 2:  # a size may be told by one that comes later
            open_ = [s for s in size.free_symbols if s not in known]
            if len(open_) == 1:
                slope = size.coeff(open_[0])
                places[open_[0]] = (item, axis, slope, sympy.expand(size - slope * open_[0]))
                known.add(open_[0])
        wanted = {s for s in places if _identifier(s.name) in used}
        for symbol, (_, _, slope, rest) in reversed(places.items()):
            if symbol in wanted:
                wanted |= (free_symbols(slope) | free_symbols(rest)) & places.keys()
        read: set[Tensor] = set()
        for symbol, (item, axis, slope, rest) in places.items():
            if symbol not in wanted or (plain := (slope, rest) == (1, 0)) and item in read:
                continue
            name, length = self.printer.name(item.name), len(item.shape)
            if plain and length > 1:
                read.add(item)
                here = {at: s for s, (one, at, *kind) in places.items() if one is item and kind == [1, 0]}
                axes_said = (here.get(at) for at in range(length))
                yield ", ".join(_identifier(s.name) if s in wanted else "_" for s in axes_said) + f" = {name}.shape"
                continue
            value: Any = sympy.Symbol("there")
            value = value - rest if slope == 1 else sympy.floor((value - rest) / slope)
            there = f"{name}.shape[{axis}]" if axis else f"len({name})"
            yield f"{_identifier(symbol.name)} = {self.printer.index(value).replace('there', there)}"

    def shape(self, item: Tensor) -> str:
        """The shape of a tensor as an argument."""
        sizes = [self.printer.index(size) for size in item.shape]
        return sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"

    def write_group(
        self, group: Group, lines: Mapping[Definition, Definition], allocate: bool = False
    ) -> list[_Set | _Loop]:
        """The lines of a group, as they are in ``lines``; a recurrence as a loop over the index that it steps through."""
        own = {read: lines[read] for read in group.lines if read in lines}
        out: list[_Set | _Loop] = list(self.allocate([*own.values()])) if allocate else []
        if group.step is None:
            return out + [part for line in own.values() for part in self.write_line(line)]
        names = {line.name for line in own}
        fixed: dict[Definition, Definition] = {}
        moving: dict[Definition, Definition] = {}
        for read, line in own.items():
            if not names & {ref.tensor.name for ref in refs(read.right)}:
                out += self.write_line(line)
            else:
                (moving if free_symbols(group.step.of(line)) & line.spans.keys() else fixed)[read] = line
        for inner in arrange(fixed):
            out += self.write_group(inner, fixed)
        return [*out, self.write_steps(group, moving)] if moving else out

    def write_steps(self, group: Group, lines: Mapping[Definition, Definition]) -> _Loop:
        """The lines that a recurrence goes through at each step, in a loop.

        Raises:
            ValueError: they do not go through the same values.
        """
        assert group.step is not None
        spans = {(at := group.step.of(line), line.spans.get(at)) for line in lines.values()}
        (step, span), *others = spans
        if others or span is None:
            said = ", ".join(dict.fromkeys(line.name for line in lines))
            raise ValueError(f"{self.formula.id}: no loop steps through the lines of {said} together")
        through = self.printer.range(*span)
        through = through if group.step.ascends else f"reversed({through})"
        loop = _Loop(f"for {self.printer.index(step)} in {through}:")
        inside = {
            read: replace(line, ranges=tuple(r for r in line.ranges if r[0] != step)) for read, line in lines.items()
        }
        for inner in group.body:
            loop.body += self.write_group(inner, inside)
        return loop

    def allocate(self, lines: Sequence[Definition]) -> Iterator[_Set]:
        """Arrays of zeros, for what is defined entry by entry."""
        for tensor in dict.fromkeys(line.left.tensor for line in lines):
            own = [line for line in lines if line.left.tensor == tensor]
            if tensor.shape and (len(lines) > 1 or len(self.whole(own[0])) < len(tensor.shape)):
                kind = ", bool" if tensor.domain == "boolean" else ", int" if tensor.domain in WHOLE else ""
                yield _Set(self.printer.name(tensor.name), f"zeros({self.shape(tensor)}{kind})")

    def whole(self, line: Definition) -> tuple[tuple[sympy.Symbol, Any], ...]:
        """The last axes of a line along which both of its sides are taken as arrays: those that nobody wrote, or along which a
        formula is applied.
        """
        calls = [part for part in walk(line.right) if isinstance(part, Call)]
        shape = line.left.tensor.shape
        for count in range(len(line.ranges), 0, -1):
            axes = tuple((symbol, last + 1) for symbol, _, last in line.ranges[-count:])
            symbols = tuple(symbol for symbol, _ in axes)
            wanted = count <= line.rows or any(call.index[-count:] == symbols for call in calls)
            left = line.left.index[-count:] == symbols and shape[-count:] == tuple(size for _, size in axes)
            if wanted and left and rows(line.right, axes) is not None:
                return axes
        return ()

    def write_line(self, line: Definition) -> list[_Set | _Loop]:
        """A line as an assignment, in a loop for each of its indices."""
        axes = self.whole(line)
        right = rows(line.right, axes)
        assert right is not None
        left = _at(line.left, line.left.index[: len(line.left.index) - len(axes)])
        ranges = line.ranges[: len(line.ranges) - len(axes)]
        before: list[_Set | _Loop] = []
        if ranges:  # what is the same for all indices is worked out once
            moving = {symbol for symbol, *_ in ranges}
            moving |= {one.var for one in walk(right) if isinstance(one, Bound)}
            moving |= {v for one in walk(right) if isinstance(one, Comprehension) for v in one.vars}
            while call := next((c for c in walk(right) if isinstance(c, Call) and not _within(c, moving)), None):
                made = self.made(call)
                before.append(_Set(made.name, self.printer.text(_at(call, ()))))
                right = transform(right, lambda one, call=call, made=made: _read(one, call, made))
        call = right if isinstance(right, Call) and not right.index else None
        target, value = self.printer.text(left), self.printer.text(right)
        inner: _Set | _Loop = _Set(f"{target} +" if line.accumulate else target, value, call)
        for symbol, first, last in reversed(ranges):
            inner = _Loop(f"for {self.printer.index(symbol)} in {self.printer.range(first, last)}:", [inner])
        return [*before, inner]

    def made(self, call: Call) -> Tensor:
        """A name for what a formula gives."""
        name = _identifier(call.output)
        if name in self.taken:
            name = f"{self.printer.names[_called(call.formula_id, self.printer.key[1])]}_{name}"
        name = _free(name, self.taken)
        self.taken.add(name)
        return Tensor(name, _shape(call))


def _within(call: Call, symbols: set[sympy.Symbol]) -> bool:
    """Whether what a formula is given depends on some indices."""
    return bool(free_symbols(call.args[2]) & symbols)


def _read(node: Basic, call: Call, made: Tensor) -> Basic | None:
    """An entry of what a formula gives, as an entry of the tensor that holds it."""
    same = isinstance(node, Call) and node.args[:3] == call.args[:3]
    return Ref(made, *node.index) if same else None  # type: ignore[attr-defined]


def _read_out(line: Definition) -> Definition:
    """A line in which arrays that are given to formulas show as entries, so that it is seen what is read."""
    return replace(line, right=transform(line.right, _entries))


def _entries(node: Basic) -> Basic | None:
    """A formula applied, with arrays given entry by entry."""
    if not isinstance(node, Call):
        return None
    given = (a[()] if isinstance(a, Tensor) and a.shape else a.as_node() if isinstance(a, Tensor) else a for a in node.arguments)
    return Call(*node.args[:2], BasicTuple(*given), node.args[3])


# Layout -------------------------------------------------------------------------------------------------------------------


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _written(parts: Iterable[_Set | _Loop], indent: int) -> Iterator[str]:
    """Assignments and loops as text; what several outputs of one formula are assigned to, together."""
    waiting: list[_Set] = []

    def flush() -> Iterator[str]:
        if len(waiting) > 1 and waiting[0].call is not None:
            outputs = [t.name for t in get_formula(waiting[0].call.formula_id).outputs]
            targets = {one.call.output: one.target for one in waiting if one.call is not None}
            said = ", ".join(targets.get(name, "_") for name in outputs)
            every = waiting[0].value.rpartition("[")[0]  # the place of one of them left out
            yield from fit(f"{said} = {every}", indent)
        else:
            for one in waiting:
                yield from fit(f"{one.target}{'' if one.target.endswith('+') else ' '}= {one.value}", indent)
        waiting.clear()

    for part in parts:
        together = isinstance(part, _Set) and part.call is not None and waiting and waiting[0].call is not None
        if not (together and part.call.args[::2] == waiting[0].call.args[::2]):
            yield from flush()
        if isinstance(part, _Set):
            waiting.append(part)
        else:
            yield from fit(part.head, indent)
            yield from _written(part.body, indent + 4)
    yield from flush()


def fit(line: str, indent: int) -> list[str]:
    """A line of code as lines that are not too long, broken inside of brackets."""
    groups = list(_groups(line))
    if indent + len(line) <= WIDTH or not groups:
        return [" " * indent + line]
    target, equals, value = line.partition(" = ")
    start, end = max(groups, key=lambda group: group[1] - group[0])
    apart = len(_split(value)) > 1 and not (end == len(line) - 1 and 2 * (end - start) > len(value))
    if equals and "(" not in target and (apart or " else " in _outside(value)):  # brackets of its own
        head, inside, tail = f"{target} = (", value, ")"
    else:
        while line[start + 1] in "([" and (start + 1, end - 1) in ((start + 1 + a, start + 1 + b) for a, b in _groups(line[start + 1 : end])):
            start, end = start + 1, end - 1
        head, inside, tail = line[: start + 1], line[start + 1 : end], line[end:]
    out, waiting, pieces = [" " * indent + head], "", _split(inside)
    for piece in pieces:
        joined = f"{waiting} {piece}" if waiting else piece
        if waiting and (len(joined) + indent + 4 > WIDTH or not waiting.endswith(",")):
            out += fit(waiting, indent + 4)
            joined = piece
        waiting = joined
    return [*out, *fit(waiting, indent + 4), " " * indent + tail]


def _depths(text: str) -> Iterator[tuple[int, str, int]]:
    """Each character with how many brackets are open around it."""
    depth = 0
    for place, letter in enumerate(text):
        depth -= letter in ")]"
        yield place, letter, depth
        depth += letter in "(["


def _outside(text: str) -> str:
    """What is outside of brackets."""
    return "".join(letter for _, letter, depth in _depths(text) if depth == 0)


def _groups(text: str) -> Iterator[tuple[int, int]]:
    """The outermost brackets: where they open, and where they close."""
    start = 0
    for place, letter, depth in _depths(text):
        if depth == 0 and letter in "([":
            start = place
        if depth == 0 and letter in ")]":
            yield start, place


def _split(text: str) -> list[str]:
    """A text in pieces, at what binds most weakly outside of brackets."""
    outside = {place for place, _, depth in _depths(text) if depth == 0}
    for words in (r", ", r" (?=for |if |else )", r" (?=or )", r" (?=and )", r" (?=[+-] )", r" (?=[*/] )"):
        cuts = [m for m in re.finditer(words, text) if m.start() in outside]
        if cuts:
            ends = [m.end() for m in cuts]
            return [text[a:b].strip() for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [text]

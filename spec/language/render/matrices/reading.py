"""From the lines of a statement, entry by entry, to equations between vectors and matrices.

A line is read with as many of its indices as can be dropped: the last one or two. Those before them stay, as subscripts that
count matrices (heads, steps, layers). Where that does not work, one index more stays, and rows are what the line is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language import expr
from spec.language.arrays import Comprehension, Tensor
from spec.language.binders import Bound, SumOf
from spec.language.calls import ABSENT, Call, unify
from spec.language.expr import Node, Ref
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.lines import Definition
from spec.language.render.matrices.terms import (
    Absent,
    Applied,
    Axes,
    Blocks,
    Cases,
    Entry,
    Function,
    Joint,
    Number,
    Ones,
    Open,
    Power,
    Product,
    Repeated,
    Run,
    Term,
    Transposed,
    Where,
)
from spec.language.render.nodes import short_name
from spec.language.render.printer import Latex
from spec.language.trees import free_symbols, refs, substitute, transform

Range = tuple[sympy.Expr, sympy.Expr]
_LATEX = Latex()
SOFTMAX = "attention.softmax"


class NoForm(Exception):  # noqa: N818  (an answer)
    """This has no form without indices."""


class _Kept(Exception):  # noqa: N818
    """An index that has to stay as a subscript."""

    def __init__(self, symbol: sympy.Symbol) -> None:
        super().__init__(symbol)
        self.symbol = symbol


@dataclass(frozen=True)
class Equation:
    """A line without the indices that can be dropped; those that stay have their ``ranges``."""

    left: Entry
    right: Term
    ranges: tuple[tuple[sympy.Symbol, sympy.Expr, sympy.Expr], ...]


class Letters:
    """What the arrays of a formula are called: a matrix has the capital of its rows' small letter, where that is free."""

    def __init__(self, formula: Formula, lines: Sequence[Definition]) -> None:
        tensors = {*formula.tensors, *(line.left.tensor for line in lines)}
        self.taken = {t.name.split("_")[0] for t in tensors}
        self.taken |= {symbol.name for t in tensors for size in t.shape for symbol in free_symbols(size)}
        self.rows = {t.name.split("_")[0] for t in tensors if len(t.shape) > 1}

    def letter(self, tensor: Tensor, axes: int) -> str:
        """The name of an array of which so many axes are shown."""
        base, mark, rest = tensor.name.partition("_")
        changed = base
        if tensor.name.startswith("sum_"):
            words = tensor.name.removeprefix("sum_").replace("_", r"\,")
            return rf"\Sigma_{{\mathrm{{{words}}}}}"
        if len(base.rstrip("'")) == 1 and base.isascii() and len(tensor.shape) > 1:
            if axes == 2 and tensor.role != "parameter" and base.upper() not in self.taken:
                changed = base.upper()
            if axes == 1 and tensor.role == "internal" and base.lower() not in self.rows:
                changed = base.lower()
        return _LATEX.name(changed + mark + rest)


class Reader:
    """Reads the lines of a formula under a choice of conventions."""

    def __init__(self, formula: Formula, conventions: Mapping[str, str]) -> None:
        self.formula, self.conventions = formula, conventions
        self.lines = own_lines(formula, conventions)
        self.letters = Letters(formula, self.lines)
        self.defined = {line.name: line for line in self.lines}
        self.kept: dict[str, int] = {}
        """How many subscripts a stack of matrices or vectors was defined with."""
        self.stack: set[sympy.Symbol] = set()
        self.spans: dict[sympy.Symbol, Range] = {}
        self.order: list[sympy.Symbol] = []
        self.handed = 0
        """How many axes an argument has, while it is read."""

    def read(self) -> list[Equation]:
        """The lines as equations.

        Raises:
            NoForm: one of them has no such form.
        """
        return [self.line(group) for group in self.group()]

    def group(self) -> list[list[Definition]]:
        """The lines, those together that define one array part by part along its last axis."""
        groups: list[list[Definition]] = []
        for line in self.lines:
            before = groups[-1][-1].left if groups else None
            if (
                before is not None
                and line.left.index
                and before.tensor == line.left.tensor
                and before.index[:-1] == line.left.index[:-1]
            ):
                groups[-1].append(line)
            else:
                groups.append([line])
        return groups

    # Lines --------------------------------------------------------------------------------------------------------------

    def line(self, group: Sequence[Definition]) -> Equation:
        """A line as an equation, with as few subscripts as it takes."""
        left, spans = group[0].left, group[0].spans
        if any(line.accumulate for line in group):
            raise NoForm
        self.order = [symbol for symbol, _, _ in group[0].ranges]
        lead = max(len(left.index) - 2, self.kept.get(left.tensor.name, 0))
        kept = {s for part in left.index[:lead] for s in free_symbols(part)}
        while True:
            self.stack, self.spans, self.handed = set(kept), spans, 0
            try:
                equation = self.attempt(group)
                break
            except _Kept as asked:
                if asked.symbol not in spans or asked.symbol in kept:
                    raise NoForm from None
                kept.add(asked.symbol)
            except NoForm:
                more = [symbol for symbol in spans if symbol not in kept]
                if not more:
                    raise
                kept.add(more[0])
        if len(left.index) > 2:
            open_ = sum(isinstance(place, Open) for place in equation.left.places)
            self.kept[left.tensor.name] = len(left.index) - open_
        return equation

    def attempt(self, group: Sequence[Definition]) -> Equation:
        """A line as an equation, with the subscripts of the stack."""
        first = group[0]
        self.spans = first.spans
        *lead, last = first.left.index or (None,)
        parts = free_symbols(last) & set(self.spans) if isinstance(last, Basic) else set()
        if last is None or (len(group) == 1 and (last in self.spans or not parts)):
            left = self.entry(first.left)
            right = self.align(self.convert(first.right), left.axes)
        else:
            left, right = self.pieces(group, lead, first.left.tensor)
        if any(isinstance(one, Entry) and one.tensor.shape and not one.axes for one in right.walk()):
            raise NoForm  # about single entries
        ranges = tuple(
            (s, *ends)
            for s, ends in first.spans.items()
            if s in self.stack and any(s in free_symbols(i) for i in first.left.index[: len(left.places)])
        )
        used = {s for place in left.places if not isinstance(place, Open) for s in free_symbols(place)}
        return Equation(left, right, tuple(one for one in ranges if one[0] in used))

    def pieces(self, group: Sequence[Definition], lead: list[Any], tensor: Tensor) -> tuple[Entry, Term]:
        """An array that is defined part by part along its last axis: its parts, side by side."""
        blocks: list[Term] = []
        begin: Any = sympy.S.Zero
        for line in group:
            self.spans = line.spans
            self.order = list(line.spans)
            last = line.left.index[-1]
            if last not in self.spans and line.rows:
                raise NoForm
            within = [s for s in free_symbols(last) & set(self.spans) if sympy.diff(last, s) == 1]
            across = [s for s in free_symbols(last) & set(self.spans) if s not in within]
            if len(within) != 1 or len(across) > 1 or self.spans[within[0]][0] != 0:
                raise NoForm
            (inner,), width = within, self.spans[within[0]][1] + 1
            self.stack -= {inner}
            open_ = (*(s for s in lead if s in self.spans and s not in self.stack), inner)
            if across:
                turn, (start, stop) = across[0], self.spans[across[0]]
                if sympy.expand(last - inner - turn * width) != 0 or start != 0:
                    raise NoForm
                self.stack.add(turn)
                body = self.align(self.convert(line.right), open_)
                ends = tuple(
                    self.align(self.convert(substitute(line.right, {turn: end})), open_)
                    for end in (start, stop)
                )
                blocks.append(Run(open_, turn, start, stop, body, ends))
                width *= stop + 1
            else:
                if sympy.expand(last - inner - begin) != 0:
                    raise NoForm
                blocks.append(self.align(self.convert(line.right), open_))
            begin += width
        if sympy.expand(begin - tensor.shape[-1]) != 0 or not blocks:
            raise NoForm
        places = tuple(Open(s) if s in self.spans and s not in self.stack else s for s in lead)
        axes = blocks[0].axes
        left = Entry(axes, tensor, self.letters.letter(tensor, len(axes)), (*places, Open(axes[-1])))
        return left, blocks[0] if len(blocks) == 1 else Blocks(axes, tuple(blocks))

    def align(self, term: Term, axes: Axes) -> Term:
        """The term with its axes in this order.

        Raises:
            NoForm: it has others.
        """
        if term.axes == axes:
            return term
        if term.axes == axes[::-1] and len(axes) == 2:
            return self.transpose(term)
        raise NoForm

    def transpose(self, term: Term) -> Term:
        """A matrix with its axes exchanged."""
        return term.of if isinstance(term, Transposed) else Transposed(term.axes[::-1], term)

    # Trees --------------------------------------------------------------------------------------------------------------

    def is_open(self, part: Any) -> bool:
        """Whether an index, or a tree, depends on an index that is dropped."""
        return isinstance(part, Basic) and bool(free_symbols(part) & (set(self.spans) - self.stack))

    def convert(self, node: Basic) -> Term:
        """A tree without its open indices."""
        if isinstance(node, Ref):
            return self.entry(node)
        if isinstance(node, expr.Literal):
            if free_symbols(node) & set(self.spans):
                raise NoForm
            return Number((), node)
        if isinstance(node, expr.Plus | expr.Minus):
            return self.join("+" if isinstance(node, expr.Plus) else "-", *map(self.convert, node.args))
        if isinstance(node, expr.Times):
            return self.join("*", *map(self.convert, node.args))
        if isinstance(node, expr.Over):
            return self.softmax(node) or self.over(*map(self.convert, node.args))
        if isinstance(node, expr.Negative):
            of = self.convert(node.args[0])
            return Function(of.axes, "negative", of)
        if isinstance(node, expr.Func | expr.Power):
            return self.function(node)
        if isinstance(node, SumOf):
            return self.sum(node)
        if isinstance(node, expr.Case):
            return self.case(node)
        if isinstance(node, Call):
            return self.call(node)
        raise NoForm

    def entry(self, ref: Ref) -> Entry:
        """An entry, its open indices dropped."""
        places: list[Any] = []
        axes: list[sympy.Symbol] = []
        for place, (part, size) in enumerate(zip(ref.index, ref.tensor.shape, strict=True)):
            if not self.is_open(part):
                if axes:
                    self.keep(axes[0])
                places.append(part)
                continue
            shown, symbol = self.open(part, size, place == len(ref.index) - 1)
            places.append(shown)
            axes.append(symbol)
        limit = min(2, len(ref.index) - self.kept.get(ref.tensor.name, 0))
        if 2 < len(axes) == self.handed == len(set(axes)):  # a stack, handed on as it is
            limit = len(axes)
        if len(axes) > limit or len(set(axes)) < len(axes):
            self.keep(axes[0])
        return Entry(tuple(axes), ref.tensor, self.letters.letter(ref.tensor, len(axes)), tuple(places))

    def keep(self, symbol: sympy.Symbol) -> None:
        """Ask for this index to stay."""
        raise _Kept(symbol)

    def open(self, part: Any, size: sympy.Expr, last: bool) -> tuple[Open, sympy.Symbol]:
        """An axis that an index leaves open."""
        if isinstance(part, Ref):
            if len(part.index) != 1 or part.index[0] not in self.spans:
                raise NoForm
            return Open(part.index[0], places=part.tensor), part.index[0]
        symbols = [s for s in free_symbols(part) if s in self.spans and s not in self.stack]
        symbol = symbols[0]
        first, end = self.spans[symbol]
        shift = sympy.expand(part - symbol)
        if len(symbols) > 1 or free_symbols(shift) & set(symbols) or self.is_open(first) or self.is_open(end):
            self.keep(next(s for s in (*self.order, symbol) if s in symbols))
        begin, end = sympy.expand(shift + first), sympy.expand(shift + end + 1)
        if begin == 0 and sympy.expand(end - size) == 0:
            return Open(symbol), symbol
        if not last and symbol in self.order:
            self.keep(symbol)
        return Open(symbol, begin, end), symbol

    def join(self, sign: str, left: Term, right: Term) -> Term:
        """Two terms entry by entry, where NumPy joins them so."""
        one, other = left.axes, right.axes
        if sign == "*" and one and not other:
            return Joint(one, sign, right, left)
        if one == other or not one or not other:
            return Joint(one or other, sign, left, right)
        if len(one) == len(other) == 2 and one == other[::-1]:
            if self.rank(one) > self.rank(other):
                return Joint(other, sign, self.transpose(left), right)
            return Joint(one, sign, left, self.transpose(right))
        if len(one) == len(other) == 1:
            if sign != "*":
                raise NoForm
            return Product((*one, *other), left, right, "outer")
        big, small = (left, right) if len(one) == 2 else (right, left)
        if small.axes[0] == big.axes[0] and sign in "+-":  # to every column
            ones = Ones(big.axes[1:], self.spans[big.axes[1]][1] + 1)
            spread: Term = Product(big.axes, small, ones, "outer")
        elif small.axes[0] == big.axes[1]:
            spread = small
        else:
            raise NoForm
        return Joint(big.axes, sign, *((left, spread) if big is left else (spread, right)))

    def rank(self, axes: Axes) -> list[int]:
        """By what the axes of a matrix are put in order: those of the left side first, as they stand there."""
        return [self.order.index(s) if s in self.order else len(self.order) for s in axes]

    def over(self, above: Term, below: Term) -> Term:
        """A quotient; a number divides the last factor of a product entry by entry."""
        if isinstance(above, Joint) and above.sign == "*" and above.left.axes and not below.axes:
            return Joint(above.axes, "*", above.left, Joint(above.right.axes, "/", above.right, below))
        if below.axes and above.axes != below.axes:
            raise NoForm
        return Joint(above.axes, "/", above, below)

    def softmax(self, node: expr.Over) -> Term | None:
        """An exponential over the sum of all in its row."""
        above, below = node.args
        if not (isinstance(above, expr.Func) and above.name == "exp" and isinstance(below, SumOf)):
            return None
        span = below.first, below.last
        for symbol in sorted(free_symbols(above) & (set(self.spans) - self.stack), key=str):
            if (
                self.spans[symbol] == span
                and below.where == expr.TRUE
                and substitute(above, {symbol: below.var}) == below.body
            ):
                of = self.convert(above.args[1])
                if symbol not in of.axes:
                    return None
                if of.axes[-1] != symbol:
                    of = self.transpose(of)
                return Function(of.axes, "softmax", of)
        return None

    def function(self, node: Basic) -> Term:
        """An elementary function, or a power."""
        if isinstance(node, expr.Power):
            base, exponent = map(self.convert, node.args)
            if exponent.axes:
                raise NoForm
            if not base.axes:
                return Power((), base, exponent)
            if node.args[1] != expr.lift(2):
                raise NoForm
            return Joint(base.axes, "*", base, base)
        name, of = str(node.args[0].name), self.convert(node.args[1])
        if name == "sqrt" and isinstance(of, Function) and of.name == "square":
            return Function((), "norm", of.of)
        if name == "round":
            raise NoForm
        return Function(of.axes, name, of)

    def case(self, node: expr.Case) -> Term:
        """The larger of a number and 0; numbers by cases; an array that is 0 where a condition on indices does not hold."""
        condition, then, otherwise = node.args
        nothing = otherwise == expr.lift(0)
        if nothing and condition == expr.lt(0, then):
            of = self.convert(then)
            return Function(of.axes, "positive", of)
        if not self.is_open(condition):
            return Cases(
                (), condition, self.align(self.convert(then), ()), self.align(self.convert(otherwise), ())
            )
        of = self.convert(then)
        if not nothing or free_symbols(condition) & set(self.spans) != set(of.axes) or _reals(condition):
            raise NoForm
        return Joint(of.axes, "*", of, self.where(condition, of.axes))

    def where(self, condition: Basic, axes: Axes) -> Term:
        """A condition as an array."""
        return Where(axes, condition, tuple(self.spans[s][1] + 1 for s in axes))

    # Sums ---------------------------------------------------------------------------------------------------------------

    def sum(self, node: SumOf) -> Term:
        """A sum over an index: a product of matrices, or the sum of a stack."""
        if node.where != expr.TRUE and not self.hidden(node):
            raise NoForm
        if self.is_open(node.first) or self.is_open(node.last):
            raise NoForm
        if node.var in self.spans:
            return self.sum(_renamed(node))
        self.spans = {**self.spans, node.var: (node.first, node.last)}
        try:
            return self.contract(list(map(self.convert, _factors(node.body))), node.var)
        except _Kept as kept:
            if kept.symbol != node.var:
                raise
            self.stack.add(node.var)
            body = self.convert(node.body)
            if len(body.axes) < 2 or any(isinstance(one, Entry) and one.sliced for one in body.walk()):
                raise NoForm from None
            return Run(body.axes, node.var, node.first, node.last, body)
        finally:
            self.spans = {s: ends for s, ends in self.spans.items() if s != node.var}

    def contract(self, factors: list[Term], symbol: sympy.Symbol) -> Term:
        """The sum over an index of a product."""
        inside = [one for one in factors if symbol in one.axes]
        outside = [one for one in factors if symbol not in one.axes]
        if not inside:
            raise NoForm
        while len(inside) > 2:
            inside[:2] = [self.join("*", *inside[:2])]
        if len(inside) == 2 and len(inside[0].axes) == 2 and set(inside[0].axes) == set(inside[1].axes):
            inside = [self.join("*", *inside)]
        if len(inside) == 1:
            first, end = self.spans[symbol]
            inside.append(Ones((symbol,), end - first + 1))
        left, right = inside
        found = self.multiply(left, right, symbol)
        for one in outside:
            found = self.join("*", one, found)
        return found

    def multiply(self, left: Term, right: Term, symbol: sympy.Symbol) -> Term:
        """The product of two terms, summed over an index."""
        one, other = ([s for s in part.axes if s != symbol] for part in (left, right))
        if not one and not other:
            if left == right:
                return Function((), "square", left)
            if isinstance(right, Ones):
                left, right = right, left
            return Product((), left, right, "inner")
        if one and other and self.rank(tuple(one)) > self.rank(tuple(other)):
            left, right, one, other = right, left, other, one
        if one and other:
            left = left if left.axes[1] == symbol else self.transpose(left)
            right = right if right.axes[0] == symbol else self.transpose(right)
            return Product((*one, *other), left, right)
        big, small = (left, right) if one else (right, left)
        pair = (big, small) if big.axes[1] == symbol else (small, big)
        return Product(tuple(one or other), *pair)

    def hidden(self, node: SumOf) -> bool:
        """Whether a sum leaves out only terms that are 0: a factor is a softmax that has the condition as its mask."""
        for ref in (part for part in _factors(node.body) if isinstance(part, Ref)):
            line = self.defined.get(ref.tensor.name)
            if line is None or not isinstance(line.right, Call) or line.right.formula_id != SOFTMAX:
                continue
            mask = line.right.arguments[1]
            if mask == ABSENT:
                continue
            index = tuple(
                substitute(i, dict(zip(line.left.index, ref.index, strict=True))) for i in line.right.index
            )
            seen = Ref(mask, *index) if isinstance(mask, Tensor) else mask.at(index)
            if node.where in (seen, expr.Not(seen)) or seen == expr.Not(node.where):
                return True
        return False

    # Other formulas -----------------------------------------------------------------------------------------------------

    def call(self, node: Call) -> Term:
        """A formula applied: its own equation where that is one line, else its name."""
        callee = get_formula(node.formula_id)
        wanted = {c.name for c in callee.conventions}
        chosen = callee.choose({name: o for name, o in self.conventions.items() if name in wanted})
        lines = own_lines(callee, chosen)
        if len(lines) == 1 and (not wanted or callee.auxiliary):
            spans, stack, handed = self.spans, set(self.stack), self.handed
            try:
                return self.convert(_inlined(callee, lines[0], node))
            except (NoForm, _Kept):
                self.spans, self.stack, self.handed = spans, stack, handed
        return self.applied(callee, node)

    def applied(self, callee: Formula, node: Call) -> Term:
        """A formula applied, by its name."""
        index = [part for part in node.index if not self.is_open(part)]
        axes = tuple(part for part in node.index if self.is_open(part))
        if not all(isinstance(part, sympy.Symbol) for part in axes) or any(
            map(self.is_open, node.index[: len(index)])
        ):
            raise NoForm
        arguments: list[Term] = []
        rows: list[sympy.Symbol] = []
        for item, value in zip(callee.inputs, node.arguments, strict=True):
            arguments.append(self.argument(item, value, rows))
        if rows:
            if len(axes) > 1:
                self.keep(rows[0])
            axes = (rows[0], *axes)
        once = any(isinstance(one, Repeated) and one.count == 1 for one in arguments)
        shown = short_name(callee.id).replace("_", r"\_")
        return Applied(
            axes,
            callee.id,
            node.output,
            rf"\operatorname{{{shown}}}",
            tuple(arguments),
            callee.inputs,
            tuple(index),
            "" if node.output == callee.outputs[0].name else "{}." + _LATEX.name(node.output),
            once and index == [0],
            tuple(unify(callee, node.arguments).items()),
        )

    def argument(self, item: Any, value: Basic, rows: list[sympy.Symbol]) -> Term:
        """An argument; ``rows`` takes in an index over whose values the formula is applied."""
        if value == ABSENT:
            return Absent(())
        if not isinstance(item, Tensor):
            return Number((), value)
        if isinstance(value, Tensor):
            value = _whole(value)
        if not isinstance(value, Comprehension):
            if item.domain == "boolean":
                raise NoForm
            return self.align(self.convert(value), ())
        body, own = value.body, value.vars
        if set(own) & set(self.spans):
            names = {s: sympy.Dummy(s.name, integer=True) for s in own}
            body, own = substitute(body, names), tuple(names[s] for s in own)
        before, self.handed = self.spans, len(own)
        self.spans = {
            **before,
            **{s: (sympy.S.Zero, size - 1) for s, size in zip(own, value.shape, strict=True)},
        }
        try:
            if item.domain == "boolean" and not isinstance(body, Ref):
                if free_symbols(body) & set(before) - self.stack:
                    raise NoForm
                shown = {
                    s: sympy.Symbol(s.name, integer=True) if isinstance(s, sympy.Dummy) else s for s in own
                }
                seen = tuple(s for s in own if s in free_symbols(body))
                if seen not in (own, own[1:]):
                    raise NoForm
                sizes = tuple(self.spans[s][1] + 1 for s in seen)
                term: Term = Where(tuple(shown[s] for s in seen), substitute(body, shown), sizes)
                return term if seen == own else Repeated(term.axes, term, value.shape[0])
            term = self.convert(body)
        finally:
            self.spans, self.handed = before, 0
        if term.axes == own[1:] and len(own) == 2:
            return Repeated(own, term, value.shape[0])
        outer = [s for s in term.axes if s not in own]
        if outer and (len(outer) > 1 or len(own) > 1 or (rows and rows != outer)):
            self.keep(outer[0])
        rows[:] = rows or outer
        return self.align(term, (*outer, *own))


def _whole(tensor: Tensor) -> Basic:
    return tensor[()] if tensor.shape else Ref(tensor)


def _reals(condition: Basic) -> bool:
    """Whether a condition reads entries that are no conditions themselves."""
    return any(ref.tensor.domain != "boolean" for ref in refs(condition))


def _factors(node: Basic) -> list[Basic]:
    """What is multiplied, outermost first."""
    if isinstance(node, expr.Times):
        return [*_factors(node.args[0]), *_factors(node.args[1])]
    if isinstance(node, expr.Power) and node.args[1] == expr.lift(2):
        return [node.args[0]] * 2
    return [node]


def _renamed(node: Node) -> Any:
    """A tree whose bound indices are no other's."""

    def rename(part: Basic) -> Basic | None:
        if not isinstance(part, Bound):
            return None
        name = sympy.Dummy(part.var.name, integer=True)
        body, where = (substitute(one, {part.var: name}) for one in (part.body, part.where))
        return part.func(body, name, part.first, part.last, where)

    return transform(node, rename)


def _inlined(callee: Formula, line: Definition, node: Call) -> Node:
    """The right side of a formula's only line, for what a call gives it."""
    given = dict(zip((str(i) for i in callee.inputs), node.arguments, strict=True))
    if ABSENT in given.values() or not all(i in line.spans for i in line.left.index):
        raise NoForm
    changes = {**unify(callee, node.arguments), **dict(zip(line.left.index, node.index, strict=True))}

    def put_in(part: Basic) -> Basic | None:
        if not isinstance(part, Ref) or part.tensor.name not in given:
            return None
        value = given[part.tensor.name]
        if isinstance(value, Tensor):
            return Ref(value, *part.index)
        return value.at(part.index) if isinstance(value, Comprehension) else value

    return transform(substitute(_renamed(line.right), changes), put_in)

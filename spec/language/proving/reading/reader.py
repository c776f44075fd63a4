"""Reading statements: from trees, as they are written, to terms in normal form.

Reading asks whether what is written is *defined*: a divisor must be nonzero, the argument of a root at least 0, an index in
its range, an argument in the input's domain. Each is an obligation, discharged under what is known at that place (ranges of the
indices around, guards of cases and of restricted sums, the theorem's assumptions), or the reading is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.binders import AnyOf, Bound, Expectation, MaxOf, SumOf
from spec.language.calls import Call, Pullback
from spec.language.expr import (
    Always,
    Both,
    Case,
    Choice,
    Compare,
    Delta,
    Either,
    Func,
    Literal,
    Minus,
    Negative,
    Node,
    Not,
    Over,
    Plus,
    Power,
    Ref,
    Times,
    Undefined,
)
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading import derivatives
from spec.language.proving.reading.defining import BlocksNeeded, ParityNeeded, divide_into_blocks, quotient
from spec.language.proving.reading.frames import Frame, Reading
from spec.language.proving.reading.recurrences import NormalValue
from spec.language.proving.reading.states import Recurring
from spec.language.proving.reading.unfolding import Unfolding
from spec.language.proving.rules.normal import Normal
from spec.language.proving.rules.workplace import make_normal
from spec.language.proving.signs.of_trees import TreeSigns
from spec.language.proving.signs.sets import NEGATIVE, NULL, POSITIVE
from spec.language.proving.terms.polynomials import (
    ONE,
    ZERO,
    Atom,
    Poly,
    conjuncts,
    number,
    total,
    whole,
)
from spec.language.proving.terms.writing import text
from spec.language.render import unicode
from spec.language.wellformed.letters import is_size


class Conditions:
    """Reads conditions for a reader."""

    def __init__(self, reader: Reading) -> None:
        self.reader, self.n = reader, reader.n

    def condition(self, node: Any, frame: Frame, facts: Facts) -> Poly:
        """A condition as an indicator."""
        if isinstance(node, Always):
            return ONE
        if isinstance(node, Ref):
            return self.reader.value(node, frame, facts)
        if isinstance(node, Tensor):
            return self.reader.entry(node, (), frame, facts)
        if isinstance(node, Both | Either):
            a = self.condition(node.args[0], frame, facts)
            b = self.condition(
                node.args[1], frame, facts.assume_value(a) if isinstance(node, Both) else facts
            )
            both = self.n.mul(a, b, facts)
            return both if isinstance(node, Both) else a + b - both
        if isinstance(node, Not):
            return self.negation(self.condition(node.args[0], frame, facts), facts)
        if isinstance(node, Choice):
            return self.condition(self.reader.choose_option(node, frame), frame, facts)
        if isinstance(node, Case):
            return self.reader.value(node, frame, facts)
        if isinstance(node, Compare):
            return self._compare(node, frame, facts)
        if isinstance(node, AnyOf):
            return self._any(node, frame, facts)
        raise Unprovable(f"{self.reader.text(node, frame)} is not a condition")

    def negation(self, condition: Poly, facts: Facts) -> Poly:
        """The indicator of the opposite condition."""
        lits = condition.conditions
        if len(lits) == 1 and condition == lits[0].poly and lits[0].kind == "ge":
            return self.n.at_least_zero(-lits[0].args[0] - 1, facts)
        return ONE - condition

    def _compare(self, node: Compare, frame: Frame, facts: Facts) -> Poly:
        relation = str(node.args[0])
        a, b = (self.reader.value(part, frame, facts) for part in node.args[1:])
        if (b - a).is_index:
            if relation == "==":
                return self.n.equal(b - a, facts)
            return self.n.at_least_zero(b - a - (1 if relation == "<" else 0), facts)
        if relation == "<":
            return self.n.above_zero(b - a, facts)
        below = ONE - self.n.above_zero(a - b, facts)
        return below if relation == "<=" else self.n.mul(below, ONE - self.n.above_zero(b - a, facts), facts)

    def _any(self, node: AnyOf, frame: Frame, facts: Facts) -> Poly:
        symbol = self.n.fresh(node.var.name)
        inner = frame.bind({node.var: symbol.poly})
        first, last = self.reader.limits(node, frame, facts)
        span = [self.n.at_least_zero(gap, self.n.empty) for gap in (symbol.poly - first, last - symbol.poly)]
        here = facts.assume_value(span[0]).assume_value(span[1])
        where = self.condition(node.where, inner, here)
        body = self.n.mul(where, self.condition(node.body, inner, here.assume_value(where)), here)
        return self._exists(symbol, span, body, facts)

    def _exists(self, symbol: Atom, span: list[Poly], body: Poly, facts: Facts) -> Poly:
        """∃ of a disjunction is the disjunction of ∃s."""
        if not body:
            return ZERO
        parts: list[Poly] = []
        rest = body
        for lit in body.conditions:
            if not rest.at(lit, False):
                parts, rest = [*parts, lit.poly], rest.at(lit, True)
            elif not rest.at(lit, True):
                parts, rest = [*parts, Atom("not", lits=(lit,)).poly], rest.at(lit, False)
            else:
                a, b = (
                    self._exists(symbol, [*span, *parts, side], self._where(lit, truth, rest, facts), facts)
                    for truth, side in ((True, lit.poly), (False, Atom("not", lits=(lit,)).poly))
                )
                return a + b - self.n.mul(a, b, facts)
        if rest != ONE:
            raise Unprovable(f"{body} is not a condition")
        return self.n.exists((symbol,), [*span, *parts], facts)

    def _where(self, lit: Atom, truth: bool, condition: Poly, facts: Facts) -> Poly:
        """A condition where another one holds, or fails; what the two exclude or imply of each other is used."""
        side = lit.poly if truth else ONE - lit.poly
        return self.n.mul(side, condition, facts).at(lit, truth)


def read_sum(reader: Reading, node: SumOf, frame: Frame, facts: Facts) -> Poly:
    """A sum; over even and over odd indices, or over blocks, where the parity or the place in a block decides what is read."""
    first, last = reader.limits(node, frame, facts)
    if reader.unroll and first.constant is not None and last.constant is not None:
        return total(
            _term(reader, node, number(k), frame, facts)
            for k in range(int(first.constant), int(last.constant) + 1)
        )
    symbol = reader.n.fresh(node.var.name)
    try:
        return _sum_over(reader, node, symbol, symbol.poly, first, last, frame, facts)
    except ParityNeeded as need:
        if need.symbol != symbol:
            raise
    except BlocksNeeded as need:
        if need.symbol != symbol:
            raise
        return _sum_in_blocks(reader, node, need.width, first, last, frame, facts)
    reader.n.note("parity")
    halves = []
    for odd in (0, 1):
        half = reader.n.fresh(node.var.name)
        halves.append(
            _sum_over(reader, node, half, half.poly.scale(Fraction(2)) + odd, first, last, frame, facts)
        )
    return total(halves)


def _sum_in_blocks(
    reader: Reading, node: SumOf, width: Poly, first: Poly, last: Poly, frame: Frame, facts: Facts
) -> Poly:
    """Σ over h·d indices is Σ over h blocks of Σ over d places."""
    found = quotient(last + 1, width)
    if first or found is None or found[1] or not facts.nonnegative(width - 1):
        raise Unprovable(f"the range of {node.var} in {reader.text(node, frame)} is not one of whole blocks")
    reader.n.note("blocks")
    block, place = reader.n.fresh(node.var.name), reader.n.fresh(node.var.name)
    here = reader.within(block.poly, ZERO, found[0] - 1, facts)
    here = reader.within(place.poly, ZERO, width - 1, here)
    if here.impossible:
        reader.n.note("empty")
        return ZERO
    lits = here.added[len(facts.added) :]
    body = _term(reader, node, reader.n.mul(block.poly, width, here) + place.poly, frame, here)
    return reader.n.sum_over((block, place), lits, body, facts)


def _sum_over(
    reader: Reading, node: SumOf, symbol: Atom, at: Poly, first: Poly, last: Poly, frame: Frame, facts: Facts
) -> Poly:
    span = [reader.n.at_least_zero(gap, reader.n.empty) for gap in (at - first, last - at)]
    here = facts.assume_value(span[0]).assume_value(span[1])
    if here.impossible:
        reader.n.note("empty")
        return ZERO
    body = _term(reader, node, at, frame, here)
    return reader.n.sum_over((symbol,), span[0].conditions + span[1].conditions, body, facts)


def _term(reader: Reading, node: Bound, at: Poly, frame: Frame, facts: Facts) -> Poly:
    inner = frame.bind({node.var: at})
    where = reader.condition(node.where, inner, facts)
    here = facts.assume_value(where)
    if not where or here.impossible:
        reader.n.note("empty")
        return ZERO
    return reader.n.mul(where, reader.value(node.body, inner, here), facts)


def read_max(reader: Reading, node: MaxOf, frame: Frame, facts: Facts) -> Poly:
    """A maximum, which must be taken over at least one index."""
    symbol = reader.n.fresh(node.var.name)
    inner = frame.bind({node.var: symbol.poly})
    first, last = reader.limits(node, frame, facts)
    span = [reader.n.at_least_zero(gap, reader.n.empty) for gap in (symbol.poly - first, last - symbol.poly)]
    here = facts.assume_value(span[0]).assume_value(span[1])
    where = reader.condition(node.where, inner, here)
    lits = (*span[0].conditions, *span[1].conditions, *(conjuncts(where) if where else ()))
    if not where or facts.witness((symbol,), lits) is None:
        raise Undischarged(
            f"{reader.text(node, frame)} is taken over at least one index", reader.describe_known(facts)
        )
    body = reader.value(node.body, inner, here.assume_value(where))
    return reader.n.largest((symbol,), lits, body, facts)


class Reader:
    """Reads trees into terms.

    ``unroll`` writes sums over numeric ranges out; ``fixed`` are inputs a theorem fixes; ``kept`` are formulas, by ID, that are
    not looked into where they are applied, or all but those of ``opened``.
    """

    def __init__(
        self,
        normal: Normal | None = None,
        unroll: bool = False,
        fixed: frozenset[str] = frozenset(),
        kept: frozenset[str] = frozenset(),
        opened: frozenset[str] | None = None,
    ) -> None:
        self.n = normal or make_normal()
        self.unroll, self.fixed, self.kept, self.opened = unroll, fixed, kept, opened
        self.unfolding = Unfolding(self)
        self.conditions = Conditions(self)
        self.signs = TreeSigns(self)
        self._memo: dict[tuple[Any, Frame, Facts], Poly] = {}

    def another(self, opened: frozenset[str] | None = None) -> Reader:
        """A reader for another proof, which looks into formulas, or into those opened alone."""
        return Reader(opened=opened)

    def read_recurrence(self, spec: Recurring, frame: Frame) -> None:
        """Read the lines that a state comes from."""
        self.unfolding.recurrences.definedness.read(spec, frame, self.n.empty)

    def describe_known(self, facts: Facts) -> str:
        """What is known at a place beside ranges, as text."""
        return self.signs.describe_known(facts)

    def keeps(self, formula_id: str) -> bool:
        """Whether a formula is not looked into where it is applied."""
        return formula_id in self.kept if self.opened is None else formula_id not in self.opened

    def text(self, node: Any, frame: Frame, relation: str = "") -> str:
        """A tree as a reader sees it, what is said of it, and the formula it is written in."""
        shown = self.show_tree(node)
        parts = [
            shown if isinstance(shown, str) else unicode(shown),
            relation,
            f"in {frame.where}" if frame.where else "",
        ]
        return " ".join(part for part in parts if part)

    def show_tree(self, node: Any) -> Any:
        """A tree as messages have it: what is in normal form already as its text."""
        return text(self.n, self.n.held[str(node.args[0])]) if isinstance(node, NormalValue) else node

    # Values ------------------------------------------------------------------------------------------------------------

    def value(self, node: Any, frame: Frame, facts: Facts) -> Poly:
        """The value of a tree."""
        key = (node, frame, facts)
        if key not in self._memo:
            handler = _VALUES.get(type(node))
            if handler is None:
                if isinstance(node, sympy.Expr) and not isinstance(node, Node):
                    return self.index(node, frame, facts)
                raise Unprovable(f"{type(node).__name__} has no value")
            self._memo[key] = handler(self, node, frame, facts)
        return self._memo[key]

    def read(self, node: Any, frame: Frame, facts: Facts) -> Poly:
        """A value, or the indicator of a condition."""
        is_condition = isinstance(node, Always | Both | Either | Not | Compare | AnyOf)
        return self.condition(node, frame, facts) if is_condition else self.value(node, frame, facts)

    def _ref(self, node: Ref, frame: Frame, facts: Facts) -> Poly:
        index = tuple(self.index(part, frame, facts) for part in node.index)
        return self.entry(node.tensor, index, frame, facts)

    def entry(self, value: Basic, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> Poly:
        """The entry of an array: a tensor's, or a comprehension's."""
        return self.unfolding.entry(value, index, frame, facts)

    def _literal(self, node: Literal, frame: Frame, facts: Facts) -> Poly:
        return self.index(node.value, frame, facts)

    def _plus(self, node: Plus, frame: Frame, facts: Facts) -> Poly:
        return self.value(node.args[0], frame, facts) + self.value(node.args[1], frame, facts)

    def _minus(self, node: Minus, frame: Frame, facts: Facts) -> Poly:
        return self.value(node.args[0], frame, facts) - self.value(node.args[1], frame, facts)

    def _negative(self, node: Negative, frame: Frame, facts: Facts) -> Poly:
        return -self.value(node.args[0], frame, facts)

    def _times(self, node: Times, frame: Frame, facts: Facts) -> Poly:
        return self.n.mul(
            self.value(node.args[0], frame, facts), self.value(node.args[1], frame, facts), facts
        )

    def _over(self, node: Over, frame: Frame, facts: Facts) -> Poly:
        top = self.value(node.args[0], frame, facts)
        return self.n.mul(top, self.reciprocal(node.args[1], frame, facts), facts)

    def reciprocal(self, node: Any, frame: Frame, facts: Facts) -> Poly:
        """1/node, the obligation that node is nonzero discharged."""
        under = self.signs.require_sign(node, NEGATIVE | POSITIVE, "≠ 0", frame, facts)
        return self.n.inverse(under, facts)

    def _power(self, node: Power, frame: Frame, facts: Facts) -> Poly:
        base, exponent = node.args
        power = self.value(exponent, frame, facts)
        constant = power.constant
        plain = isinstance(exponent, Literal) and exponent.value.is_Integer
        if (
            plain and constant is not None
        ):  # a size fixed to 1 is no exponent that is written as 1: x**n asks for 0 < x
            if constant >= 0:
                return self.n.power(self.value(base, frame, facts), int(constant), facts)
            return self.n.power(self.reciprocal(base, frame, facts), int(-constant), facts)
        positive = self.signs.require_sign(base, POSITIVE, "> 0", frame, facts)
        self.n.note("powers")
        return self.n.exp(self.n.mul(power, self.n.function("log", positive, facts), facts), facts)

    def _func(self, node: Func, frame: Frame, facts: Facts) -> Poly:
        argument = node.args[1]
        if node.name == "sqrt":
            return self.n.root(self.signs.require_sign(argument, NULL | POSITIVE, "≥ 0", frame, facts), facts)
        if node.name == "log":
            return self.n.function(
                "log", self.signs.require_sign(argument, POSITIVE, "> 0", frame, facts), facts
            )
        value = self.value(argument, frame, facts)
        if node.name == "stop":
            return derivatives.stop(self.n, value, facts)
        return self.n.exp(value, facts) if node.name == "exp" else self.n.function(node.name, value, facts)

    def _delta(self, node: Delta, frame: Frame, facts: Facts) -> Poly:
        a, b = (self.index(part, frame, facts) for part in node.args)
        if not (a - b).is_index:
            raise Unprovable(f"{self.text(node, frame)} compares something other than indices")
        return self.n.equal(a - b, facts)

    def _case(self, node: Case, frame: Frame, facts: Facts) -> Poly:
        held = self.condition(node.args[0], frame, facts)
        parts = []
        for condition, branch in ((held, node.args[1]), (ONE - held, node.args[2])):
            here = facts.assume_value(condition)
            if condition and not here.impossible:
                parts.append(self.n.mul(condition, self.read(branch, frame, here), facts))
        return total(parts)

    def _refuse_undefined(self, node: Undefined, frame: Frame, facts: Facts) -> Poly:
        raise Undischarged(
            "this case does not occur: the statement says nothing about its value",
            self.signs.describe_known(facts),
        )

    def _choice(self, node: Choice, frame: Frame, facts: Facts) -> Poly:
        return self.read(self.choose_option(node, frame), frame, facts)

    def choose_option(self, node: Choice, frame: Frame) -> Any:
        """The option that the frame's conventions pick."""
        options = {str(pair.args[0]): pair.args[1] for pair in node.args[1:]}
        return options[frame.conventions[str(node.args[0])]]

    # Binders -----------------------------------------------------------------------------------------------------------

    def within(self, at: Poly, first: Poly, last: Poly, facts: Facts) -> Facts:
        """The facts with an index in a range."""
        for gap in (at - first, last - at):
            facts = facts.assume_value(self.n.at_least_zero(gap, self.n.empty))
        return facts

    def limits(self, node: Bound, frame: Frame, facts: Facts) -> tuple[Poly, Poly]:
        """The range of a bound index, which must be one of integers."""
        first, last = self.index(node.first, frame, facts), self.index(node.last, frame, facts)
        if not (first.is_index and last.is_index):
            raise Unprovable(f"the range of {node.var} in {self.text(node, frame)} is not one of integers")
        return first, last

    def _call(self, node: Call, frame: Frame, facts: Facts) -> Poly:
        inner = self.unfolding.enter(node, frame, facts)
        index = tuple(self.index(part, frame, facts) for part in node.index)
        return self.entry(self.unfolding.output(node, inner), index, inner, facts)

    def _pullback(self, node: Pullback, frame: Frame, facts: Facts) -> Poly:
        return derivatives.pullback(self, node, frame, facts)

    def _expectation(self, node: Expectation, frame: Frame, facts: Facts) -> Poly:
        return derivatives.expectation(self, node, frame, facts)

    def condition(self, node: Any, frame: Frame, facts: Facts) -> Poly:
        """A condition as an indicator."""
        return self.conditions.condition(node, frame, facts)

    # Indices -----------------------------------------------------------------------------------------------------------

    def index(self, expr: Any, frame: Frame, facts: Facts) -> Poly:
        """Index arithmetic, or a number."""
        if isinstance(expr, Node):
            return self.value(expr, frame, facts)
        if isinstance(expr, sympy.Rational):
            return number(Fraction(int(expr.p), int(expr.q)))
        if isinstance(expr, sympy.Symbol):
            return self._symbol(expr, frame)
        if isinstance(expr, sympy.Add):
            return total(self.index(part, frame, facts) for part in expr.args)
        if isinstance(expr, sympy.Mul):
            return self.n.product([self.index(part, frame, facts) for part in expr.args], facts)
        if isinstance(expr, sympy.floor):
            over, under = sympy.fraction(sympy.together(expr.args[0]))
            if not under.is_Integer:
                self.n.note("blocks")
                width = self.index(under, frame, facts)
                if not facts.nonnegative(width - 1):
                    raise Undischarged(f"{under} ≥ 1, as a width of blocks", self.signs.describe_known(facts))
                return divide_into_blocks(self.index(over, frame, facts), width, facts)[0]
            return self.n.floor(self._quotient(expr, frame, facts))
        if isinstance(expr, sympy.ceiling):
            return -self.n.floor(-self._quotient(expr, frame, facts))
        if isinstance(expr, sympy.Pow):
            return self._power(Power(Literal(expr.base), Literal(expr.exp)), frame, facts)
        if expr == sympy.pi:
            return Atom("function", "pi").poly
        raise Unprovable(f"{expr} is no index arithmetic")

    def _quotient(self, expr: Any, frame: Frame, facts: Facts) -> Poly:
        poly = self.index(expr.args[0], frame, facts)
        if not whole(poly)[1].is_index:
            raise Unprovable(f"{expr} does not round a quotient of integers by a number")
        return poly

    def _symbol(self, symbol: sympy.Symbol, frame: Frame) -> Poly:
        if symbol in frame.symbols:
            return frame.symbols[symbol]
        if frame.strict:
            raise Unprovable(f"{symbol} is not known in {frame.where}")
        if not is_size(symbol):
            raise Unprovable(f"{symbol} is free: it is neither an index with a range nor a size")
        return self.n.size(symbol.name).poly

    def sign(self, node: Any, frame: Frame, facts: Facts) -> int:
        """The signs a tree can have."""
        return self.signs.sign(node, frame, facts)


_VALUES: dict[type, Callable[[Reader, Any, Frame, Facts], Poly]] = {
    NormalValue: lambda reader, node, frame, facts: reader.n.held[str(node.args[0])],
    Ref: Reader._ref,
    Literal: Reader._literal,
    Plus: Reader._plus,
    Minus: Reader._minus,
    Negative: Reader._negative,
    Times: Reader._times,
    Over: Reader._over,
    Power: Reader._power,
    Func: Reader._func,
    Delta: Reader._delta,
    Case: Reader._case,
    Undefined: Reader._refuse_undefined,
    Choice: Reader._choice,
    SumOf: read_sum,
    MaxOf: read_max,
    Call: Reader._call,
    Pullback: Reader._pullback,
    Expectation: Reader._expectation,
}

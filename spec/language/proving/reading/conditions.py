"""Reading conditions: from trees to indicators, polynomials that are 0 or 1."""

from __future__ import annotations

from typing import Any

from spec.language.arrays import Tensor
from spec.language.binders import AnyOf
from spec.language.expr import Always, Both, Case, Choice, Compare, Either, Not, Ref
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Unprovable
from spec.language.proving.reading.frames import Frame, Reading
from spec.language.proving.terms.polynomials import ONE, ZERO, Atom, Poly


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
            return self.condition(self.reader.chosen(node, frame), frame, facts)
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

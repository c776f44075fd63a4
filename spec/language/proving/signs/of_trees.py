"""Signs read off a tree as it is written: squares, exponentials and sums are visible there, before they are multiplied out.

What a reading requires of a sign is an obligation, and what is found is kept as a certificate of the term that is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spec.language.arrays import Tensor
from spec.language.binders import MaxOf, SumOf
from spec.language.calls import Call
from spec.language.expr import (
    Both,
    Case,
    Choice,
    Delta,
    Func,
    Literal,
    Minus,
    Negative,
    Over,
    Plus,
    Power,
    Ref,
    Times,
    lift,
)
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.frames import Frame, Reading
from spec.language.proving.signs.sets import (
    ANY_SIGN,
    NONNEGATIVE,
    NULL,
    POSITIVE,
    binder_sign,
    mirror,
    power_sign,
    product_sign,
    sum_sign,
)
from spec.language.proving.terms.polynomials import ONE, Atom, Poly
from spec.language.proving.terms.writing import condition_text


class TreeSigns:
    """The signs of trees in their frames; falls back on the sign of the term a tree denotes."""

    def __init__(self, reader: Reading) -> None:
        self.reader, self.n = reader, reader.n
        self._memo: dict[tuple[Any, Frame, Facts], int] = {}

    def sign(self, node: Any, frame: Frame, facts: Facts) -> int:
        """The signs ``node`` can have, given the facts."""
        key = (node, frame, facts)
        if key not in self._memo:
            mask = self._structure(node, frame, facts)
            if mask not in (1, 2, 4):
                value = self.reader.value(node, frame, facts)
                mask &= self.n.sign(value, facts, estimated=mask == ANY_SIGN)
            self._memo[key] = mask
        return self._memo[key]

    def _structure(self, node: Any, frame: Frame, facts: Facts) -> int:
        def of(part: Any) -> int:
            return self.sign(part, frame, facts)

        if isinstance(node, Plus | Minus):
            right = of(node.args[1])
            mask = sum_sign(of(node.args[0]), right if isinstance(node, Plus) else mirror(right))
            return self._against_one(node, of) if mask == ANY_SIGN and isinstance(node, Minus) else mask
        if isinstance(node, Negative):
            return mirror(of(node.args[0]))
        if isinstance(node, Times):
            return (
                power_sign(of(node.args[0]), 2)
                if node.args[0] == node.args[1]
                else product_sign(*map(of, node.args))
            )
        if isinstance(node, Over):
            return product_sign(of(node.args[0]), of(node.args[1]))
        if isinstance(node, Power):
            return self._power(node, frame, facts)
        if isinstance(node, Func):
            return self._function(node, frame, facts)
        if isinstance(node, Delta):
            return NONNEGATIVE
        if isinstance(node, Case):
            return self._case(node, frame, facts)
        if isinstance(node, SumOf | MaxOf):
            return self._binder(node, frame, facts)
        return self._look_up_sign(node, frame, facts)

    def _look_up_sign(self, node: Any, frame: Frame, facts: Facts) -> int:
        """The signs of what stands for something else: an option chosen, an entry, a formula applied."""
        if isinstance(node, Choice):
            return self.sign(self.reader.choose_option(node, frame), frame, facts)
        if isinstance(node, Ref):
            index = tuple(self.reader.index(part, frame, facts) for part in node.index)
            return self._entry(node.tensor, index, frame, facts)
        if isinstance(node, Call):
            inner = self.reader.unfolding.enter(node, frame, facts)
            index = tuple(self.reader.index(part, frame, facts) for part in node.index)
            return self._entry(self.reader.unfolding.output(node, inner), index, inner, facts)
        return ANY_SIGN

    def _against_one(self, node: Minus, of: Callable[[Any], int]) -> int:
        """1 - eˣ has the sign of -x, as it is written: a square in the exponent is visible there."""
        for factor, one, power in ((1, *node.args), (-1, *reversed(node.args))):
            if one == lift(1) and isinstance(power, Func) and power.name == "exp":
                mask = mirror(of(power.args[1]))
                if mask != ANY_SIGN:
                    self.n.note("monotone")
                return mask if factor > 0 else mirror(mask)
        return ANY_SIGN

    def _power(self, node: Power, frame: Frame, facts: Facts) -> int:
        """A whole power by its parity, any other only where the base is positive: what the exponent *is* decides."""
        exponent = self.reader.value(node.args[1], frame, facts).constant
        base = self.sign(node.args[0], frame, facts)
        if exponent is not None and exponent.denominator == 1:
            return power_sign(base, int(exponent)) if exponent else POSITIVE
        return POSITIVE if base == POSITIVE else ANY_SIGN

    def _function(self, node: Func, frame: Frame, facts: Facts) -> int:
        if node.name in ("exp", "sigmoid"):
            return POSITIVE
        if node.name == "sqrt":
            return POSITIVE if self.sign(node.args[1], frame, facts) == POSITIVE else NONNEGATIVE
        if node.name == "stop":
            return self.sign(node.args[1], frame, facts)
        return NONNEGATIVE if node.name == "abs" else ANY_SIGN

    def _case(self, node: Case, frame: Frame, facts: Facts) -> int:
        held = self.reader.condition(node.args[0], frame, facts)
        out = 0
        for condition, branch in ((held, node.args[1]), (ONE - held, node.args[2])):
            here = facts.assume_value(condition)
            if condition and not here.impossible:
                out |= self.sign(branch, frame, here)
        return out

    def _binder(self, node: SumOf | MaxOf, frame: Frame, facts: Facts) -> int:
        reader, n = self.reader, self.n
        symbol = n.fresh(node.var.name)
        first, last = reader.limits(node, frame, facts)
        if reader.unroll and first.constant is not None and last.constant is not None:
            return ANY_SIGN
        inner = frame.bind({node.var: symbol.poly})
        here = reader.within(symbol.poly, first, last, facts)
        condition, body = node.where, node.body
        if isinstance(node, SumOf) and isinstance(body, Case) and body.args[2] == lift(0):
            condition, body = Both(condition, body.args[0]), body.args[1]
        where = reader.condition(condition, inner, here)
        lits = (*here.added[len(facts.added) :], *split_conjunction(where))
        here = here.assume_value(where)
        if not where or here.impossible:
            return NULL
        mask = self.sign(body, inner, here)
        kind = "sum" if isinstance(node, SumOf) else "maximum"
        return binder_sign(kind, mask, lambda: facts.witness((symbol,), lits) is not None)

    def _entry(self, tensor: Tensor, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> int:
        unfolding = self.reader.unfolding
        if unfolding.is_recurrent(tensor, frame):
            return ANY_SIGN
        meaning = unfolding.find_meaning(tensor, index, frame, facts)
        if meaning is None:
            return ANY_SIGN
        out = NULL
        for condition, node, inner in meaning:  # lines that reach the same entry add up
            if isinstance(node, Tensor) or condition != ONE:
                return ANY_SIGN
            out = sum_sign(out, self.sign(node, inner, facts))
        return out

    def reason(self, node: Any) -> str:
        """Why a tree has the sign it has, in a few words."""
        if isinstance(node, SumOf):
            return "a sum of positive terms over at least one index"
        if isinstance(node, Func) and node.name == "exp":
            return "an exponential is positive"
        if isinstance(node, Func) and node.name == "sqrt":
            return "the root of a positive number"
        if isinstance(node, Literal):
            return "sizes are at least 1" if node.value.free_symbols else "a number"
        if isinstance(node, Plus):
            return "a sum of numbers that are at least 0, one of them positive"
        return "its form and the assumptions"

    # Obligations ---------------------------------------------------------------------------------------------------------

    def require_sign(self, node: Any, allowed: int, relation: str, frame: Frame, facts: Facts) -> Poly:
        """The value of a tree whose sign must be one of those allowed: an obligation."""
        self.n.note("signs")
        value = self.reader.value(node, frame, facts)
        mask = self.sign(node, frame, facts)
        if mask & ~allowed:
            mask = self.n.sign(value, facts)
        if mask & ~allowed:
            raise Undischarged(self.reader.text(node, frame, relation), self.describe_known(facts))
        self.n.ledger.record(node, relation, self.reason(node), frame.where)
        if value.constant is None:
            fewer = facts.about(value.symbols)
            enough = fewer is facts or self._suffices(fewer, node, value, mask, frame)
            self.n.certify(value, mask, fewer if enough else facts)
        return value

    def _suffices(self, facts: Facts, node: Any, value: Poly, mask: int, frame: Frame) -> bool:
        """Whether fewer facts tell as much: that the tree is this value, and that it has these signs."""
        entered = self.reader.unfolding.walk_outer_facts(frame)
        if not all(facts.decide(lit) for known in entered for lit in known.added):
            return False
        try:
            same = self.reader.value(node, frame, facts) == value
            return same and not self.sign(node, frame, facts) & ~mask
        except (Undischarged, Unprovable):
            return False

    def describe_known(self, facts: Facts) -> str:
        """What is known at a place beside ranges, as text."""
        return ", ".join(condition_text(self.n, lit) for lit in facts.added if lit.kind != "ge")


def split_conjunction(condition: Poly) -> tuple[Atom, ...]:
    """The conditions, some of them negated, whose conjunction an indicator expresses; what else it says is left out.

    Leaving a conjunct out would be wrong for a witness, so an indicator that is no such conjunction gives an impossible one.
    """
    found: list[Atom] = []
    rest = condition
    for lit in condition.conditions:
        if not rest.at(lit, False):
            found, rest = [*found, lit], rest.at(lit, True)
        elif not rest.at(lit, True):
            found, rest = [*found, Atom("not", lits=(lit,))], rest.at(lit, False)
    return tuple(found) if rest == ONE else (Atom("ge", "", (-ONE,)),)

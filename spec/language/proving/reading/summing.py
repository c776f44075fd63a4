"""Reading sums and maxima: over a range with a condition, in halves or blocks where the lines that are read ask for it."""

from __future__ import annotations

from fractions import Fraction

from spec.language.binders import Bound, MaxOf, SumOf
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.blocks import BlocksNeeded, quotient
from spec.language.proving.reading.defining import ParityNeeded
from spec.language.proving.reading.frames import Frame, Reading
from spec.language.proving.terms.polynomials import ZERO, Atom, Poly, conjuncts, number, total


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
            _sum_over(reader, node, half, half.poly.scaled(Fraction(2)) + odd, first, last, frame, facts)
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
    return reader.n.summed((block, place), lits, body, facts)


def _sum_over(
    reader: Reading, node: SumOf, symbol: Atom, at: Poly, first: Poly, last: Poly, frame: Frame, facts: Facts
) -> Poly:
    span = [reader.n.at_least_zero(gap, reader.n.empty) for gap in (at - first, last - at)]
    here = facts.assume_value(span[0]).assume_value(span[1])
    if here.impossible:
        reader.n.note("empty")
        return ZERO
    body = _term(reader, node, at, frame, here)
    return reader.n.summed((symbol,), span[0].conditions + span[1].conditions, body, facts)


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
            f"{reader.text(node, frame)} is taken over at least one index", reader.known(facts)
        )
    body = reader.value(node.body, inner, here.assume_value(where))
    return reader.n.closed("maximum", frozenset((symbol,)), lits, body)

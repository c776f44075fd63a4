"""The line that defines an entry: which lines of a formula say what stands at an index, and at which of their own indices.

A left side is solved for the line's indices: it is linear in one, ``2·i + 1``, or stands in blocks, ``i·d + c``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import sympy

from spec.language.arrays import Tensor
from spec.language.lines import Definition
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Unprovable
from spec.language.proving.reading.frames import Frame, Meaning, Reading
from spec.language.proving.terms.polynomials import ONE, UNIT, Atom, Mono, Poly


class BlocksNeeded(Unprovable):
    """Block and place in it of an index decide what an entry is: a sum over the index has to be one over both."""

    def __init__(self, symbol: Atom, width: Poly) -> None:
        self.symbol, self.width = symbol, width
        super().__init__(f"in which block of width {width} the index {symbol} lies is not known")


def quotient(poly: Poly, width: Poly) -> tuple[Poly, Poly] | None:
    """``(Q, R)`` with the polynomial equal to ``Q·width + R``: Q comes of the terms that the width's leading term divides, as in
    ``i·(m + 1) + j``. None for a width in which no one term leads.
    """
    if not width.terms:
        return None
    (mono, size), *others = sorted(width.terms.items(), key=lambda term: -_degree(term[0]))
    if others and _degree(others[0][0]) == _degree(mono):
        return None
    wanted = dict(mono.pows)
    over: dict[Mono, Fraction] = {}
    for m, c in poly.terms.items():
        pows = dict(m.pows)
        if c % size == 0 and all(pows.get(atom, 0) >= k for atom, k in wanted.items()):
            over[
                Mono(m.lits, ((a, k - wanted.get(a, 0)) for a, k in pows.items() if k > wanted.get(a, 0)))
            ] = c / size
        elif m == UNIT and mono == UNIT:
            over[UNIT] = Fraction(c // size)
    q = Poly(over)
    return q, poly - q * width


def _degree(mono: Mono) -> int:
    return sum(k for _, k in mono.pows)


def divide_into_blocks(poly: Poly, width: Poly, facts: Facts) -> tuple[Poly, Poly]:
    """The block and the place in it of an index.

    Raises:
        BlocksNeeded: the index is a symbol by itself.
        Unprovable: the place is not known to lie within a block.
    """
    found = quotient(poly, width)
    if found is not None and facts.nonnegative(found[1]) and facts.nonnegative(width - found[1] - 1):
        return found
    if poly.atom is not None and poly.atom.kind == "symbol":
        raise BlocksNeeded(poly.atom, width)
    raise Unprovable(f"in which block of width {width} the index {poly} lies is not known")


def layout(reading: Poly, inner: Atom, outer: Atom) -> tuple[Poly, Poly] | None:
    """``(width, rest)`` with the polynomial equal to ``outer·width + inner + rest``; None if it is not of this form."""
    width: dict[Mono, Fraction] = {}
    rest: dict[Mono, Fraction] = {}
    for m, c in (reading - inner.poly).terms.items():
        pows = dict(m.pows)
        if inner in m.symbols or (outer in m.symbols and pows.get(outer) != 1):
            return None
        if outer in m.symbols:
            width[Mono(m.lits, ((a, k) for a, k in pows.items() if a != outer))] = c
        else:
            rest[m] = c
    if any(outer in m.symbols for m in width):
        return None
    return Poly(width), Poly(rest)


class ParityNeeded(Exception):  # noqa: N818  (a question to the reader, not a fault)
    """An entry is defined by lines for even and odd indices, and the parity of an index is not known."""

    def __init__(self, symbol: Atom) -> None:
        self.symbol = symbol
        super().__init__(f"the parity of {symbol} decides which line defines an entry")


def by_lines(
    reader: Reading,
    tensor: Tensor,
    lines: tuple[Definition, ...],
    index: tuple[Poly, ...],
    frame: Frame,
    facts: Facts,
) -> Meaning:
    """What the lines that define a tensor say of an entry."""
    found: Meaning = []
    for line in lines:
        solution = _solve(reader, line, index, frame, facts)
        if solution is None:
            continue
        solved, reached = solution
        inner = frame.bind(solved)
        for symbol, (first, last) in line.spans.items():
            at = inner.symbols[symbol]
            for gap in (
                at - reader.index(first, inner, facts),
                reader.index(last, inner, facts) - at,
            ):
                reached = reader.n.mul(reached, reader.n.at_least_zero(gap, facts), facts)
        if reached:
            found.append((reached, line.right, inner))
    if not any(line.accumulate for line in lines):
        for number, (one, _, _) in enumerate(found):
            for other, _, _ in found[:number]:
                if (
                    reader.n.mul(one, other, facts)
                    and not facts.assume_value(one).assume_value(other).impossible
                ):
                    raise Unprovable(f"two lines of {frame.where} may define the same entry of {tensor.name}")
    return found


def _solve(
    reader: Reading, line: Definition, index: tuple[Poly, ...], frame: Frame, facts: Facts
) -> tuple[dict[sympy.Symbol, Poly], Poly] | None:
    """The line's own indices at which it defines the entry and the condition that it does; None if it never does."""
    solved: dict[sympy.Symbol, Poly] = {}
    reached = ONE
    own = {symbol: reader.n.fresh(symbol.name) for symbol in line.spans}
    for pattern, given in zip(line.left.index, index, strict=True):
        reading = reader.index(pattern, frame.bind({s: a.poly for s, a in own.items()}), facts)
        unknown = [s for s, a in own.items() if a in reading.symbols]
        if not unknown:
            reached = reader.n.mul(reached, reader.n.equal(reading - given, facts), facts)
            if not reached:
                return None
            continue
        if len(unknown) > 2:
            raise Unprovable(f"the left side {line.left} mixes more than two indices")
        if len(unknown) == 2:
            found = _in_blocks(reader, line, unknown, own, reading, given, frame, facts)
        else:
            (symbol,) = unknown
            linear = reading.linear_in(own[symbol])
            if linear is None:
                raise Unprovable(f"the left side {line.left} is not linear in its index {symbol}")
            value = _divide_index(given - linear[1], linear[0])
            if value is None:
                return None
            found = {symbol: value}
        for symbol, value in found.items():
            same = reader.n.equal(solved.setdefault(symbol, value) - value, facts)
            reached = reader.n.mul(reached, same, facts)
    return solved, reached


def _in_blocks(
    reader: Reading,
    line: Definition,
    unknown: list[sympy.Symbol],
    own: Mapping[sympy.Symbol, Atom],
    reading: Poly,
    given: Poly,
    frame: Frame,
    facts: Facts,
) -> dict[sympy.Symbol, Poly]:
    """The solution of ``outer·width + inner = given`` with inner below width: unique, as inner runs over 0 … width - 1."""
    for inner, outer in (unknown, unknown[::-1]):
        found = layout(reading, own[inner], own[outer])
        first, last = (reader.index(e, frame, facts) for e in line.spans[inner])
        if found is not None and not first and last + 1 == found[0]:
            reader.n.note("blocks")
            block, place = divide_into_blocks(given - found[1], found[0], facts)
            return {outer: block, inner: place}
    raise Unprovable(f"the left side {line.left} does not stand in blocks")


def _divide_index(poly: Poly, slope: Fraction) -> Poly | None:
    quotient = poly.scale(1 / slope)
    if quotient.is_index:
        return quotient
    fractional = [(m, c) for m, c in quotient.ordered if c.denominator != 1]
    if all(m == UNIT for m, _ in fractional):  # a look-up without an index may be divisible like any other
        return None
    for mono, _ in fractional:
        for atom in mono.atoms:
            if atom.kind == "symbol" and slope in (2, -2):
                raise ParityNeeded(atom)
    raise Unprovable(f"whether {poly} is divisible by {slope} is not known")

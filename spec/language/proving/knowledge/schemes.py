"""What is known for all values of some indices: an induction's hypothesis, what it has shown, an assumption "for every c".

An equation about a state is used as a rewriting of it (:class:`Lemma`), an inequality as the sign of a difference
(:class:`Scheme`). Either holds only where its indices are in range and its condition holds; that is decided at the place of use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal, Scheme
from spec.language.proving.signs.sets import ANY_SIGN, mirror
from spec.language.proving.terms.polynomials import Atom, Poly, parts_of, whole

MOST_CHOICES = 64
"""How many choices of symbols for the indices of a scheme are tried."""


@dataclass(frozen=True)
class Lemma:
    """A state equals a term, for all values of the variables at which the conditions hold."""

    state: Atom
    value: Poly
    variables: tuple[Atom, ...]
    lits: tuple[Atom, ...]

    def apply(self, n: Normal, atom: Atom, facts: Facts) -> Poly | None:
        """What the lemma says of a state; None where it says nothing."""
        if atom.name != self.state.name:
            return None
        values = self._match(n, atom, facts)
        if values is None:
            return None
        if not all(facts.shows(n.condition_at(lit, values, facts)) for lit in self.lits):
            return None
        n.note("hypothesis")
        return n.replace_symbols(self.value, values, facts)

    def _match(self, n: Normal, atom: Atom, facts: Facts) -> dict[Atom, Poly] | None:
        rank = n.states[atom.name].rank
        values: dict[Atom, Poly] = {}
        for pattern, given in zip(self.state.args[:rank], atom.args[:rank], strict=True):
            open_ = [v for v in self.variables if v in pattern.symbols and v not in values]
            if len(open_) == 1:
                linear = n.replace_symbols(pattern, values, n.empty).linear_in(open_[0])
                if linear is None or abs(linear[0]) != 1:
                    return None
                values[open_[0]] = (given - linear[1]).scale(linear[0])
        open_ = [v for v in self.variables if v not in values]
        for more in _choices(n, open_, atom.poly):  # indices that occur in the inputs only
            if self._agrees(n, atom, rank, values | more, facts):
                return values | more
        return None

    def _agrees(self, n: Normal, atom: Atom, rank: int, values: dict[Atom, Poly], facts: Facts) -> bool:
        for place, (pattern, given) in enumerate(zip(self.state.args, atom.args, strict=True)):
            own = n.replace_symbols(pattern, values, facts)
            if not (facts.same_index(own, given) if place < rank else own == given):
                return False
        return True


def sign_by(scheme: Scheme, n: Normal, poly: Poly, facts: Facts) -> int:
    """What the scheme says of the sign of a term that is one of its instances, up to a positive factor."""
    if not scheme.names <= {a.name for a in parts_of(poly)}:
        return ANY_SIGN
    goal = whole(poly)[1]
    for values in _choices(n, scheme.variables, poly):
        own = whole(n.replace_symbols(scheme.poly, values, facts))[1]
        if own not in (goal, -goal):
            continue
        if all(facts.shows(n.condition_at(lit, values, facts)) for lit in scheme.lits):
            n.note("hypothesis")
            return scheme.mask if own == goal else mirror(scheme.mask)
    return ANY_SIGN


def _choices(n: Normal, variables: Sequence[Atom], poly: Poly) -> Iterator[dict[Atom, Poly]]:
    """Symbols of a term, sizes apart, for variables, in every way."""
    symbols = sorted((s for s in poly.symbols if not n.is_size(s)), key=lambda s: s.key)
    for chosen in islice(product(symbols, repeat=len(variables)), MOST_CHOICES):
        yield dict(zip(variables, (s.poly for s in chosen), strict=True))

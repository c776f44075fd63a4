"""What was found out about signs in one proof: answers under the same facts, and certificates that hold wherever theirs do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.signs.of_terms import sign
from spec.language.proving.signs.sets import ANY_SIGN, mirror
from spec.language.proving.terms.polynomials import Atom, Poly

if TYPE_CHECKING:
    from spec.language.proving.rules.normal import Normal

MOST_CERTIFICATES = 12
"""How many certificates are kept for a term: it may have been read in several places."""

Certificate = tuple[int, tuple[Atom, ...]]
"""Signs, and the conditions under which a term has them: all that were known where it was found out."""


class Signs:
    """Signs of terms, each asked once under the same facts."""

    def __init__(self, normal: Normal) -> None:
        self.n = normal
        self._found: dict[tuple[Facts, str], int] = {}
        self._open: dict[
            tuple[Facts, str], int
        ] = {}  # what could not be told, and how many certificates there were
        self._certificates: dict[str, list[Certificate]] = {}
        self._certified = self._circles = 0  # certificates so far; questions that came back to themselves

    def of(self, poly: Poly, facts: Facts) -> int:
        """The signs that a polynomial can have.

        A question that comes back to itself stays open, and so does one that estimates are not allowed to go deeper for.
        """
        place, limits = (facts, poly.key), self.n.limits
        found = self._found.get(place)
        if found is not None:
            self._circles += found == ANY_SIGN
            return found
        if self._open.get(place) == self._certified:
            return ANY_SIGN
        left_out = limits.left_out("estimate", "step")
        self._found[place], circles = ANY_SIGN, self._circles
        found = self._found[place] = sign(self.n, poly, facts)
        if found == ANY_SIGN:
            del self._found[place]  # a certificate may decide it later
            if self._circles == circles and limits.left_out("estimate", "step") == left_out:
                self._open[place] = self._certified
        return found

    def certify(self, poly: Poly, mask: int, lits: tuple[Atom, ...], facts: Facts) -> None:
        """Remember that a polynomial has these signs wherever the conditions hold."""
        for factor, prim in self.n.oriented(poly, facts):
            held = mask if factor > 0 else mirror(mask)
            known = self._certificates.setdefault(prim.key, [])
            says_as_much = (not signs & ~held and set(fewer) <= set(lits) for signs, fewer in known)
            if len(known) < MOST_CERTIFICATES and not any(says_as_much):
                known.append((held, lits))
                self._certified += 1

    def certificates(self, key: str) -> tuple[Certificate, ...]:
        """The certificates of a term."""
        return tuple(self._certificates.get(key, ()))


__all__ = ["Signs"]

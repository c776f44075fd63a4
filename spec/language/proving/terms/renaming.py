"""Bound symbols given other names: the same term, letter for letter, so that nothing in it need be decided again.

The new names must be fresh: then the term denotes what it did, different terms stay different, and no name is captured.
"""

from __future__ import annotations

from collections.abc import Mapping

from spec.language.proving.terms.polynomials import Atom, Mono, Poly

Names = Mapping[Atom, Atom]
"""Fresh symbols, one for each symbol that is renamed."""


def renamed(poly: Poly, names: Names) -> Poly:
    """A polynomial with fresh names for some of its free symbols."""
    if names.keys().isdisjoint(poly.symbols):
        return poly
    return Poly.of({_renamed_mono(mono, names): c for mono, c in poly.terms.items()})


def renamed_atom(atom: Atom, names: Names) -> Atom:
    """An atom with fresh names for some of its free symbols."""
    if names.keys().isdisjoint(atom.symbols):
        return atom
    if atom.kind == "symbol":
        return names[atom]
    if not names.keys().isdisjoint(atom.bound):  # bound anew inside, a name means another index there
        names = {symbol: name for symbol, name in names.items() if symbol not in atom.bound}
    args = tuple(renamed(arg, names) for arg in atom.args)
    lits = tuple(renamed_atom(lit, names) for lit in atom.lits)
    ordered = tuple(sorted(lits, key=lambda lit: lit.key))
    body = None if atom.body is None else renamed(atom.body, names)
    return Atom(atom.kind, atom.name, args, atom.bound, ordered, body)


def _renamed_mono(mono: Mono, names: Names) -> Mono:
    if names.keys().isdisjoint(mono.symbols):
        return mono
    return Mono(
        (renamed_atom(lit, names) for lit in mono.lits),
        ((renamed_atom(atom, names), k) for atom, k in mono.pows),
        None if mono.exponent is None else renamed(mono.exponent, names),
    )


__all__ = ["renamed", "renamed_atom"]

"""Products reduced: sin² = 1 - cos², √x√x = x, x·(1/x) = 1 where x ≠ 0 is known, conditions that others imply dropped."""

from __future__ import annotations

from collections.abc import Mapping

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.sets import NULL, POSITIVE
from spec.language.proving.terms.polynomials import ZERO, Atom, Mono, Poly, of_mono


def settle(n: Normal, mono: Mono, facts: Facts) -> Poly:
    """A product of atoms, reduced: sin² = 1 - cos², √x√x = x, x·(1/x) = 1, conditions that others imply dropped."""
    pows = dict(mono.pows)

    def without(*changes: tuple[Atom, int]) -> Mono:
        rest = dict(pows)
        for atom, k in changes:
            rest[atom] = rest.get(atom, 0) - k
        return Mono(mono.lits, ((a, k) for a, k in rest.items() if k), mono.exponent)

    for atom, k in mono.pows:
        if atom.kind == "function" and atom.name == "sin" and k >= 2:
            n.note("pythagoras")
            cosine = Atom("function", "cos", atom.args)
            fewer = without((atom, 2))
            return settle(n, fewer, facts) - settle(n, fewer.times(Mono((), ((cosine, 2),))), facts)
        if atom.kind not in ("root", "inverse", "inverse_root"):
            continue
        inner = facts.assume_all(mono.lits)
        value = atom.args[0]
        if atom.kind in ("root", "inverse_root") and k >= 2 and not n.sign(value, inner) & ~(POSITIVE | NULL):
            n.note("roots")
            square = value if atom.kind == "root" else n.inverse(value, inner)
            return n.mul(of_mono(without((atom, 2))), square, facts)
        partner, result = _partner(atom, pows)
        if partner is None:
            continue
        mask = n.sign(value, inner)
        if result is None:
            if not mask & NULL and (atom.kind != "inverse_root" or mask == POSITIVE):
                n.note("cancel")
                n.cancelled(value)
                return settle(n, without((atom, 1), (partner, 1)), facts)
        elif not mask & ~(POSITIVE | NULL):
            n.note("roots")
            rest = without((atom, 1), (partner, 1))
            return settle(n, rest.times(Mono((), ((result, 1),))), facts)
    return _absorbed(n, mono, facts)


def _partner(atom: Atom, pows: Mapping[Atom, int]) -> tuple[Atom | None, Atom | None]:
    """A factor that reduces against a root or reciprocal, and what the two become (None: they cancel)."""
    base = atom.args[0].atom
    if atom.kind == "inverse":
        if base is not None and base in pows:
            return base, None
        root = Atom("root", "", atom.args)
        return (root, Atom("inverse_root", "", atom.args)) if root in pows else (None, None)
    if atom.kind == "inverse_root":
        root = Atom("root", "", atom.args)
        if root in pows:
            return root, None
        if base is not None and base in pows:
            return base, root
    return None, None


def _absorbed(n: Normal, mono: Mono, facts: Facts) -> Poly:
    """Drop conditions that others, or the indices of a sum that is a factor, imply; 0 where they contradict."""
    if not mono.lits:
        return of_mono(mono)
    lits = list(mono.lits)
    sums_ = [a for a in mono.atoms if a.kind == "sum"]
    if len(lits) == 1 and not sums_:
        return of_mono(mono)
    for lit in sorted(mono.lits, key=lambda x: (x.kind != "any", -len(x.key), x.key)):
        others = facts.assume_all(x for x in lits if x != lit)
        held = others.decide(lit)
        if held is False:
            return ZERO
        for atom in sums_ if held is None else ():
            _, inner, _ = n.opened(atom)
            held = held or others.assume_all(inner).decide(lit)
        if held:
            n.note("decided")
            lits.remove(lit)
    return of_mono(mono if len(lits) == len(mono.lits) else Mono(lits, mono.pows, mono.exponent))

"""Replacement inside terms: index symbols, entries of tensors, or everything read again under other facts.

Terms are rebuilt from their atoms up, so that what a replacement makes possible is done: conditions are decided, deltas collapse,
angles are added. Bound symbols are renamed apart first; nothing is captured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal
from spec.language.proving.terms.polynomials import ONE, ZERO, Atom, Poly, conjuncts, total

Leaf = Callable[[Atom, "Facts"], Poly]


def apply_by_cases(n: Normal, state: Atom, facts: Facts, leaf: Leaf) -> Poly:
    """f(χ·a + (1 − χ)·b) = χ·f(a) + (1 − χ)·f(b) for each condition χ that is the same for all entries of an input."""
    lit = _common(n, state) if n.states[state.name].kept else None
    if lit is None:
        return leaf(state, facts)
    n.note("cases")
    yes, no = (
        apply_by_cases(n, _decide_entries(n, state, lit, holds), facts.assume(lit, holds), leaf)
        for holds in (True, False)
    )
    return n.mul(lit.poly, yes - no, facts) + no


def _common(n: Normal, state: Atom) -> Atom | None:
    """A condition in an entry of an input that does not depend on which entry it is."""
    rank = n.states[state.name].rank
    for argument in state.args[rank:]:
        array = argument.atom
        body = argument if array is None or array.kind != "array" else array.body
        bound = frozenset(() if array is None else array.bound)
        for lit in () if body is None else body.conditions:
            if not lit.symbols & bound:
                return lit
    return None


def _decide_entries(n: Normal, state: Atom, lit: Atom, holds: bool) -> Atom:
    args = []
    for argument in state.args:
        array = argument.atom
        if array is None or array.kind != "array" or array.body is None:
            args.append(argument.at(lit, holds))
        elif lit in array.body.conditions:
            bound, lits, _ = n.unbind(array)
            names = {name: symbol.poly for name, symbol in zip(array.bound, bound, strict=True)}
            args.append(
                n.bind_array(bound, lits, n.replace_symbols(array.body.at(lit, holds), names, n.empty))
            )
        else:
            args.append(argument)
    return Atom("state", state.name, tuple(args))


@dataclass
class Change:
    """A replacement: symbols by index terms, entries of named tensors by functions of their indices, elementary functions by
    what they are at a value, states by others.

    ``states`` gives None for a state that stays; ``into_arrays`` tells whether the inputs of states are changed, too.
    """

    symbols: Mapping[Atom, Poly] = field(default_factory=dict)
    entries: Mapping[str, Callable[[tuple[Poly, ...], Facts], Poly]] = field(default_factory=dict)
    atoms: Mapping[str, Poly] = field(default_factory=dict)
    functions: Mapping[str, Callable[[Poly, Facts], Poly]] = field(default_factory=dict)
    again: bool = False
    states: Callable[[Atom, Facts], Poly | None] | None = None
    into_arrays: bool = True

    def state(self, atom: Atom, facts: Facts) -> Poly:
        """What a state becomes."""
        found = None if self.states is None else self.states(atom, facts)
        return atom.poly if found is None else found

    def leaves(self, atom: Atom) -> bool:
        """Whether the atom cannot be affected."""
        if self.again or self.entries or self.atoms or self.functions:
            return False
        if not atom.symbols.isdisjoint(self.symbols):
            return False
        return self.states is None or "state" not in atom.key  # a state's key begins with the word


def rebuild(n: Normal, poly: Poly, change: Change, facts: Facts) -> Poly:
    """The polynomial after a change, in normal form under the facts."""
    parts = []
    for mono, c in poly.ordered:
        # A condition is never multiplied under facts that already contain it: it would be dropped as implied.
        out, here = ONE, facts
        for lit in mono.lits:
            held = lit.poly if change.leaves(lit) else rebuild_condition(n, lit, change, here)
            out = held if out is ONE else n.mul(out, held, facts)
            here = here.assume_value(held)
        for atom, k in mono.pows:
            value = atom.poly if change.leaves(atom) else rebuild_atom(n, atom, change, here)
            factor = value if k == 1 else n.power(value, k, here)
            out = factor if out is ONE else n.mul(out, factor, facts)
        if mono.exponent is not None:
            out = n.mul(out, n.exp(rebuild(n, mono.exponent, change, here), here), facts)
        parts.append(out.scale(c))
    return total(parts)


def rebuild_atom(n: Normal, atom: Atom, change: Change, facts: Facts) -> Poly:
    """An atom after a change."""
    n.limits.rewrites()
    if atom.key in change.atoms:
        return change.atoms[atom.key]
    kind = atom.kind
    if kind == "symbol":
        return change.symbols.get(atom, atom.poly)
    if kind in ("sum", "maximum"):
        return _rebuild_binder(n, atom, change, facts)
    if kind == "array":
        return _rebuild_array(n, atom, change, facts) if change.into_arrays else atom.poly
    args = tuple(rebuild(n, arg, change, facts) for arg in atom.args)
    if kind in ("entry", "look_up"):
        replaced = change.entries.get(atom.name)
        return n.entry(atom.name, args) if replaced is None else replaced(args, facts)
    if kind == "floor":
        return n.floor(args[0])
    if kind == "state":
        return apply_by_cases(n, Atom("state", atom.name, args), facts, change.state)
    if kind == "function" and atom.name in change.functions:
        return change.functions[atom.name](args[0], facts)
    _transfer(n, atom, change, args[0] if args else ZERO, facts)
    return _rebuild_function(n, atom, args, facts)


def _rebuild_function(n: Normal, atom: Atom, args: tuple[Poly, ...], facts: Facts) -> Poly:
    """A function of a term that has changed."""
    if atom.kind == "inverse":
        return n.inverse(args[0], facts)
    if atom.kind == "root":
        return n.root(args[0], facts)
    if atom.kind == "inverse_root":
        return n.inverse(n.root(args[0], facts), facts)
    return n.function(atom.name, args[0], facts) if args else atom.poly


def _rebuild_binder(n: Normal, atom: Atom, change: Change, facts: Facts) -> Poly:
    """A sum or a maximum after a change."""
    bound, lits, body = n.unbind(atom)
    out, here = ONE, facts
    for lit in lits:
        held = rebuild_condition(n, lit, change, facts)
        out, here = n.mul(out, held, facts), here.assume_value(held)
    body = rebuild(n, body, change, here)
    if atom.kind == "sum":
        return n.sum_over(bound, (), n.mul(out, body, facts), facts)
    return n.largest(bound, conjuncts(out), body, facts) if out else ZERO


def _rebuild_array(n: Normal, atom: Atom, change: Change, facts: Facts) -> Poly:
    """An array after a change: its range, then its entry within the range."""
    entry = None if atom.body is None else atom.body.atom
    plain = entry is not None and entry.kind == "entry" and not change.entries and not change.atoms
    if plain and not any(s in atom.symbols for s in change.symbols):
        return atom.poly  # other facts change nothing about a tensor as it is
    bound, lits, body = n.unbind(atom)
    kept: list[Atom] = []
    for lit in lits:
        held = rebuild_condition(n, lit, change, n.empty)
        kept += conjuncts(held) if held else (lit,)
    return n.bind_array(bound, kept, rebuild(n, body, change, facts.assume_all(kept)))


def _transfer(n: Normal, atom: Atom, change: Change, new: Poly, facts: Facts) -> None:
    """Certificates of a term hold for what it becomes: they are statements for all values of its symbols.

    They hold where the conditions do, changed like the term, and where the facts hold under which it was changed.
    """
    if not atom.args or change.atoms or not all(set("~‹") & set(s.name) for s in change.symbols):
        return
    value = atom.args[0]
    held = n.signs.certificates(value.key)
    if not held or new == value or (1, value) not in n.find_orientations(value, facts):
        return
    fewer = facts.about(new.symbols)
    if fewer is not facts and rebuild(n, value, change, fewer) == new:
        facts = fewer
    for mask, lits in tuple(held):
        changed = [rebuild_condition(n, lit, change, n.empty) for lit in lits]
        if all(len(c.terms) == 1 for c in changed):  # none fails, and each is a condition again
            n.certify(new, mask, facts, tuple(x for c in changed for x in conjuncts(c)))


def negate(condition: Poly) -> Poly:
    """The indicator of the opposite: a single condition's negation is one again, that of a conjunction is none."""
    lits = condition.conditions
    if len(lits) != 1 or condition != lits[0].poly:
        return ONE - condition
    return lits[0].lits[0].poly if lits[0].kind == "not" else Atom("not", lits=lits).poly


def rebuild_condition(n: Normal, lit: Atom, change: Change, facts: Facts) -> Poly:
    """A condition after a change, as an indicator."""
    if change.leaves(lit):
        return lit.poly
    if lit.kind == "not":
        return negate(rebuild_condition(n, lit.lits[0], change, facts))
    if lit.kind == "any":
        bound, lits, _ = n.unbind(lit)
        return n.exists(bound, [rebuild_condition(n, x, change, n.empty) for x in lits], facts)
    args = tuple(rebuild(n, arg, change, facts) for arg in lit.args)
    if lit.kind == "ge":
        return n.at_least_zero(args[0], facts)
    if lit.kind == "eq":
        return n.equal(args[0], facts)
    if lit.kind == "positive":
        return n.above_zero(args[0], facts)
    if lit.name in change.entries:
        return change.entries[lit.name](args, facts)
    return n.decide_condition(Atom("bool", lit.name, args), facts)

"""A formula that is kept, as a term: what it is applied to is split by the conditions that the whole of an input stands under."""

from __future__ import annotations

from collections.abc import Callable

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.normal import Normal
from spec.language.proving.terms.polynomials import Atom, Poly

Leaf = Callable[[Atom, "Facts"], Poly]


def applied(n: Normal, state: Atom, facts: Facts, leaf: Leaf) -> Poly:
    """f(χ·a + (1 − χ)·b) = χ·f(a) + (1 − χ)·f(b) for each condition χ that is the same for all entries of an input."""
    lit = _common(n, state) if n.states[state.name].kept else None
    if lit is None:
        return leaf(state, facts)
    n.note("cases")
    yes, no = (
        applied(n, _decided(n, state, lit, holds), facts.assume(lit, holds), leaf) for holds in (True, False)
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


def _decided(n: Normal, state: Atom, lit: Atom, holds: bool) -> Atom:
    args = []
    for argument in state.args:
        array = argument.atom
        if array is None or array.kind != "array" or array.body is None:
            args.append(argument.at(lit, holds))
        elif lit in array.body.conditions:
            bound, lits, _ = n.opened(array)
            names = {name: symbol.poly for name, symbol in zip(array.bound, bound, strict=True)}
            args.append(n.listed(bound, lits, n.replaced(array.body.at(lit, holds), names, n.empty)))
        else:
            args.append(argument)
    return Atom("state", state.name, tuple(args))


__all__ = ["applied"]

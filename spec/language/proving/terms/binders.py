"""Binders: opening them with fresh symbols, and closing them with canonical names.

Bound symbols are named by nesting height, choosing the least form over their permutations and shifts; so two binders are equal
exactly when their keys are, and an inner name can never capture an outer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import islice, permutations, product

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Unprovable
from spec.language.proving.rules.normal import Normal
from spec.language.proving.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, conjuncts, of_mono, parts_of
from spec.language.proving.terms.replacing import Change, rebuild, rebuild_condition

Names = Mapping[Atom, Atom]
"""Fresh symbols, one for each symbol that is renamed."""


def rename_symbols(poly: Poly, names: Names) -> Poly:
    """A polynomial with fresh names for some of its free symbols."""
    if names.keys().isdisjoint(poly.symbols):
        return poly
    return Poly.of({_rename_mono(mono, names): c for mono, c in poly.terms.items()})


def rename_atom(atom: Atom, names: Names) -> Atom:
    """An atom with fresh names for some of its free symbols."""
    if names.keys().isdisjoint(atom.symbols):
        return atom
    if atom.kind == "symbol":
        return names[atom]
    if not names.keys().isdisjoint(atom.bound):  # bound anew inside, a name means another index there
        names = {symbol: name for symbol, name in names.items() if symbol not in atom.bound}
    args = tuple(rename_symbols(arg, names) for arg in atom.args)
    lits = tuple(rename_atom(lit, names) for lit in atom.lits)
    ordered = tuple(sorted(lits, key=lambda lit: lit.key))
    body = None if atom.body is None else rename_symbols(atom.body, names)
    return Atom(atom.kind, atom.name, args, atom.bound, ordered, body)


def _rename_mono(mono: Mono, names: Names) -> Mono:
    if names.keys().isdisjoint(mono.symbols):
        return mono
    return Mono(
        (rename_atom(lit, names) for lit in mono.lits),
        ((rename_atom(atom, names), k) for atom, k in mono.pows),
        None if mono.exponent is None else rename_symbols(mono.exponent, names),
    )


Moves = dict[Atom, tuple[int, Poly]]
"""For each bound symbol u the slope ±1 and the offset e of its replacement ±u + e."""

MOST_MOVES = 128
"""How many moves of the bound symbols are compared at most when a binder is closed."""

MOST_ORDERS = 5040
"""How many orders of bound symbols are compared at most when a binder is closed."""


def open_binder(n: Normal, atom: Atom, mark: str = "~") -> tuple[tuple[Atom, ...], tuple[Atom, ...], Poly]:
    """The bound symbols, renamed to fresh ones, with conditions and body."""
    names = {v: n.fresh("k", mark) for v in atom.bound}
    lits = tuple(rename_atom(lit, names) for lit in atom.lits)
    body = ONE if atom.body is None else rename_symbols(atom.body, names)
    return tuple(names.values()), lits, body


def close_binder(n: Normal, kind: str, symbols: frozenset[Atom], lits: Iterable[Atom], body: Poly) -> Poly:
    """A binder with canonical names for its bound symbols: the least over their permutations, shifts and reflections."""
    lits = tuple(lits)
    height = 1 + _height(lits, body)
    n.note("rename")
    names = sorted(symbols, key=lambda s: s.key)
    still: Moves = dict.fromkeys(names, (1, ZERO))
    best: Poly | None = None
    for choice in islice(product(*(list(_moves_of(s, lits, body)) for s in names)), MOST_MOVES):
        moves = dict(zip(names, choice, strict=True))
        found = _least(n, kind, moves, height, lits, body) if _one_to_one(moves) else None
        if found is not None and (best is None or _rank(found) < _rank(best)):
            best, chosen = found, moves
    if best is None:  # every move took the body apart: leave the bound symbols where they are
        best, chosen = _least(n, kind, still, height, lits, body), still
    if best is None:
        raise Unprovable("a sum could not be brought to normal form")
    if chosen != still:
        n.note("shift")
    return best


def bind_array(n: Normal, symbols: tuple[Atom, ...], lits: Iterable[Atom], body: Poly) -> Poly:
    """An array by its entry at symbols in a range, in their order; the entry itself where there are none."""
    lits = tuple(lits)
    if not symbols:
        return body
    found = _name_canonically(n, "array", symbols, 1 + _height(lits, body), lits, body)
    assert found is not None
    return found


def _rank(poly: Poly) -> tuple[int, str]:
    return len(poly.key), poly.key


def _one_to_one(moves: Moves) -> bool:
    """Whether moves by other bound symbols are one to one: only by symbols that are not so moved themselves."""
    moved = frozenset(s for s, (_, offset) in moves.items() if offset.symbols & moves.keys())
    return not any(offset.symbols & moved for _, offset in moves.values())


def _least(
    n: Normal, kind: str, moves: Moves, height: int, lits: tuple[Atom, ...], body: Poly
) -> Poly | None:
    """The least closed form after a move, over the orders of the bound symbols; None if it is no single term."""
    symbols = frozenset(moves)
    plain = {
        s: s.poly * slope + offset for s, (slope, offset) in moves.items() if not offset.symbols & symbols
    }
    sheared = {
        s: s.poly * slope + n.replace_symbols(offset, plain, n.empty)
        for s, (slope, offset) in moves.items()
        if s not in plain
    }
    change = Change(symbols=plain | sheared)
    if any(change.symbols[s] != s.poly for s in symbols):
        lits = tuple(x for lit in lits for x in conjuncts(rebuild_condition(n, lit, change, n.empty)))
        body = rebuild(n, body, change, n.empty)
    forms = [
        _name_canonically(n, kind, order, height, lits, body) for order in _orders(n, symbols, lits, body)
    ]
    return min((form for form in forms if form is not None), key=_rank, default=None)


def _name_canonically(
    n: Normal, kind: str, order: tuple[Atom, ...], height: int, lits: tuple[Atom, ...], body: Poly
) -> Poly | None:
    names = tuple(Atom("symbol", f"‹{height}.{rank}›") for rank in range(len(order)))
    change = Change(symbols={s: name.poly for s, name in zip(order, names, strict=True)})
    new_lits: list[Atom] = []
    for lit in lits:
        new_lits += conjuncts(rebuild_condition(n, lit, change, n.empty))
    new_body = rebuild(n, body, change, n.empty)
    factor = Fraction(1)
    if kind == "sum":
        if len(new_body.terms) != 1:
            return None
        (mono, factor), *_ = new_body.terms.items()
        new_lits += mono.lits
        new_body = of_mono(mono.without_conditions())
    ordered = tuple(sorted(set(new_lits), key=lambda x: x.key))
    return Atom(kind, "", (), names, ordered, None if kind == "any" else new_body).poly.scale(factor)


def _height(lits: Iterable[Atom], body: Poly) -> int:
    inside = [a for a in parts_of(body) if a.bound]
    for lit in lits:
        inside += [a for a in parts_of(lit.poly) if a.bound]
    return max((int(a.bound[0].name.strip("‹›").split(".")[0]) for a in inside), default=0)


def _moves_of(symbol: Atom, lits: tuple[Atom, ...], body: Poly) -> Iterator[tuple[int, Poly]]:
    """Moves u → ±u + e after which an index of an entry is u itself; for want of one, shifts after which u ≥ 0 bounds it."""
    for places in (_entry_places(symbol, lits, body), _bound_places(symbol, lits)):
        seen: set[tuple[int, str]] = set()
        for poly in places:
            linear = poly.linear_in(symbol)
            if linear is None or abs(linear[0]) != 1 or not linear[1].is_index:
                continue
            slope = int(linear[0])
            offset = linear[1] * -slope
            if (slope, offset.key) not in seen:
                seen.add((slope, offset.key))
                yield slope, offset
        if seen:
            return
    yield 1, ZERO


def _bound_places(symbol: Atom, lits: tuple[Atom, ...]) -> Iterator[Poly]:
    for lit in lits:
        linear = lit.args[0].linear_in(symbol) if lit.kind == "ge" and symbol in lit.symbols else None
        if linear is not None and linear[0] == 1:
            yield lit.args[0]


def _entry_places(symbol: Atom, lits: tuple[Atom, ...], body: Poly) -> Iterator[Poly]:
    for whole in (body, *(lit.poly for lit in lits if lit.kind != "ge")):
        for atom in parts_of(whole):
            if atom.kind in ("entry", "look_up", "bool", "state"):
                for arg in atom.args:
                    if symbol in arg.symbols:
                        yield arg


def _orders(
    n: Normal, symbols: frozenset[Atom], lits: tuple[Atom, ...], body: Poly
) -> Iterator[tuple[Atom, ...]]:
    """Orders of the bound symbols worth comparing: symbols that play different parts keep a fixed order."""
    names = sorted(symbols, key=lambda s: s.key)
    if len(names) == 1:
        yield tuple(names)
        return
    parts: dict[Atom, list[str]] = {symbol: [] for symbol in names}
    for lit in lits:
        _note_atom(lit, symbols, "?", parts)
    _note_parts(body, symbols, "", parts)
    roles: dict[str, list[Atom]] = {}
    for symbol in names:
        roles.setdefault("|".join(sorted(parts[symbol])), []).append(symbol)
    mark, other = Atom("symbol", "‹0.mark›"), Atom("symbol", "‹0.other›")
    signatures: dict[str, list[Atom]] = {}
    for role, alike in roles.items():
        for symbol in alike:
            signature = role
            if len(alike) > 1:
                change = Change(symbols={s: (mark if s == symbol else other).poly for s in names})
                keys = sorted(rebuild_condition(n, lit, change, n.empty).key for lit in lits)
                signature = "|".join((role, *keys, rebuild(n, body, change, n.empty).key))
            signatures.setdefault(signature, []).append(symbol)
    groups = [signatures[key] for key in sorted(signatures)]
    for count, orders in enumerate(product(*(permutations(group) for group in groups))):
        if count >= MOST_ORDERS:
            return
        yield tuple(s for group in orders for s in group)


def _note_parts(poly: Poly, symbols: frozenset[Atom], path: str, found: dict[Atom, list[str]]) -> None:
    """Note for each symbol the paths to its occurrences, which no renaming changes (nor, as signs are left out, reorients)."""
    for mono, c in poly.terms.items():
        if mono.symbols & symbols:
            here = f"{path}+{abs(c)}"
            for lit in mono.lits:
                _note_atom(lit, symbols, f"{here}?", found)
            for atom, power in mono.pows:
                _note_atom(atom, symbols, f"{here}^{power}", found)
            if mono.exponent is not None:
                _note_parts(mono.exponent, symbols, f"{here}e", found)


def _note_atom(atom: Atom, symbols: frozenset[Atom], path: str, found: dict[Atom, list[str]]) -> None:
    if atom in found:
        found[atom].append(path)
    elif atom.symbols & symbols:
        here = f"{path}{atom.kind}{atom.name}"
        for place, arg in enumerate(atom.args):
            _note_parts(arg, symbols, f"{here}.{place}", found)
        for lit in atom.lits:
            _note_atom(lit, symbols, f"{here}|", found)
        if atom.body is not None:
            _note_parts(atom.body, symbols, f"{here}:", found)


def exists(n: Normal, bound: Iterable[Atom], conditions: list[Poly], facts: Facts) -> Poly:
    """The indicator that conditions hold for some values of the bound symbols."""
    if ZERO in conditions:
        return ZERO
    symbols = frozenset(bound)
    lits = [x for c in conditions for x in conjuncts(c)]
    free = [x for x in lits if x.kind != "not" and not x.symbols & symbols]
    (atom, *_), *_ = [
        m.lits for m in close_binder(n, "any", symbols, [x for x in lits if x not in free], ONE).terms
    ]
    return n.product([n.decide_condition(atom, facts), *(x.poly for x in free)], facts)

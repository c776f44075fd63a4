"""Sums in normal form, and replacement inside terms.

A sum is kept as a set of bound symbols, the conditions on them (the range among them) and one monomial. Bringing it there
uses, in this order: nested sums that depend on a bound index are merged with it; Kronecker deltas collapse; conditions that
the others imply are dropped; a permuted index is replaced by the index itself; what does not depend on the bound indices is
taken out; factors that share no bound index become separate sums; Σ 1 becomes the number of terms. What is left is closed:
bound symbols are named by nesting height, choosing the least form over their permutations and shifts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import permutations, product
from typing import TYPE_CHECKING

from spec.language.obligations import Unprovable
from spec.language.terms import ONE, UNIT, ZERO, Atom, Mono, Poly, inside, number, of_mono, parts_of, total

if TYPE_CHECKING:
    from spec.language.facts import Facts
    from spec.language.normal import Change, Normal

MOST_ORDERS = 5040
"""How many orders of bound symbols are compared at most when a sum is closed."""


def conjuncts(condition: Poly) -> tuple[Atom, ...]:
    """The conditions whose product an indicator is."""
    (mono, c), *rest = condition.terms.items()
    if rest or c != 1 or mono.pows or mono.exponent is not None:
        raise Unprovable(f"{condition} is not a conjunction of conditions")
    return mono.lits


def opened(n: Normal, atom: Atom, mark: str = "~") -> tuple[tuple[Atom, ...], tuple[Atom, ...], Poly]:
    """The bound symbols, renamed to fresh ones, with conditions and body."""
    from spec.language.normal import Change

    names = {v: n.fresh("k", mark) for v in atom.bound}
    change = Change(symbols={v: f.poly for v, f in names.items()})
    lits = tuple(x for lit in atom.lits for x in conjuncts(rebuild_condition(n, lit, change, n.empty)))
    body = ONE if atom.body is None else rebuild(n, atom.body, change, n.empty)
    return tuple(names.values()), lits, body


# Summation ----------------------------------------------------------------------------------------------------------------


def summed(n: Normal, bound: Iterable[Atom], lits: Iterable[Atom], body: Poly, facts: Facts) -> Poly:
    """Σ over the bound symbols at which the conditions hold, in normal form."""
    bound, lits = frozenset(bound), tuple(lits)
    if len(body.terms) > 1:
        n.note("linearity")
    parts = []
    for mono, c in body.ordered:
        inner = Mono((), mono.pows, mono.exponent)
        parts.append(_one(n, bound, frozenset((*lits, *mono.lits)), inner, facts).scaled(c))
    return total(parts)


def _one(n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly:
    bound, lits, body = _merged(n, bound, lits, mono)
    if body is not None:
        return summed(n, bound, lits, body, facts)
    if not bound:
        return _guarded(n, lits, mono, facts)
    collapsed = _collapsed(n, bound, lits, mono, facts)
    if collapsed is not None:
        return collapsed
    inner = facts.assume_all(sorted(lits, key=lambda lit: lit.key))
    if inner.impossible:
        n.note("empty")
        return ZERO
    settled = n.settle(mono, inner)
    if settled != of_mono(mono):
        return summed(n, bound, lits, settled, facts)
    for step in (_cancelled_inside, _reindexed):
        result = step(n, bound, lits, mono, inner, facts)
        if result is not None:
            return result
    return _split(n, bound, _needed(lits, facts), mono, facts)


def _guarded(n: Normal, lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly:
    out = of_mono(mono)
    for lit in sorted(lits, key=lambda x: x.key):
        out = n.mul(n.decided(lit, facts), out, facts)
    return out


def _merged(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono
) -> tuple[frozenset[Atom], frozenset[Atom], Poly | None]:
    """Merge sums that depend on a bound symbol into the sum around them; None when there is none."""
    nested = [(a, k) for a, k in mono.pows if a.kind == "sum" and a.symbols & bound]
    if not nested:
        return bound, lits, None
    n.note("swap")
    body = of_mono(Mono((), ((a, k) for a, k in mono.pows if (a, k) not in nested), mono.exponent))
    for atom, k in nested:
        for _ in range(k):
            new, conditions, inner = opened(n, atom)
            bound, lits, body = bound | set(new), lits | set(conditions), body * inner
    return bound, lits, body


def _collapsed(n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly | None:
    """Σ_j δ(j, e) f(j) = f(e) where e is in range: the delta's index is replaced, the range stays as a condition on e."""
    for lit in sorted(lits, key=lambda x: x.key):
        if lit.kind != "eq":
            continue
        for symbol in sorted(bound & lit.symbols, key=lambda s: s.key):
            linear = lit.args[0].linear_in(symbol)
            if linear is None or abs(linear[0]) != 1:
                continue
            n.note("collapse")
            value = {symbol: linear[1].scaled(-linear[0])}
            body = n.replaced(of_mono(Mono(lits - {lit}, mono.pows, mono.exponent)), value, facts)
            return summed(n, bound - {symbol}, (), body, facts)
    return None


def _needed(lits: frozenset[Atom], facts: Facts) -> frozenset[Atom]:
    """The conditions without those that the others imply."""
    kept = set(lits)
    for lit in sorted(lits, key=lambda x: (-len(x.key), x.key)):
        others = kept - {lit}
        if lit.kind == "ge" and not _looks_up(lit):  # a range stays visible even where an equation or a look-up implies it
            others = {x for x in others if x.kind == "ge" and not _looks_up(x)}
        rest = facts.assume_all(sorted(others, key=lambda x: x.key))
        if rest.decide(lit):
            kept.discard(lit)
    return frozenset(kept)


def _looks_up(lit: Atom) -> bool:
    return any(a.kind == "look_up" for a in inside(lit))


def _cancelled_inside(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, inner: Facts, facts: Facts
) -> Poly | None:
    """Σ_i Σ_j f(i,j) · 1/Σ_j f(i,j): an inner sum against its own reciprocal."""
    for atom, _ in mono.pows:
        whole = atom.args[0].atom if atom.kind == "inverse" else None
        if whole is None or whole.kind != "sum" or not whole.symbols & bound:
            continue
        for symbol in sorted(bound, key=lambda s: s.key):
            if symbol in whole.symbols:
                continue
            part_lits = frozenset(lit for lit in lits if symbol in lit.symbols)
            part, rest = _factors_with(mono, frozenset((symbol,)))
            if (part.symbols | frozenset().union(*(x.symbols for x in part_lits))) & bound - whole.symbols - {symbol}:
                continue
            here = facts.assume_all(sorted(lits - part_lits, key=lambda x: x.key))
            if summed(n, (symbol,), part_lits, of_mono(part), here) != whole.poly:
                continue
            remaining = rest.times(Mono((), ((whole, 1),)))
            return summed(n, bound - {symbol}, lits - part_lits, n.settle(remaining, here), facts) if (
                n.settle(remaining, here) != of_mono(remaining)
            ) else None
    return None


def _reindexed(
    n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, inner: Facts, facts: Facts
) -> Poly | None:
    """Σ_j f(π[j]) = Σ_j f(j) for a permutation π of the whole range."""
    from spec.language.normal import Change

    whole = of_mono(Mono(lits, mono.pows, mono.exponent))
    for atom in sorted({a for a in parts_of(whole) if a.kind == "look_up"}, key=lambda a: a.key):
        symbol = atom.args[0].atom if n.domain(atom.name) == "permutation" else None
        if symbol not in bound:
            continue
        size = n.tensors[atom.name].shape[0]
        span = {*n.at_least_zero(symbol.poly, n.empty).conditions}
        span |= {*n.at_least_zero(size - symbol.poly - 1, n.empty).conditions}
        if not span <= lits:
            continue
        new = n.fresh(symbol.name)
        change = Change(atoms={atom.key: new.poly})
        body = rebuild(n, of_mono(Mono(lits - span, mono.pows, mono.exponent)), change, n.empty)
        if symbol in body.symbols:
            continue
        n.note("reindex")
        over = [x for p in (new.poly, size - new.poly - 1) for x in n.at_least_zero(p, n.empty).conditions]
        return summed(n, (bound - {symbol}) | {new}, over, body, facts)
    return None


def _factors_with(mono: Mono, symbols: frozenset[Atom]) -> tuple[Mono, Mono]:
    """The factors that contain one of the symbols, and the others."""
    exponents: list[dict[Mono, Fraction]] = [{}, {}]
    if mono.exponent is not None:
        for m, c in mono.exponent.terms.items():
            exponents[0 if m.symbols & symbols else 1][m] = c
    inside = [(a, k) for a, k in mono.pows if a.symbols & symbols]
    outside = [(a, k) for a, k in mono.pows if not a.symbols & symbols]
    return Mono((), inside, Poly(exponents[0])), Mono((), outside, Poly(exponents[1]))


def _split(n: Normal, bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly:
    """Take out what is free of the bound symbols and separate factors that share none of them."""
    inside, outside = _factors_with(mono, bound)
    if outside != UNIT:
        n.note("constants")
    groups = list(_components(bound, lits, inside))
    if len(groups) > 1 or any(a.kind == "sum" for a in outside.atoms):
        n.note("independent")
    parts = [_guarded(n, frozenset(lit for lit in lits if not lit.symbols & bound), outside, facts)]
    for symbols in groups:
        own = frozenset(lit for lit in lits if lit.symbols & symbols)
        parts.append(_closed_sum(n, symbols, own, _factors_with(inside, symbols)[0], facts))
    return n.product(parts, facts)


def _components(bound: frozenset[Atom], lits: frozenset[Atom], mono: Mono) -> Iterator[frozenset[Atom]]:
    links = [lit.symbols & bound for lit in lits] + [a.symbols & bound for a in mono.atoms]
    if mono.exponent is not None:
        links += [m.symbols & bound for m in mono.exponent.terms]
    left = set(bound)
    while left:
        group = {min(left, key=lambda s: s.key)}
        grown = True
        while grown:
            more = {s for link in links if link & group for s in link} - group
            group |= more
            grown = bool(more)
        left -= group
        yield frozenset(group)


def _closed_sum(n: Normal, symbols: frozenset[Atom], lits: frozenset[Atom], mono: Mono, facts: Facts) -> Poly:
    if mono == UNIT and len(symbols) == 1 and all(lit.kind == "ge" for lit in lits):
        (symbol,) = symbols
        count = _count(symbol, lits)
        if count is not None and facts.nonnegative(count):
            n.note("count")
            return count
    return closed(n, "sum", symbols, lits, of_mono(mono))


def _count(symbol: Atom, lits: frozenset[Atom]) -> Poly | None:
    """The number of integers in a range given by one lower and one upper bound."""
    low = high = None
    for lit in lits:
        linear = lit.args[0].linear_in(symbol)
        if linear is None or abs(linear[0]) != 1:
            return None
        if linear[0] > 0:
            low, seen = -linear[1], low
        else:
            high, seen = linear[1], high
        if seen is not None:
            return None
    return None if low is None or high is None else high - low + 1


# Closing ------------------------------------------------------------------------------------------------------------------


def closed(n: Normal, kind: str, symbols: frozenset[Atom], lits: Iterable[Atom], body: Poly) -> Poly:
    """A binder with canonical names for its bound symbols: the least over their permutations and shifts."""
    lits = tuple(lits)
    height = 1 + _height(lits, body)
    best: tuple[int, str] | None = None
    chosen, shifted = ZERO, False
    n.note("rename")
    shifts = [list(_shifts(s, symbols, lits, body)) for s in sorted(symbols, key=lambda s: s.key)]
    for order in _orders(n, symbols, lits, body):
        for offset in product(*shifts):
            moved = dict(zip(sorted(symbols, key=lambda s: s.key), offset, strict=True))
            candidate = _named(n, kind, order, moved, height, lits, body)
            if candidate is None:
                continue
            rank = (len(candidate.key), candidate.key)
            if best is None or rank < best:
                best, chosen, shifted = rank, candidate, any(offset)
    if best is None:  # every shift took the body apart: leave the bound symbols where they are
        still = dict.fromkeys(symbols, ZERO)
        order = next(iter(_orders(n, symbols, lits, body)))
        plain = _named(n, kind, order, still, height, lits, body)
        if plain is None:
            raise Unprovable("a sum could not be brought to normal form")
        return plain
    if shifted:
        n.note("shift")
    return chosen


def _named(
    n: Normal, kind: str, order: tuple[Atom, ...], moved: dict[Atom, Poly], height: int, lits: tuple[Atom, ...], body: Poly
) -> Poly | None:
    from spec.language.normal import Change

    names = tuple(Atom("symbol", f"‹{height}.{rank}›") for rank in range(len(order)))
    change = Change(symbols={s: name.poly + moved[s] for s, name in zip(order, names, strict=True)})
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
    return Atom(kind, "", (), names, ordered, None if kind == "any" else new_body).poly.scaled(factor)


def _height(lits: Iterable[Atom], body: Poly) -> int:
    inside = [a for a in parts_of(body) if a.bound]
    for lit in lits:
        inside += [a for a in parts_of(lit.poly) if a.bound]
    return max((int(a.bound[0].name.strip("‹›").split(".")[0]) for a in inside), default=0)


def _shifts(symbol: Atom, symbols: frozenset[Atom], lits: tuple[Atom, ...], body: Poly) -> Iterator[Poly]:
    """Offsets that make a lower bound, or an index of an entry, start at the bound symbol itself."""
    seen: set[str] = set()
    for poly in _places(symbol, lits, body):
        linear = poly.linear_in(symbol)
        if linear is None or linear[0] != 1 or linear[1].symbols & symbols or not linear[1].is_index:
            continue
        offset = -linear[1]
        if offset.key not in seen:
            seen.add(offset.key)
            yield offset
    if not seen:
        yield ZERO


def _places(symbol: Atom, lits: tuple[Atom, ...], body: Poly) -> Iterator[Poly]:
    for lit in lits:
        if lit.kind == "ge" and symbol in lit.symbols:
            yield lit.args[0]
    for whole in (body, *(lit.poly for lit in lits if lit.kind != "ge")):
        for atom in parts_of(whole):
            if atom.kind in ("entry", "look_up", "bool"):
                for arg in atom.args:
                    if symbol in arg.symbols:
                        yield arg


def _orders(n: Normal, symbols: frozenset[Atom], lits: tuple[Atom, ...], body: Poly) -> Iterator[tuple[Atom, ...]]:
    """Orders of the bound symbols worth comparing: symbols that play different parts keep a fixed order."""
    from spec.language.normal import Change

    names = sorted(symbols, key=lambda s: s.key)
    if len(names) == 1:
        yield tuple(names)
        return
    mark, other = Atom("symbol", "‹0.mark›"), Atom("symbol", "‹0.other›")
    signatures: dict[str, list[Atom]] = {}
    for symbol in names:
        change = Change(symbols={s: (mark if s == symbol else other).poly for s in names})
        keys = sorted(rebuild_condition(n, lit, change, n.empty).key for lit in lits)
        signatures.setdefault("|".join((*keys, rebuild(n, body, change, n.empty).key)), []).append(symbol)
    groups = [signatures[key] for key in sorted(signatures)]
    for count, orders in enumerate(product(*(permutations(group) for group in groups))):
        if count >= MOST_ORDERS:
            return
        yield tuple(s for group in orders for s in group)


# Replacement --------------------------------------------------------------------------------------------------------------


def rebuild(n: Normal, poly: Poly, change: Change, facts: Facts) -> Poly:
    """The polynomial after a change, in normal form under the facts."""
    parts = []
    for mono, c in poly.ordered:
        # A condition is never multiplied under facts that already contain it: it would be dropped as implied.
        out, here = number(c), facts
        for lit in mono.lits:
            held = lit.poly if change.leaves(lit) else rebuild_condition(n, lit, change, here)
            out = n.mul(out, held, facts)
            here = here.assume_value(held)
        for atom, k in mono.pows:
            value = atom.poly if change.leaves(atom) else rebuild_atom(n, atom, change, here)
            out = n.mul(out, n.power(value, k, here), facts)
        if mono.exponent is not None:
            out = n.mul(out, n.exp(rebuild(n, mono.exponent, change, here), here), facts)
        parts.append(out)
    return total(parts)


def rebuild_atom(n: Normal, atom: Atom, change: Change, facts: Facts) -> Poly:
    """An atom after a change."""
    if atom.key in change.atoms:
        return change.atoms[atom.key]
    kind = atom.kind
    if kind == "symbol":
        return change.symbols.get(atom, atom.poly)
    if kind in ("sum", "maximum"):
        bound, lits, body = opened(n, atom)
        out, here = ONE, facts
        for lit in lits:
            held = rebuild_condition(n, lit, change, facts)
            out, here = n.mul(out, held, facts), here.assume_value(held)
        body = rebuild(n, body, change, here)
        if kind == "sum":
            return summed(n, bound, (), n.mul(out, body, facts), facts)
        return closed(n, kind, frozenset(bound), conjuncts(out), body) if out else ZERO
    args = tuple(rebuild(n, arg, change, facts) for arg in atom.args)
    if kind in ("entry", "look_up"):
        return change.entries[atom.name](args, facts) if atom.name in change.entries else n.entry(atom.name, args)
    if kind == "floor":
        return n.floor(args[0])
    _transfer(n, atom, change, args[0] if args else ZERO, facts)
    if kind == "inverse":
        return n.inverse(args[0], facts)
    if kind == "root":
        return n.root(args[0], facts)
    if kind == "inverse_root":
        return n.inverse(n.root(args[0], facts), facts)
    return n.function(atom.name, args[0], facts) if args else atom.poly


def _transfer(n: Normal, atom: Atom, change: Change, new: Poly, facts: Facts) -> None:
    """Certificates of a term hold for what it becomes: they are statements for all values of its symbols."""
    if not atom.args or change.atoms or not all(set("~‹") & set(s.name) for s in change.symbols):
        return
    for factor, prim in n.oriented(atom.args[0], facts):
        for mask, lits in n.certificates.get(prim.key, ()):
            changed = [rebuild_condition(n, lit, change, n.empty) for lit in lits]
            if ZERO not in changed and prim == atom.args[0] and factor > 0:
                n.certify(new, mask, tuple(x for c in changed for x in conjuncts(c)), facts)


def rebuild_condition(n: Normal, lit: Atom, change: Change, facts: Facts) -> Poly:
    """A condition after a change, as an indicator."""
    if change.leaves(lit):
        return lit.poly
    if lit.kind == "not":
        inner = rebuild_condition(n, lit.lits[0], change, facts)
        if inner.constant is not None:
            return ONE - inner
        return Atom("not", lits=(inner.conditions[0],)).poly
    if lit.kind == "any":
        bound, lits, _ = opened(n, lit)
        return exists(n, bound, [rebuild_condition(n, x, change, n.empty) for x in lits], facts)
    args = tuple(rebuild(n, arg, change, facts) for arg in lit.args)
    if lit.kind == "ge":
        return n.at_least_zero(args[0], facts)
    if lit.kind == "eq":
        return n.equal(args[0], facts)
    if lit.kind == "positive":
        return n.above_zero(args[0], facts)
    if lit.name in change.entries:
        return change.entries[lit.name](args, facts)
    return n.decided(Atom("bool", lit.name, args), facts)


def exists(n: Normal, bound: Iterable[Atom], conditions: list[Poly], facts: Facts) -> Poly:
    """The indicator that conditions hold for some values of the bound symbols."""
    if ZERO in conditions:
        return ZERO
    symbols = frozenset(bound)
    lits = [x for c in conditions for x in conjuncts(c)]
    free = [x for x in lits if x.kind != "not" and not x.symbols & symbols]
    (atom, *_), *_ = [m.lits for m in closed(n, "any", symbols, [x for x in lits if x not in free], ONE).terms]
    return n.product([n.decided(atom, facts), *(x.poly for x in free)], facts)

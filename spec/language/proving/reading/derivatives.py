"""Derivatives of terms at symbolic index: ``∂x[a]/∂x[b] = δ(a, b)``, term by term, with the product and the chain rule.

Bound indices are renamed apart before a sum is differentiated, so that nothing is captured. The derivative of a state is a state
again: of the recurrence that the derivatives follow.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from spec.language.arrays import DISCRETE, Tensor
from spec.language.flatten import own_lines
from spec.language.lines import Definition
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.frames import Frame, Reading
from spec.language.proving.reading.states import Recurring, cycles
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.sets import POSITIVE
from spec.language.proving.terms.polynomials import ONE, ZERO, Atom, Mono, Poly, mentions, of_mono, total
from spec.language.proving.terms.writing import text

_SMOOTH: dict[Any, bool] = {}
"""Which tensors of which formulas have a derivative with respect to which input, as far as was asked."""
_ASKED: set[Any] = set()
"""Which of them are being looked into: within a recurrence, an earlier step has one by induction."""


def smooth(reader: Reading, spec: Recurring, item: Tensor, domain: str) -> bool:
    """Whether a formula's tensor has a derivative with respect to an input that lies in this domain, with all around it."""
    found = cycles(spec.formula, dict(spec.conventions)).get(spec.tensor.name)
    names = frozenset((spec.tensor.name,)) if found is None else found[0]
    key = (spec.formula, spec.conventions, names, item, domain)
    if key in _ASKED:
        return True
    if key not in _SMOOTH:
        _ASKED.add(key)
        try:
            _SMOOTH[key] = _lines_are(reader.another(), spec, names, item, domain)
        finally:
            _ASKED.discard(key)
    return _SMOOTH[key]


def _lines_are(reader: Reading, spec: Recurring, names: frozenset[str], item: Tensor, domain: str) -> bool:
    lines: dict[str, tuple[Definition, ...]] = {}
    for line in own_lines(spec.formula, dict(spec.conventions)):
        lines[line.name] = (*lines.get(line.name, ()), line)
    alone = Tensor(reader.n.fresh(item.name, "*").name, item.shape, domain, "given", item.below)
    frame = Frame(
        tensors={item.name: (alone, Frame())},
        lines=lines,
        conventions=dict(spec.conventions),
        where=spec.formula.id,
    )
    try:
        for line in (line for name in sorted(names & lines.keys()) for line in lines[name]):
            _differentiate(reader, line, alone, frame, reader.n.empty)
    except (Undischarged, Unprovable):
        return False
    return True


def _differentiate(reader: Reading, line: Definition, alone: Tensor, frame: Frame, facts: Facts) -> None:
    """The derivative of a line at every index of its own.

    Raises:
        Undischarged, Unprovable: it has none, or none that is known.
    """
    for symbol, (first, last) in line.spans.items():
        at = reader.n.fresh(symbol.name).poly
        low, high = (reader.index(end, frame, facts) for end in (first, last))
        facts = reader.within(at, low, high, facts)
        frame = frame.bind({symbol: at})
    places = []
    for size in alone.shape:
        place = reader.n.fresh("k").poly
        facts = reader.within(place, ZERO, reader.index(size, frame, facts) - 1, facts)
        places.append(place)
    if not facts.impossible:
        value = reader.read(line.right, frame, facts)
        derivative(reader.n, value, alone.name, tuple(places), facts)


PI = Atom("function", "pi").poly


def derivative(n: Normal, poly: Poly, name: str, index: tuple[Poly, ...], facts: Facts) -> Poly:
    """∂poly/∂name[index]."""
    names = frozenset((name,))
    parts = []
    for mono, c in poly.ordered:
        here = facts.assume_all(mono.lits)
        if any(mentions(lit.poly, names) for lit in mono.lits):
            raise Unprovable(f"a condition depends on {name}, so the derivative is not defined everywhere")
        for atom, k in mono.pows:
            if mentions(atom.poly, names):
                rest = Mono(
                    mono.lits,
                    ((a, p - (a == atom)) for a, p in mono.pows if (a, p) != (atom, 1)),
                    mono.exponent,
                )
                inner = _of_atom(n, atom, name, index, here)
                parts.append(n.mul(of_mono(rest, c * k), inner, facts))
        if mono.exponent is not None and mentions(mono.exponent, names):
            parts.append(n.mul(of_mono(mono, c), derivative(n, mono.exponent, name, index, here), facts))
    n.note("derivative")
    return total(parts)


def _of_atom(n: Normal, atom: Atom, name: str, index: tuple[Poly, ...], facts: Facts) -> Poly:
    if atom.kind == "entry":
        return n.product([n.equal(a - b, facts) for a, b in zip(atom.args, index, strict=True)], facts)
    if atom.kind == "sum":
        bound, lits, body = n.opened(atom)
        if any(mentions(lit.poly, frozenset((name,))) for lit in lits):
            raise Unprovable(
                f"which terms are summed depends on {name}, so the derivative is not defined everywhere"
            )
        inner = derivative(n, body, name, index, facts.assume_all(lits))
        return n.summed(bound, lits, inner, facts)
    if atom.kind == "state":
        return _of_state(n, atom, name, index, facts)
    if atom.kind not in ("inverse", "root", "inverse_root", "function") or not atom.args:
        raise Unprovable(f"the derivative of a {atom.kind} with respect to {name} is not taken")
    inside = derivative(n, atom.args[0], name, index, facts)
    return n.mul(_outer(n, atom, facts), inside, facts)


def _of_state(n: Normal, atom: Atom, name: str, index: tuple[Poly, ...], facts: Facts) -> Poly:
    """∂state/∂name[index], by the chain rule through every input of the recurrence that depends on the tensor."""
    spec: Recurring = n.states[atom.name]
    own, sizes, arrays = spec.parts(atom)
    names = frozenset((name,))
    if any(mentions(part, names) for part in (*own, *sizes)):
        raise Unprovable(f"an index depends on {name}, so the derivative is not defined everywhere")
    out = ZERO
    for item, array in zip(spec.inputs, arrays, strict=True):
        if not mentions(array, names):
            continue
        if spec.wrt is not None or item.domain in DISCRETE:
            raise Unprovable(f"the derivative of {spec.name} with respect to {name} is not taken")
        more = replace(spec, wrt=item)
        if n.smooth is None or not n.smooth(spec, item, nearby(n, item, array, facts)):
            raise Unprovable(f"{spec.name} is not seen to have a derivative with respect to {item.name}")
        n.recurring(more)
        bound, lits, body = n.opened(array.atom) if item.shape and array.atom is not None else ((), (), array)
        here = facts.assume_all(lits)
        inner = derivative(n, body, name, index, here)
        places = tuple(symbol.poly for symbol in bound)
        outer = Atom("state", more.name, (*own, *places, *sizes, *arrays)).poly
        product = n.mul(outer, inner, here)
        out = out + (n.summed(bound, lits, product, facts) if bound else product)
    return out


def nearby(n: Normal, item: Tensor, array: Poly, facts: Facts) -> str:
    """The domain of an input in a neighbourhood of an array: positive only where the array is known to be."""
    if item.domain not in ("positive", "nonnegative", "share"):
        return item.domain
    _, lits, body = n.opened(array.atom) if item.shape and array.atom is not None else ((), (), array)
    return "positive" if n.sign(body, facts.assume_all(lits)) == POSITIVE else "real"


def _outer(n: Normal, atom: Atom, facts: Facts) -> Poly:
    """The derivative of an elementary function at its argument."""
    own, value = atom.poly, atom.args[0]
    if atom.kind == "inverse":
        return -n.power(own, 2, facts)
    if atom.kind in ("root", "inverse_root"):
        if n.sign(value, facts) != POSITIVE:
            raise Undischarged(f"{text(n, value)} > 0, where its root is differentiated")
        inverse_root = Atom("inverse_root", "", atom.args).poly
        half = Fraction(1, 2) if atom.kind == "root" else Fraction(-1, 2)
        return n.power(inverse_root, 1 if atom.kind == "root" else 3, facts).scaled(half)
    if atom.name == "sin":
        return n.function("cos", value, facts)
    if atom.name == "cos":
        return -n.function("sin", value, facts)
    if atom.name == "tanh":
        return ONE - n.power(own, 2, facts)
    if atom.name == "sigmoid":
        return own - n.power(own, 2, facts)
    if atom.name == "erf":
        bell = n.exp(-n.power(value, 2, facts), facts)
        return n.product([bell, n.inverse(n.root(PI, facts), facts)], facts).scaled(Fraction(2))
    if atom.name == "log":
        return n.inverse(value, facts)
    raise Unprovable(f"{atom.name} is not differentiable everywhere")

"""Derivatives of terms at symbolic index: ``∂x[a]/∂x[b] = δ(a, b)``, term by term, with the product and the chain rule.

Bound indices are renamed apart before a sum is differentiated, so that nothing is captured. The derivative of a state is a state
again: of the recurrence that the derivatives follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

from sympy.core.basic import Basic

from spec.language.arrays import DISCRETE, Tensor
from spec.language.binders import Expectation
from spec.language.calls import Pullback
from spec.language.flatten import own_lines
from spec.language.known import get_formula
from spec.language.lines import Definition
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.defining import ParityNeeded
from spec.language.proving.reading.frames import Frame, Reading
from spec.language.proving.reading.states import Recurring, cycles
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.sets import NULL, POSITIVE
from spec.language.proving.terms.polynomials import (
    ONE,
    UNIT,
    ZERO,
    Atom,
    Mono,
    Poly,
    mentions,
    of_mono,
    total,
)
from spec.language.proving.terms.replacing import Change, rebuild
from spec.language.proving.terms.writing import text
from spec.language.trees import walk
from spec.language.wellformed.letters import REAL

_SMOOTH: dict[Any, bool] = {}
"""Which tensors of which formulas have a derivative with respect to which input, as far as was asked."""
_IN_PROGRESS: set[Any] = set()
"""Which of them are being looked into: within a recurrence, an earlier step has one by induction."""


def smooth(reader: Reading, spec: Recurring, item: Tensor, domain: str) -> bool:
    """Whether a formula's tensor has a derivative with respect to an input that lies in this domain, with all around it."""
    found = cycles(spec.formula, dict(spec.conventions)).get(spec.tensor.name)
    names = frozenset((spec.tensor.name,)) if found is None else found[0]
    key = (spec.formula, spec.conventions, names, item, domain)
    if key in _IN_PROGRESS:
        return True
    if key not in _SMOOTH:
        _IN_PROGRESS.add(key)
        try:
            _SMOOTH[key] = _lines_are(reader.another(), spec, names, item, domain)
        finally:
            _IN_PROGRESS.discard(key)
    return _SMOOTH[key]


def _lines_are(reader: Reading, spec: Recurring, names: frozenset[str], item: Tensor, domain: str) -> bool:
    lines: dict[str, tuple[Definition, ...]] = {}
    for line in own_lines(spec.formula, dict(spec.conventions)):
        lines[line.name] = (*lines.get(line.name, ()), line)
    alone = Tensor(reader.n.fresh(item.name, "*").name, item.shape, domain, "given", item.below)
    reader.n.varied[alone.name] = None
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


def stop(n: Normal, poly: Poly, facts: Facts) -> Poly:
    """A term of which no derivative is taken: in it, what one is taken by is what it stands for, and varies no more.

    Raises:
        Unprovable: nothing is known that it stands for.
    """
    while names := [name for name in n.varied if mentions(poly, frozenset((name,)))]:
        known = {name: entry for name in names if (entry := n.varied[name]) is not None}
        if len(known) < len(names):
            raise Unprovable("a derivative of what is stopped is not taken within a recurrence")
        poly = rebuild(n, poly, Change(entries=known), facts)
    return poly


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
        bound, lits, body = n.unbind(atom)
        if any(mentions(lit.poly, frozenset((name,))) for lit in lits):
            raise Unprovable(
                f"which terms are summed depends on {name}, so the derivative is not defined everywhere"
            )
        inner = derivative(n, body, name, index, facts.assume_all(lits))
        return n.sum_over(bound, lits, inner, facts)
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
        n.remember_state(more)
        bound, lits, body = n.unbind(array.atom) if item.shape and array.atom is not None else ((), (), array)
        here = facts.assume_all(lits)
        inner = derivative(n, body, name, index, here)
        places = tuple(symbol.poly for symbol in bound)
        outer = Atom("state", more.name, (*own, *places, *sizes, *arrays)).poly
        product = n.mul(outer, inner, here)
        out = out + (n.sum_over(bound, lits, product, facts) if bound else product)
    return out


def nearby(n: Normal, item: Tensor, array: Poly, facts: Facts) -> str:
    """The domain of an input in a neighbourhood of an array: positive only where the array is known to be."""
    if item.domain not in ("positive", "nonnegative", "share"):
        return item.domain
    _, lits, body = n.unbind(array.atom) if item.shape and array.atom is not None else ((), (), array)
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
        return n.power(inverse_root, 1 if atom.kind == "root" else 3, facts).scale(half)
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
        return n.product([bell, n.inverse(n.root(PI, facts), facts)], facts).scale(Fraction(2))
    if atom.name == "log":
        return n.inverse(value, facts)
    raise Unprovable(f"{atom.name} is not differentiable everywhere")


# Vector–Jacobian products -----------------------------------------------------------------------------------------------


def pullback(reader: Reading, node: Pullback, frame: Frame, facts: Facts) -> Poly:
    """Σ over the output of seed · ∂output/∂input: the input becomes a tensor of its own, then the argument again."""
    n, call = reader.n, node.call
    if any(mask & NULL for mask in facts.signs.values()):
        raise Unprovable(
            "a derivative under an assumption x ≤ y on values is not taken: it may hold on an edge only"
        )
    formula = get_formula(call.formula_id)
    item = next(i for i in formula.tensors if i.name == node.wrt)
    if item.domain not in REAL:
        raise Unprovable(f"{node.wrt} is {item.domain}, and nothing is differentiated with respect to it")
    argument = dict(zip((str(i) for i in formula.inputs), call.arguments, strict=True))[node.wrt]
    if any(scheme.assumed and mentions_any(scheme.poly, argument) for scheme in n.schemes):
        raise Unprovable(
            f"a derivative with respect to {node.wrt} under an assumption on it is not taken: it may hold on an edge only"
        )
    plain = reader.unfolding.enter(call, frame, facts)
    shape = tuple(reader.index(size, plain, facts) for size in item.shape)
    domain = reader.unfolding.nearby(item, argument, frame, facts)
    alone = Tensor(n.fresh(node.wrt, "*").name, item.shape, domain, "given", item.below)
    n.declare(alone.name, domain, shape)
    back = {alone.name: lambda args, known_: reader.entry(argument, args, frame, known_)}
    n.varied |= back
    inner = reader.unfolding.enter(call, frame, facts, {node.wrt: alone})
    index = tuple(reader.index(part, frame, facts) for part in node.index)
    for place, size in zip(index, shape, strict=True):
        if not (facts.nonnegative(place) and facts.nonnegative(size - place - 1)):
            raise Undischarged(f"the index of the pullback to {node.wrt} stays in range")
    output = reader.unfolding.output(call, inner)

    def term(places: tuple[Poly, ...], here: Facts) -> Poly:
        value = reader.entry(output, places, inner, here)
        slope = derivative(n, value, alone.name, index, here)
        seed = reader.entry(node.seed, places, frame, here)
        return n.mul(seed, rebuild(n, slope, Change(entries=back), here), here)

    sizes = tuple(reader.index(size, inner, facts) for size in output.shape)
    return _over_entries(reader, term, sizes, (None,) * len(sizes), facts)


def _over_entries(
    reader: Reading,
    term: Callable[[tuple[Poly, ...], Facts], Poly],
    sizes: tuple[Poly, ...],
    parities: tuple[int | None, ...],
    facts: Facts,
) -> Poly:
    """The sum over all entries of an array; over even and odd ones along an axis where the parity decides what an entry is."""
    n, lits, here = reader.n, [], facts
    symbols = [n.fresh("o") for _ in sizes]
    places = tuple(
        symbol.poly if odd is None else symbol.poly.scale(Fraction(2)) + odd
        for symbol, odd in zip(symbols, parities, strict=True)
    )
    for place, size in zip(places, sizes, strict=True):
        span = [n.at_least_zero(gap, n.empty) for gap in (place, size - place - 1)]
        lits += [lit for condition in span for lit in condition.conditions]
        here = here.assume_value(span[0]).assume_value(span[1])
    if here.impossible:
        n.note("empty")
        return ZERO
    try:
        return n.sum_over(symbols, lits, term(places, here), facts)
    except ParityNeeded as need:
        axis = symbols.index(need.symbol) if need.symbol in symbols else -1
        if axis < 0 or parities[axis] is not None:
            raise
    n.note("parity")
    split = [(*parities[:axis], odd, *parities[axis + 1 :]) for odd in (0, 1)]
    return total([_over_entries(reader, term, sizes, each, facts) for each in split])


def mentions_any(poly: Poly, argument: Basic) -> bool:
    """Whether a term mentions a tensor that occurs in an argument."""
    return mentions(poly, frozenset(part.name for part in walk(argument) if isinstance(part, Tensor)))


# Expectations -------------------------------------------------------------------------------------------------------------


def expectation(reader: Reading, node: Expectation, frame: Frame, facts: Facts) -> Poly:
    """The expectation of the body, by linearity and the declared moments."""
    n = reader.n
    names = frozenset(tensor.name for tensor in node.random)
    _check_random(reader, node, names, frame, facts)
    body = reader.value(node.body, frame, facts)
    parts = []
    for mono, c in body.ordered:
        parts.append(_moment(n, mono, names, facts).scale(c))
    n.note("expectation")
    return total(parts)


def _check_random(
    reader: Reading, node: Expectation, names: frozenset[str], frame: Frame, facts: Facts
) -> None:
    """Random tensors are real, and nothing is known of them: what is known of a tensor outside is not of it where it is random.

    Raises:
        Unprovable: one is not real, stands for something, or is assumed something of.
    """
    for tensor in node.random:
        if tensor.domain != "real":
            raise Unprovable(f"{tensor.name} is {tensor.domain}: a random tensor of mean 0 is real")
        if tensor.name in frame.tensors or tensor.name in frame.lines:
            raise Unprovable(f"{tensor.name} stands for a value here and is not random")
    assumed = [scheme.poly for scheme in reader.n.schemes if scheme.assumed]
    known = [lit.poly for lit in (*facts.true, *facts.false)]
    if any(mentions(poly, names) for poly in (*assumed, *known)):
        which = ", ".join(sorted(names))
        raise Unprovable(
            f"an expectation over random {which} is not taken where something is assumed of them"
        )


def _moment(n: Normal, mono: Mono, names: frozenset[str], facts: Facts) -> Poly:
    """E of a monomial: sums are opened, the expectation moves inside, products of entries become moments."""
    bound: list[Atom] = []
    lits = list(mono.lits)
    rest, factor, entries = Mono((), (), mono.exponent), Fraction(1), Counter[Atom]()
    pending = list(mono.pows)
    while pending:
        atom, k = pending.pop()
        if atom.kind == "entry" and atom.name in names:
            entries[atom] += k
        elif atom.kind == "sum" and mentions(atom.poly, names):
            for _ in range(k):
                new, conditions, body = n.unbind(atom)
                if len(body.terms) != 1:
                    raise Unprovable(
                        f"the expectation of {text(n, atom.poly)} is not that of a single product"
                    )
                ((inner, c),) = body.terms.items()
                factor *= c
                bound += new
                lits += [*conditions, *inner.lits]
                pending += inner.pows
                if inner.exponent is not None:
                    rest = rest.times(Mono((), (), inner.exponent))
        else:
            rest = rest.times(Mono((), ((atom, k),)))
    if mentions(of_mono(rest), names) or any(mentions(lit.poly, names) for lit in lits):
        raise Unprovable(
            "the expectation of something other than a polynomial in the random entries is not known"
        )
    moment = ONE
    for name in sorted(names):
        moment = n.mul(moment, _moment_of([a for a in entries.elements() if a.name == name], n, facts), facts)
    if rest == UNIT and not bound and not lits:
        return moment.scale(factor)
    return n.sum_over(bound, lits, n.mul(of_mono(rest, factor), moment, facts), facts)


def _moment_of(factors: list[Atom], n: Normal, facts: Facts) -> Poly:
    if not factors:
        return ONE
    if len(factors) == 1:
        return ZERO
    if len(factors) > 2:
        raise Unprovable(
            f"a moment of order {len(factors)} is asked for; mean and variance alone do not give it"
        )
    n.note("moments")
    ((a, b),) = combinations(factors, 2)
    return n.product([n.equal(x - y, facts) for x, y in zip(a.args, b.args, strict=True)], facts)

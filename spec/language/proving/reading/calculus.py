"""Vector–Jacobian products, and expectations of random tensors.

An expectation is linear; for random tensors with independent entries of mean 0 and variance 1, ``E x[a] = 0`` and
``E x[a]x[b] = δ(a, b)``, and different tensors are independent.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.binders import Expectation
from spec.language.calls import Pullback
from spec.language.known import known
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.derivatives import derivative
from spec.language.proving.reading.frames import Frame, Reading
from spec.language.proving.rules.normal import Normal
from spec.language.proving.signs.sets import NULL
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

# Vector–Jacobian products -----------------------------------------------------------------------------------------------


def pullback(reader: Reading, node: Pullback, frame: Frame, facts: Facts) -> Poly:
    """Σ over the output of seed · ∂output/∂input: the input becomes a tensor of its own, then the argument again."""
    n, call = reader.n, node.call
    if any(mask & NULL for mask in facts.signs.values()):
        raise Unprovable(
            "a derivative under an assumption x ≤ y on values is not taken: it may hold on an edge only"
        )
    formula = known(call.formula_id)
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
    inner = reader.unfolding.enter(call, frame, facts, {node.wrt: alone})
    index = tuple(reader.index(part, frame, facts) for part in node.index)
    for place, size in zip(index, shape, strict=True):
        if not (facts.nonnegative(place) and facts.nonnegative(size - place - 1)):
            raise Undischarged(f"the index of the pullback to {node.wrt} stays in range")
    output = reader.unfolding.output(call, inner)
    symbols, lits, here = [], [], facts
    for size in output.shape:
        symbol = n.fresh("o")
        span = [
            n.at_least_zero(g, n.empty)
            for g in (symbol.poly, reader.index(size, inner, facts) - symbol.poly - 1)
        ]
        symbols.append(symbol)
        lits += [lit for condition in span for lit in condition.conditions]
        here = here.assume_value(span[0]).assume_value(span[1])
    places = tuple(symbol.poly for symbol in symbols)
    value = reader.entry(output, places, inner, here)
    slope = derivative(n, value, alone.name, index, here)
    back = Change(entries={alone.name: lambda args, known_: reader.entry(argument, args, frame, known_)})
    seed = reader.entry(node.seed, places, frame, here)
    return n.summed(symbols, lits, n.mul(seed, rebuild(n, slope, back, here), here), facts)


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
        parts.append(_moment(n, mono, names, facts).scaled(c))
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
                new, conditions, body = n.opened(atom)
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
        return moment.scaled(factor)
    return n.summed(bound, lits, n.mul(of_mono(rest, factor), moment, facts), facts)


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

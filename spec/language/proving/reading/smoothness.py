"""Whether a formula has a derivative: that of a state stays a name for itself, so the lines it comes from are differentiated.

It is asked once for all inputs: one input becomes a tensor of its own in the neighbourhood that the derivative speaks of, the
others are any of their domains.
"""

from __future__ import annotations

from typing import Any

from spec.language.arrays import Tensor
from spec.language.flatten import own_lines
from spec.language.lines import Definition
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.derivatives import derivative
from spec.language.proving.reading.frames import Frame, Reading
from spec.language.proving.reading.states import Recurring, cycles
from spec.language.proving.terms.polynomials import ZERO

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


__all__ = ["smooth"]

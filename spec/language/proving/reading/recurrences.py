"""Recurrences in the prover: a state stays a name for itself until it is unfolded by one step.

The entry ``h[t, c]`` of a recurrence cannot be unfolded to its end at symbolic t. It is an atom, a *state*: which formula's
tensor it is, at which index, at which sizes, for which inputs. The inputs stand inside as arrays in normal form, so two
applications of a formula have the same state exactly when their inputs are the same, and whatever is done to a term (replacing
an index, an entry, a derivative) is done to the inputs of its states, too.

:meth:`Recurrences.unfold_latest` unfolds the latest states of a term once, which turns them into states one step earlier: an
equation, whatever the recurrence. Its end, where a line defines an entry without the recurrence, is unfolded at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.arrays import Tensor
from spec.language.expr import Node
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.lines import Definition
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.defining import by_lines
from spec.language.proving.reading.derivatives import derivative, nearby, smooth
from spec.language.proving.reading.frames import Frame, Origin, Reading
from spec.language.proving.reading.states import Recurring, cycles, sequence, states_in
from spec.language.proving.rules.normal import Normal
from spec.language.proving.terms.binders import bind_array
from spec.language.proving.terms.polynomials import ONE, ZERO, Atom, Poly
from spec.language.proving.terms.replacing import Change, apply_by_cases, rebuild
from spec.language.trees import walk

_EVERYWHERE: dict[tuple[Formula, tuple[tuple[str, str], ...], Tensor], bool] = {}
"""Which recurrences are defined at all inputs of their formula's domains, as far as was asked."""
_ASKED: set[tuple[Formula, tuple[tuple[str, str], ...], Tensor]] = set()
"""Those of which it is being found out. Where two recurrences are inputs of one formula that is kept, each asks for the other:
what is being asked is not yet known, and its lines are read where they are met.
"""


class Definedness:
    """The recurrences of a proof whose lines were read."""

    def __init__(self, reader: Reading) -> None:
        self.reader, self.n = reader, reader.n
        self._read: set[tuple[Origin, Facts, str]] = set()  # lines, by the origin of their frame and facts
        self._reading: set[tuple[Origin, frozenset[str]]] = set()  # recurrences that are being read

    def check(self, spec: Recurring, frame: Frame, facts: Facts) -> None:
        """Read the lines that a state comes from.

        Raises:
            Undischarged: what one of them says is not known to be defined.
        """
        if (frame.origin, spec.cycle) in self._reading:
            return
        entered = frame.origin.facts or facts
        if self._within_domains(spec, frame, entered) and self._everywhere(spec):
            return
        try:
            self.read(spec, frame, entered)
        except Undischarged:  # what is known of other indices may be needed
            self.read(spec, frame, facts)

    def read(self, spec: Recurring, frame: Frame, facts: Facts) -> None:
        """Read the lines that a state comes from; where they come to states of the same recurrence, these are names."""
        own = (frame.origin, spec.cycle)
        self._reading.add(own)
        try:
            self._lines(spec, frame, facts)
        finally:
            self._reading.discard(own)

    def _within_domains(self, spec: Recurring, frame: Frame, facts: Facts) -> bool:
        """Whether sizes and inputs are such as the formula declares them: of arguments that was checked at the application."""
        if self.reader.fixed or frame.constants:
            return False
        given = ((item, frame.tensors.get(item.name, (item, frame))[0]) for item in spec.inputs)
        if any(isinstance(value, Tensor) and value.domain != item.domain for item, value in given):
            return False
        return all(facts.nonnegative(frame.symbols[size] - 1) for size in spec.sizes)

    def _everywhere(self, spec: Recurring) -> bool:
        """Whether a recurrence is defined at all inputs of the formula's domains."""
        key = (spec.formula, spec.conventions, spec.tensor)
        if key in _ASKED:
            return False
        if key not in _EVERYWHERE:
            lines: dict[str, tuple[Definition, ...]] = {}
            for line in own_lines(spec.formula, dict(spec.conventions)):
                lines[line.name] = (*lines.get(line.name, ()), line)
            frame = Frame(lines=lines, conventions=dict(spec.conventions), where=spec.formula.id)
            # What it applies need not be looked into where that is defined at all inputs itself.
            _ASKED.add(key)
            try:
                _EVERYWHERE[key] = any(
                    _reads(spec, frame, self.reader.another(opened))
                    for opened in (frozenset((spec.formula.id,)), None)
                )
            finally:
                _ASKED.discard(key)
        return _EVERYWHERE[key]

    def _lines(self, spec: Recurring, frame: Frame, facts: Facts) -> None:
        """The line of the tensor, and those of the same recurrence that it reads."""
        pending, seen = [spec.tensor.name], set[str]()
        while pending:
            name = pending.pop()
            key = (frame.origin, facts, name)
            if name in seen or name not in spec.cycle or name not in frame.lines or key in self._read:
                continue
            seen.add(name)
            for line in frame.lines[name]:
                self._line(line, frame, facts)
                pending += [part.name for part in walk(line.right) if isinstance(part, Tensor)]
        self._read |= {(frame.origin, facts, name) for name in seen}

    def _line(self, line: Definition, frame: Frame, facts: Facts) -> None:
        """A line at every index of its own."""
        for symbol, (first, last) in line.spans.items():
            at = self.n.fresh(symbol.name).poly
            low, high = (self.reader.index(end, frame, facts) for end in (first, last))
            facts = self.reader.within(at, low, high, facts)
            frame = frame.bind({symbol: at})
        if not facts.impossible:
            self.reader.read(line.right, frame, facts)


def _reads(spec: Recurring, frame: Frame, reader: Reading) -> bool:
    """Whether a reader finds the lines of a recurrence defined."""
    try:
        reader.read_recurrence(spec, frame)
    except (Undischarged, Unprovable):
        return False
    return True


MOST_STEPS = 3
"""How many steps of a recurrence are unfolded at most to find two terms equal."""


class NormalArray(Basic):
    """An input of a formula given as an array in normal form; the argument is its key."""


class NormalValue(Node):
    """A value already in normal form; the argument is its key."""


class Recurrences:
    """The states of a proof."""

    def __init__(self, reader: Reading) -> None:
        self.reader, self.n = reader, reader.n
        self.n.unfolds_by(self.unfold_latest, lambda *asked: smooth(reader, *asked))
        self.definedness = Definedness(reader)
        self._cycles: dict[Any, Any] = {}
        self._arrays: dict[Any, tuple[Poly, ...]] = {}
        self._unfolding: list[tuple[Origin, frozenset[str], tuple[Poly, ...], Mapping[str, Any]]] = []

    def of(self, tensor: Tensor, frame: Frame) -> Recurring | None:
        """What an entry of the tensor is in this frame, if the tensor is recurrent there."""
        if tensor.name not in frame.lines:
            return None
        key = (frame.where, tuple(sorted(frame.conventions.items())))
        if self.reader.keeps(frame.where):
            formula, alone = get_formula(frame.where), frozenset((tensor.name,))
            return Recurring(formula, key[1], tensor, alone, (), _own_sizes(formula, frame), kept=True)
        if key not in self._cycles:
            self._cycles[key] = cycles(get_formula(frame.where), frame.conventions)
        if tensor.name not in self._cycles[key]:
            return None
        cycle, steps = self._cycles[key][tensor.name]
        formula = get_formula(frame.where)
        return Recurring(formula, key[1], tensor, cycle, steps, _own_sizes(formula, frame))

    # Reading -------------------------------------------------------------------------------------------------------------

    def entry(self, tensor: Tensor, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> Poly | None:
        """A state for an entry of a recurrent tensor; None if it is to be unfolded now."""
        spec = self.of(tensor, frame)
        if spec is None or self._at_hand(spec, index, frame, facts):
            return None
        if not spec.kept and self._ends(tensor, index, frame, facts, spec):
            return None
        if frame.origin.arrays is None:  # otherwise it is the frame of a state that was read
            self.definedness.check(spec, frame, facts)
        sizes = tuple(frame.symbols[s] for s in spec.sizes)
        atom = self.atom(spec, (*index, *sizes, *self._inputs(spec, frame, facts)))
        return apply_by_cases(self.n, atom, facts, lambda state, _: state.poly)

    def atom(self, spec: Recurring, args: tuple[Poly, ...]) -> Atom:
        """A state."""
        self.n.remember_state(spec)
        return Atom("state", spec.name, args)

    def _at_hand(self, spec: Recurring, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> bool:
        """Whether the entry belongs to the step that is being unfolded, and to no step of a recurrence within it."""
        if not self._unfolding:
            return False
        origin, cycle, place, steps = self._unfolding[-1]
        if origin is not frame.origin or spec.tensor.name not in cycle:
            return False
        own = [index[axis] if ascends else -index[axis] for axis, ascends in steps[spec.tensor.name][1]]
        return len(own) <= len(place) and all(
            facts.same_index(a, b) for a, b in zip(own, place, strict=False)
        )

    def _ends(
        self, tensor: Tensor, index: tuple[Poly, ...], frame: Frame, facts: Facts, spec: Recurring
    ) -> bool:
        """Whether the entry is known to be defined without the recurrence."""
        lines = by_lines(self.reader, tensor, frame.lines[tensor.name], index, frame, facts)
        return (
            len(lines) == 1
            and lines[0][0] == ONE
            and not any(
                isinstance(part, Tensor) and part.name in spec.cycle and part.name in frame.lines
                for part in walk(lines[0][1])
            )
        )

    def _inputs(self, spec: Recurring, frame: Frame, facts: Facts) -> tuple[Poly, ...]:
        """The inputs of a formula as arrays."""
        if frame.origin.arrays is not None:
            return frame.origin.arrays
        try:
            return self._read_inputs(spec, frame, frame.origin.facts or facts)
        except Undischarged:  # what is known of other indices may be needed
            return self._read_inputs(spec, frame, facts)

    def _read_inputs(self, spec: Recurring, frame: Frame, facts: Facts) -> tuple[Poly, ...]:
        key = (frame.origin, facts)
        if key not in self._arrays:
            made = []
            for item in spec.inputs:
                shape = tuple(self.reader.index(size, frame, facts) for size in item.shape)
                made.append(self._array(item, shape, frame, facts))
            self._arrays[key] = tuple(made)
        return self._arrays[key]

    def _array(self, item: Tensor, shape: tuple[Poly, ...], frame: Frame, facts: Facts) -> Poly:
        symbols, here = [], facts
        for size in shape:
            symbol = self.n.fresh("k")
            here = self.reader.within(symbol.poly, ZERO, size - 1, here)
            symbols.append(symbol)
        body = self.reader.entry(item, tuple(s.poly for s in symbols), frame, here)
        return bind_array(self.n, tuple(symbols), here.added[len(facts.added) :], body)

    def read_held(self, value: NormalArray, index: tuple[Poly, ...], facts: Facts) -> NormalValue:
        """An entry of an input that is given in normal form."""
        poly = read_array_entry(self.n, self.n.held[str(value.args[0])], index, facts)
        return NormalValue(Str(self.n.hold(poly)))

    # Unfolding -------------------------------------------------------------------------------------------------------------

    def unfold_state(self, atom: Atom, facts: Facts) -> Poly:
        """A state by its definition: what a step makes of the states before it."""
        spec: Recurring = self.n.states[atom.name]
        index, sizes, arrays = spec.parts(atom)
        self.n.note("recurrence")
        if spec.wrt is not None:
            return self._unfold_slope(spec, index, sizes, arrays, facts)
        return self._one_step(spec, index, self._frame(spec, sizes, arrays), facts)

    def _one_step(self, spec: Recurring, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> Poly:
        steps = self._cycles.setdefault(
            (spec.formula.id, spec.conventions), cycles(spec.formula, dict(spec.conventions))
        )
        place = tuple(index[axis] if ascends else -index[axis] for axis, ascends in spec.steps)
        meaning = by_lines(self.reader, spec.tensor, frame.lines[spec.tensor.name], index, frame, facts)
        self._unfolding.append((frame.origin, spec.cycle, place, steps))
        try:
            return self.reader.unfolding.one_of(meaning, facts)
        finally:
            self._unfolding.pop()

    def _frame(self, spec: Recurring, sizes: tuple[Poly, ...], arrays: tuple[Poly, ...]) -> Frame:
        """A frame of the formula at these sizes and inputs."""
        tensors: dict[str, tuple[Basic, Frame]] = {}
        nowhere = Frame()
        for item, array in zip(spec.inputs, arrays, strict=True):
            tensors[item.name] = (NormalArray(Str(self.n.hold(array))), nowhere)
        lines: dict[str, tuple[Definition, ...]] = {}
        for line in own_lines(spec.formula, dict(spec.conventions)):
            lines[line.name] = (*lines.get(line.name, ()), line)
        symbols = dict(zip(spec.sizes, sizes, strict=True))
        conventions, origin = dict(spec.conventions), Origin(arrays=arrays)
        return Frame(symbols, tensors, lines, conventions, spec.formula.id, strict=True, origin=origin)

    def _unfold_slope(
        self,
        spec: Recurring,
        index: tuple[Poly, ...],
        sizes: tuple[Poly, ...],
        arrays: tuple[Poly, ...],
        facts: Facts,
    ) -> Poly:
        """A derivative by its definition: the input becomes a tensor of its own, one step is unfolded and differentiated."""
        assert spec.wrt is not None
        n, item = self.n, spec.wrt
        place = [i.name for i in spec.inputs].index(item.name)
        plain = replace(spec, wrt=None)
        frame = self._frame(plain, sizes, arrays)
        shape = tuple(self.reader.index(size, frame, facts) for size in item.shape)
        domain = nearby(n, item, arrays[place], facts)
        alone = Tensor(n.fresh(item.name, "*").name, item.shape, domain, "given", item.below)
        n.declare(alone.name, domain, shape)
        n.varied[alone.name] = None
        symbols, here = [], facts
        for size in shape:
            symbol = n.fresh("k")
            here = self.reader.within(symbol.poly, ZERO, size - 1, here)
            symbols.append(symbol)
        own = bind_array(
            n,
            tuple(symbols),
            here.added[len(facts.added) :],
            n.entry(alone.name, tuple(s.poly for s in symbols)),
        )
        changed = (*arrays[:place], own, *arrays[place + 1 :])
        rank = len(spec.tensor.shape)
        value = self._one_step(plain, index[:rank], self._frame(plain, sizes, changed), facts)
        slope = derivative(n, value, alone.name, index[rank:], facts)
        back = Change(entries={alone.name: lambda at, known_: read_array_entry(n, arrays[place], at, known_)})
        return rebuild(n, slope, back, facts)

    def unfold_latest(self, poly: Poly, facts: Facts) -> Poly:
        """The term with the latest states of each of its recurrences unfolded once; the term itself if it has none."""
        latest = self._latest(poly, facts)
        if not latest:
            return poly

        def unfold(atom: Atom, known_: Facts) -> Poly | None:
            spec = self.n.states[atom.name]
            key = (sequence(spec, atom), tuple(p.key for p in spec.place(atom)))
            return self.unfold_state(atom, known_) if key in latest else None

        return rebuild(self.n, poly, Change(states=unfold, into_arrays=False), facts)

    def _latest(self, poly: Poly, facts: Facts) -> set[tuple[str, tuple[str, ...]]]:
        places: dict[str, dict[tuple[str, ...], tuple[Poly, ...]]] = {}
        for atom in states_in(poly):
            spec = self.n.states[atom.name]
            place = spec.place(atom)
            if not spec.kept and not any(
                "~" in s.name or "‹" in s.name for part in place for s in part.symbols
            ):
                places.setdefault(sequence(spec, atom), {})[tuple(p.key for p in place)] = place
        return {
            (family, key)
            for family, found in places.items()
            for key, place in found.items()
            if not any(before(place, other, facts) for other in found.values())
        }


def read_array_entry(n: Normal, array: Poly, index: tuple[Poly, ...], facts: Facts) -> Poly:
    """An entry of an array in normal form."""
    if not index:
        return array
    atom = array.atom
    assert atom is not None
    bound, _, body = n.unbind(atom)
    return n.replace_symbols(body, dict(zip(bound, index, strict=True)), facts)


def _own_sizes(formula: Formula, frame: Frame) -> tuple[sympy.Symbol, ...]:
    """The sizes of the formula, among the symbols of a frame."""
    own = _sizes(formula)
    return tuple(sorted((s for s in frame.symbols if s.is_positive and s in own), key=str))


def _sizes(formula: Formula) -> set[sympy.Symbol]:
    named = {item for item in formula.inputs if isinstance(item, sympy.Symbol)}
    return named | {s for t in formula.tensors for size in t.shape for s in size.free_symbols}


def before(place: tuple[Poly, ...], other: tuple[Poly, ...], facts: Facts) -> bool:
    """Whether one place is known to come before another, lexicographically."""
    for a, b in zip(place, other, strict=False):
        if facts.nonnegative(b - a - 1):
            return True
        if not facts.same_index(a, b):
            return False
    return False

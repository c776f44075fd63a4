"""Recurrences in the prover: a state stays a name for itself until it is unfolded by one step.

The entry ``h[t, c]`` of a recurrence cannot be unfolded to its end at symbolic t. It is an atom, a *state*: which formula's
tensor it is, at which index, at which sizes, for which inputs. The inputs stand inside as arrays in normal form, so two
applications of a formula have the same state exactly when their inputs are the same, and whatever is done to a term (replacing
an index, an entry, a derivative) is done to the inputs of its states, too.

:meth:`Recurrences.stepped` unfolds the latest states of a term once, which turns them into states one step earlier: an
equation, whatever the recurrence. Its end, where a line defines an entry without the recurrence, is unfolded at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.expr import Node, Tensor, walk
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import known
from spec.language.lines import Definition
from spec.language.ordering import Group
from spec.language.proving.binders import listed
from spec.language.proving.calculus import derivative
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.replacing import Change, rebuild
from spec.language.proving.terms import ONE, ZERO, Atom, Poly

if TYPE_CHECKING:
    from spec.language.proving.facts import Facts
    from spec.language.proving.normal import Normal
    from spec.language.proving.reading import Reader
    from spec.language.proving.unfolding import Frame

MOST_STEPS = 3
"""How many steps of a recurrence are unfolded at most to find two terms equal."""


@dataclass(frozen=True)
class Recurring:
    """What a state is an entry of: a recurrent tensor of a formula; ``wrt``: its derivative with respect to an input.

    ``steps`` are the axes that the recurrence steps through, outermost first, each with whether it ascends. The arguments of
    the atom are the index (for a derivative, also that of the input's entry), the sizes, and the inputs.
    """

    formula: Formula
    conventions: tuple[tuple[str, str], ...]
    tensor: Tensor
    cycle: frozenset[str]
    steps: tuple[tuple[int, bool], ...]
    sizes: tuple[sympy.Symbol, ...]
    wrt: Tensor | None = None

    @cached_property
    def name(self) -> str:
        """A name for the kind of state."""
        chosen = ",".join(f"{k}={v}" for k, v in self.conventions)
        slope = f"/∂{self.wrt.name}" if self.wrt is not None else ""
        return f"{self.formula.id}({chosen}).{self.tensor.name}{slope}"

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The formula's tensors among its inputs."""
        return tuple(item for item in self.formula.tensors if item.role != "generator")

    @property
    def rank(self) -> int:
        """How many of an atom's arguments are its index."""
        return len(self.tensor.shape) + (0 if self.wrt is None else len(self.wrt.shape))

    def parts(self, atom: Atom) -> tuple[tuple[Poly, ...], tuple[Poly, ...], tuple[Poly, ...]]:
        """The index, the sizes and the inputs of an atom."""
        first, second = self.rank, self.rank + len(self.sizes)
        return atom.args[:first], atom.args[first:second], atom.args[second:]

    def place(self, atom: Atom) -> tuple[Poly, ...]:
        """Where the atom stands along the steps, turned so that later is larger."""
        return tuple(atom.args[axis] if ascends else -atom.args[axis] for axis, ascends in self.steps)


class Held(Basic):
    """An input of a formula given as an array in normal form; the argument is its key."""


class Known(Node):
    """A value already in normal form; the argument is its key."""


def cycles(
    formula: Formula, conventions: Mapping[str, str]
) -> dict[str, tuple[frozenset[str], tuple[tuple[int, bool], ...]]]:
    """For each recurrent tensor of a formula: those it recurs with, and the axes that the recurrence steps through."""
    found: dict[str, tuple[frozenset[str], tuple[tuple[int, bool], ...]]] = {}

    def visit(group: Group, cycle: frozenset[str], outer: Mapping[str, tuple[tuple[int, bool], ...]]) -> None:
        if group.step is None:
            return
        names = {line.name for line in group.lines}
        inner = {name: (*outer.get(name, ()), (group.step.axes[name], group.step.ascends)) for name in names}
        for name in names:
            found[name] = (cycle, inner[name])
        for part in group.body:
            visit(part, cycle, inner)

    for group in formula.flat(conventions).groups:
        visit(group, frozenset(line.name for line in group.lines), {})
    return found


class Recurrences:
    """The states of a proof."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.n = reader, reader.n
        self.n.stepped = self.stepped
        self._cycles: dict[Any, Any] = {}
        self._arrays: dict[Any, tuple[Poly, ...]] = {}
        self._given: dict[int, tuple[Poly, ...]] = {}  # the inputs of frames that were made from them
        self._kept: list[Any] = []  # frames and facts whose identity is part of a key
        self._unfolding: list[tuple[int, frozenset[str], tuple[Poly, ...], Mapping[str, Any]]] = []

    def of(self, tensor: Tensor, frame: Frame) -> Recurring | None:
        """What an entry of the tensor is in this frame, if the tensor is recurrent there."""
        if tensor.name not in frame.lines:
            return None
        key = (frame.where, tuple(sorted(frame.conventions.items())))
        if key not in self._cycles:
            self._cycles[key] = cycles(known(frame.where), frame.conventions)
        if tensor.name not in self._cycles[key]:
            return None
        cycle, steps = self._cycles[key][tensor.name]
        formula = known(frame.where)
        sizes = sorted((s for s in frame.symbols if s.is_positive), key=str)
        own = [s for s in sizes if s in _sizes(formula)]
        return Recurring(formula, key[1], tensor, cycle, steps, tuple(own))

    # Reading -------------------------------------------------------------------------------------------------------------

    def entry(self, tensor: Tensor, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> Poly | None:
        """A state for an entry of a recurrent tensor; None if it is to be unfolded now."""
        spec = self.of(tensor, frame)
        if spec is None or self._at_hand(spec, index, frame, facts):
            return None
        if self._ends(tensor, index, frame, facts, spec):
            return None
        sizes = tuple(frame.symbols[s] for s in spec.sizes)
        return self.atom(spec, (*index, *sizes, *self._inputs(spec, frame, facts))).poly

    def atom(self, spec: Recurring, args: tuple[Poly, ...]) -> Atom:
        """A state."""
        self.n.states[spec.name] = spec
        return Atom("state", spec.name, args)

    def _at_hand(self, spec: Recurring, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> bool:
        """Whether the entry belongs to the step that is being unfolded, and to no step of a recurrence within it."""
        if not self._unfolding:
            return False
        tensors, cycle, place, steps = self._unfolding[-1]
        if tensors != id(frame.tensors) or spec.tensor.name not in cycle:
            return False
        own = [index[axis] if ascends else -index[axis] for axis, ascends in steps[spec.tensor.name][1]]
        return len(own) <= len(place) and all(
            facts.same_index(a, b) for a, b in zip(own, place, strict=False)
        )

    def _ends(
        self, tensor: Tensor, index: tuple[Poly, ...], frame: Frame, facts: Facts, spec: Recurring
    ) -> bool:
        """Whether the entry is known to be defined without the recurrence."""
        lines = self.reader.unfolding.by_lines(tensor, frame.lines[tensor.name], index, frame, facts)
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
        if id(frame.tensors) in self._given:
            return self._given[id(frame.tensors)]
        entered = self.reader.unfolding.known_at.get(id(frame.tensors), facts)
        try:
            return self._read(spec, frame, entered)
        except Undischarged:  # what is known of other indices may be needed
            return self._read(spec, frame, facts)

    def _read(self, spec: Recurring, frame: Frame, facts: Facts) -> tuple[Poly, ...]:
        key = (id(frame.tensors), id(facts))
        if key not in self._arrays:
            self._kept.append((frame.tensors, facts))
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
        return listed(self.n, tuple(symbols), here.added[len(facts.added) :], body)

    def known(self, value: Held, index: tuple[Poly, ...], facts: Facts) -> Known:
        """An entry of an input that is given in normal form."""
        poly = held_entry(self.n, self.n.held[str(value.args[0])], index, facts)
        self.n.held[poly.key] = poly
        return Known(Str(poly.key))

    # Unfolding -------------------------------------------------------------------------------------------------------------

    def unfolded(self, atom: Atom, facts: Facts) -> Poly:
        """A state by its definition: what a step makes of the states before it."""
        spec: Recurring = self.n.states[atom.name]
        index, sizes, arrays = spec.parts(atom)
        self.n.note("recurrence")
        if spec.wrt is not None:
            return self._unfolded_slope(spec, index, sizes, arrays, facts)
        return self._one_step(spec, index, self._frame(spec, sizes, arrays), facts)

    def _one_step(self, spec: Recurring, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> Poly:
        steps = self._cycles.setdefault(
            (spec.formula.id, spec.conventions), cycles(spec.formula, dict(spec.conventions))
        )
        place = tuple(index[axis] if ascends else -index[axis] for axis, ascends in spec.steps)
        meaning = self.reader.unfolding.by_lines(
            spec.tensor, frame.lines[spec.tensor.name], index, frame, facts
        )
        self._kept.append(frame)
        self._unfolding.append((id(frame.tensors), spec.cycle, place, steps))
        try:
            return self.reader.unfolding.one_of(meaning, facts)
        finally:
            self._unfolding.pop()

    def _frame(self, spec: Recurring, sizes: tuple[Poly, ...], arrays: tuple[Poly, ...]) -> Frame:
        """A frame of the formula at these sizes and inputs."""
        from spec.language.proving.unfolding import Frame

        tensors: dict[str, tuple[Basic, Frame]] = {}
        nowhere = Frame()
        for item, array in zip(spec.inputs, arrays, strict=True):
            self.n.held[array.key] = array
            tensors[item.name] = (Held(Str(array.key)), nowhere)
        lines: dict[str, tuple[Definition, ...]] = {}
        for line in own_lines(spec.formula, dict(spec.conventions)):
            lines[line.name] = (*lines.get(line.name, ()), line)
        symbols = dict(zip(spec.sizes, sizes, strict=True))
        self._given[id(tensors)] = arrays
        self._kept.append(tensors)
        return Frame(symbols, tensors, lines, dict(spec.conventions), spec.formula.id, strict=True)

    def _unfolded_slope(
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
        alone = Tensor(n.fresh(item.name, "*").name, item.shape, item.domain, "given", item.below)
        n.declare(alone.name, item.domain, shape)
        symbols, here = [], facts
        for size in shape:
            symbol = n.fresh("k")
            here = self.reader.within(symbol.poly, ZERO, size - 1, here)
            symbols.append(symbol)
        own = listed(
            n,
            tuple(symbols),
            here.added[len(facts.added) :],
            n.entry(alone.name, tuple(s.poly for s in symbols)),
        )
        changed = (*arrays[:place], own, *arrays[place + 1 :])
        rank = len(spec.tensor.shape)
        value = self._one_step(plain, index[:rank], self._frame(plain, sizes, changed), facts)
        slope = derivative(n, value, alone.name, index[rank:], facts)
        back = Change(entries={alone.name: lambda at, known_: held_entry(n, arrays[place], at, known_)})
        return rebuild(n, slope, back, facts)

    def stepped(self, poly: Poly, facts: Facts) -> Poly:
        """The term with the latest states of each of its recurrences unfolded once; the term itself if it has none."""
        latest = self._latest(poly, facts)
        if not latest:
            return poly

        def unfold(atom: Atom, known_: Facts) -> Poly | None:
            spec = self.n.states[atom.name]
            key = (_sequence(spec, atom), tuple(p.key for p in spec.place(atom)))
            return self.unfolded(atom, known_) if key in latest else None

        return rebuild(self.n, poly, Change(states=unfold, into_arrays=False), facts)

    def _latest(self, poly: Poly, facts: Facts) -> set[tuple[str, tuple[str, ...]]]:
        places: dict[str, dict[tuple[str, ...], tuple[Poly, ...]]] = {}
        for atom in _states(poly):
            spec = self.n.states[atom.name]
            place = spec.place(atom)
            if not any("~" in s.name or "‹" in s.name for part in place for s in part.symbols):
                places.setdefault(_sequence(spec, atom), {})[tuple(p.key for p in place)] = place
        return {
            (family, key)
            for family, found in places.items()
            for key, place in found.items()
            if not any(_before(place, other, facts) for other in found.values())
        }


def held_entry(n: Normal, array: Poly, index: tuple[Poly, ...], facts: Facts) -> Poly:
    """An entry of an array in normal form."""
    if not index:
        return array
    atom = array.atom
    assert atom is not None
    bound, _, body = n.opened(atom)
    return n.replaced(body, dict(zip(bound, index, strict=True)), facts)


def slope_of(n: Normal, atom: Atom, name: str, index: tuple[Poly, ...], facts: Facts) -> Poly:
    """∂state/∂name[index], by the chain rule through every input of the recurrence that depends on the tensor."""
    from spec.language.proving.terms import mentions

    spec: Recurring = n.states[atom.name]
    own, sizes, arrays = spec.parts(atom)
    names = frozenset((name,))
    if any(mentions(part, names) for part in (*own, *sizes)):
        raise Unprovable(f"an index depends on {name}, so the derivative is not defined everywhere")
    out = ZERO
    for item, array in zip(spec.inputs, arrays, strict=True):
        if not mentions(array, names):
            continue
        if spec.wrt is not None or item.domain in ("boolean", "integer", "permutation"):
            raise Unprovable(f"the derivative of {spec.name} with respect to {name} is not taken")
        more = replace(spec, wrt=item)
        n.states[more.name] = more
        bound, lits, body = n.opened(array.atom) if item.shape and array.atom is not None else ((), (), array)
        here = facts.assume_all(lits)
        inner = derivative(n, body, name, index, here)
        places = tuple(symbol.poly for symbol in bound)
        outer = Atom("state", more.name, (*own, *places, *sizes, *arrays)).poly
        product = n.mul(outer, inner, here)
        out = out + (n.summed(bound, lits, product, facts) if bound else product)
    return out


def _sizes(formula: Formula) -> set[sympy.Symbol]:
    named = {item for item in formula.inputs if isinstance(item, sympy.Symbol)}
    return named | {s for t in formula.tensors for size in t.shape for s in size.free_symbols}


def _sequence(spec: Recurring, atom: Atom) -> str:
    """A name for all states of one recurrence: the same formula, at the same sizes and inputs."""
    _, sizes, arrays = spec.parts(atom)
    return f"{spec.formula.id}.{min(spec.cycle)}|{'|'.join(part.key for part in (*sizes, *arrays))}"


def _before(place: tuple[Poly, ...], other: tuple[Poly, ...], facts: Facts) -> bool:
    """Whether one place is known to come before another, lexicographically."""
    for a, b in zip(place, other, strict=False):
        if facts.nonnegative(b - a - 1):
            return True
        if not facts.same_index(a, b):
            return False
    return False


def _states(poly: Poly) -> Iterator[Atom]:
    """The states in a term, those in other states' inputs left out."""
    pending: list[Poly] = [poly]
    while pending:
        for mono in pending.pop().terms:
            if mono.exponent is not None:
                pending.append(mono.exponent)
            for atom in _inward((*mono.lits, *mono.atoms)):
                if atom.kind == "state":
                    yield atom
                else:
                    pending += atom.args
                    pending += [] if atom.body is None else [atom.body]


def _inward(atoms: Iterable[Atom]) -> Iterator[Atom]:
    for atom in atoms:
        yield atom
        yield from _inward(atom.lits)

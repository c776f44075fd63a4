"""What a name in a statement stands for: calls are entered, entries are read from what defines them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import NO_LABEL, Comprehension, Tensor
from spec.language.calls import ABSENT, Call, unify
from spec.language.expr import Case, Literal, Ref, lift
from spec.language.flatten import complete_arguments, own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.lines import Definition
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.defining import by_lines
from spec.language.proving.reading.frames import Frame, Meaning, Origin, Reading
from spec.language.proving.reading.recurrences import NormalArray, Recurrences
from spec.language.proving.signs.sets import NULL, POSITIVE
from spec.language.proving.terms.polynomials import ONE, ZERO, Atom, Poly, total
from spec.language.proving.terms.writing import text
from spec.language.trees import free_symbols

DEPTH = 120
"""How deep definitions are unfolded; a recurrence that goes deeper is refused."""


class Unfolding:
    """Finds the meaning of names."""

    def __init__(self, reader: Reading) -> None:
        self.reader, self.n = reader, reader.n
        self.recurrences = Recurrences(reader)
        self._frames: dict[Any, Frame] = {}
        self._callers: dict[Any, Frame] = {}
        self._entries: dict[Any, Poly] = {}
        self._depth = 0

    # Calls -------------------------------------------------------------------------------------------------------------

    def enter(
        self, call: Call, caller: Frame, facts: Facts, fixed: Mapping[str, Tensor] | None = None
    ) -> Frame:
        """The frame of a call: its inputs are the arguments as the caller reads them; ``fixed`` replaces some inputs."""
        outer, fewer = self._outside(call, caller, facts)
        try:
            return self._enter_once(call, outer, fewer, fixed or {})
        except Undischarged:  # what is known of other indices may be needed
            return self._enter_once(call, caller, facts, fixed or {})

    def _enter_once(self, call: Call, caller: Frame, facts: Facts, fixed: Mapping[str, Tensor]) -> Frame:
        key = (call.args[0], call.args[2], caller, tuple(sorted(fixed.items(), key=str)), facts)
        if key not in self._frames:
            self._frames[key] = self._enter(
                get_formula(call.formula_id), call.arguments, caller, facts, fixed
            )
        return self._frames[key]

    def walk_outer_facts(self, frame: Frame) -> Iterator[Facts]:
        """What was known where a frame and those that it reads its inputs in were entered."""
        pending, seen = [frame], set[Origin]()
        while pending:
            here = pending.pop()
            if here.origin not in seen:
                seen.add(here.origin)
                pending += [caller for _, caller in here.tensors.values()]
                if here.origin.facts is not None:
                    yield here.origin.facts

    def _outside(self, call: Call, caller: Frame, facts: Facts) -> tuple[Frame, Facts]:
        """The caller and the facts as far as a call's arguments depend on them: one frame for as many places as possible."""
        free = set().union(*(free_symbols(argument) for argument in call.arguments))
        symbols = {s: p for s, p in caller.symbols.items() if s in free or s.is_positive}
        key = (
            caller.origin,
            caller.where,
            tuple(sorted(caller.conventions.items())),
            tuple(sorted((s.name, p.key) for s, p in symbols.items())),
        )
        if key not in self._callers:
            self._callers[key] = replace(caller, symbols=symbols)
        inside = {Atom("symbol", s.name) for s in free - symbols.keys()}.union(
            *(p.symbols for p in symbols.values())
        )
        kept = [lit for lit in facts.added if all(s in inside or self.n.is_size(s) for s in lit.symbols)]
        return self._callers[key], facts.root.assume_all(kept)

    def _enter(
        self,
        callee: Formula,
        arguments: tuple[Basic, ...],
        caller: Frame,
        facts: Facts,
        fixed: Mapping[str, Tensor],
    ) -> Frame:
        self.n.note("unfold")
        wanted = {c.name for c in callee.conventions}
        conventions = {name: option for name, option in caller.conventions.items() if name in wanted}
        flat = callee.flat(conventions)
        arguments = complete_arguments(callee, arguments, flat.absent)
        sizes = {
            old: self.reader.index(new, caller, facts)
            for old, new in unify(callee, arguments).items()
            if isinstance(old, sympy.Symbol)
        }
        tensors: dict[str, tuple[Basic, Frame]] = {}
        for item, value in zip(callee.inputs, arguments, strict=True):
            if isinstance(item, Tensor):
                tensors[item.name] = (fixed.get(item.name, value), caller)
                if item.name not in fixed:
                    self.fits(callee, item, value, caller, facts, sizes)
        for constant, number in callee.constants.items():
            self.n.constant(constant, number)
            if constant in caller.constants:  # a theorem may fix a constant's value
                tensors[constant.name] = caller.constants[constant]
        lines: dict[str, tuple[Definition, ...]] = {}
        for line in own_lines(callee, callee.choose(conventions)):
            lines[line.name] = (*lines.get(line.name, ()), line)
        chosen = callee.choose(conventions)
        constants, origin = caller.constants, Origin(facts)
        return Frame(
            sizes, tensors, lines, chosen, callee.id, strict=True, constants=constants, origin=origin
        )

    def fits(
        self,
        callee: Formula,
        item: Tensor,
        value: Basic,
        caller: Frame,
        facts: Facts,
        sizes: Mapping[sympy.Symbol, Poly],
        edges: bool = True,
    ) -> None:
        """The argument lies in the input's declared domain, or (``edges``) is fixed by the theorem, to the edge of it even."""
        if value == ABSENT or item.role == "generator" or item.domain in ("real", "boolean"):
            return
        reader = self.reader
        plain = value.tensor if isinstance(value, Ref) else value
        if edges and isinstance(plain, Tensor) and plain.name in reader.fixed:
            return  # a theorem may fix an input at the edge of its domain: ε = 0
        found = self._unfold_argument(value, caller, facts)
        below = ZERO
        if item.domain in ("integer", "label"):
            inside = Frame(sizes, caller.tensors, strict=True, origin=caller.origin)
            below = reader.index(item.below, inside, facts)
        if found is None:
            if value.domain != item.domain:
                raise Undischarged(f"{value.name}, which is {value.domain}, is {item.domain}")
            if below and not facts.nonnegative(below - reader.index(value.below, caller, facts)):
                raise Undischarged(f"{value.name} stays below {item.below}, as {callee.id} asks")
            return
        for node, inner, here in found:
            if item.domain in ("positive", "nonnegative", "share"):
                self._fits_sign(callee, item, node, inner, here)
            elif below:
                place = reader.index(node, inner, here)
                free = item.domain == "label" and _is_label(node)
                if not all(
                    (free or known_.nonnegative(at)) and known_.nonnegative(below - at - 1)
                    for at, known_ in _cases(place, here)
                ):
                    raise Undischarged(
                        f"{reader.text(node, inner)} lies in 0 … {item.below} - 1, as {callee.id} asks"
                    )

    def _fits_sign(self, callee: Formula, item: Tensor, node: Any, inner: Frame, here: Facts) -> None:
        """A value has the sign that an input asks for; of a share the upper edge is asked for, too."""
        reader, name = self.reader, f"{callee.id} asks of {item.name}"
        if item.domain == "share" and reader.sign(lift(1) - node, inner, here) & ~(POSITIVE | NULL):
            raise Undischarged(f"{reader.text(node, inner)} ≤ 1, as {name}")
        mask = reader.sign(node, inner, here)
        if mask & ~(POSITIVE if item.domain == "positive" else POSITIVE | NULL):
            relation = "> 0" if item.domain == "positive" else "≥ 0"
            raise Undischarged(f"{reader.text(node, inner)} {relation}, as {name}")
        said = "at most 1, and at least 0" if item.domain == "share" else item.domain
        reader.n.ledger.record(reader.show_tree(node), f"is {said}, as {name}", "its form", inner.where)

    def _unfold_argument(
        self, value: Any, caller: Frame, facts: Facts
    ) -> list[tuple[Any, Frame, Facts]] | None:
        """What an entry of an argument stands for, each alternative where it does; None for a tensor as it is."""
        index = []
        for size in value.shape if isinstance(value, Tensor | Comprehension) else ():
            symbol = self.n.fresh("k").poly
            facts = self.reader.within(symbol, ZERO, self.reader.index(size, caller, facts) - 1, facts)
            index.append(symbol)
        meaning = self.find_meaning(value, tuple(index), caller, facts)
        if meaning is None:
            return None
        found = [(node, inner, facts.assume_value(condition)) for condition, node, inner in meaning]
        return [every for one in found for every in self._branches(*one)]

    def _branches(self, node: Any, inner: Frame, facts: Facts) -> Iterator[tuple[Any, Frame, Facts]]:
        """The branches of a case, each where it is chosen; anything else as it is."""
        if not isinstance(node, Case):
            yield node, inner, facts
            return
        held = self.reader.condition(node.args[0], inner, facts)
        for condition, branch in ((held, node.args[1]), (ONE - held, node.args[2])):
            here = facts.assume_value(condition)
            if condition and not here.impossible:
                yield from self._branches(branch, inner, here)

    def nearby(self, item: Tensor, value: Any, caller: Frame, facts: Facts) -> str:
        """The domain of an input in a neighbourhood of an argument: positive only where the argument is known to be.

        A derivative speaks of the neighbourhood: of an input that may be 0, or that a theorem fixes to 0, it is no edge.
        """
        if item.domain not in ("positive", "nonnegative", "share"):
            return item.domain
        found = self._unfold_argument(value, caller, facts)
        if found is None:
            return "positive" if value.domain == "positive" else "real"
        inside = all(self.reader.sign(node, inner, here) == POSITIVE for node, inner, here in found)
        return "positive" if inside else "real"

    def is_recurrent(self, tensor: Tensor, frame: Frame) -> bool:
        """Whether the entries of a tensor are states of a recurrence."""
        return self.recurrences.of(tensor, frame) is not None

    def output(self, call: Call, frame: Frame) -> Tensor:
        """The tensor that a call reads: an output, or (within a theorem) that of any line.

        Raises:
            Unprovable: no line defines it.
        """
        for lines in frame.lines.values():
            if lines[0].name == call.output:
                return lines[0].left.tensor
        raise Unprovable(f"no line of {call.formula_id} defines {call.output}")

    # Entries -----------------------------------------------------------------------------------------------------------

    def entry(self, value: Basic, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> Poly:
        """The entry of an array: a tensor's, or a comprehension's."""
        if value == ABSENT:
            return ONE
        lit = next((poly.conditions[0] for poly in index if poly.conditions), None)
        if lit is not None:  # which entry it is depends on a condition
            yes, no = (
                self.entry(
                    value, tuple(poly.at(lit, holds) for poly in index), frame, facts.assume(lit, holds)
                )
                for holds in (True, False)
            )
            self.n.note("cases")
            return self.n.mul(lit.poly, yes - no, facts) + no
        key = (value, index, frame, facts)
        if key in self._entries:
            return self._entries[key]
        self._in_range(value, index, frame, facts)
        state = (
            self.recurrences.entry(value, index, frame, facts)
            if isinstance(value, Tensor) and value.name in frame.lines
            else None
        )
        meaning = None if state is not None else self.find_meaning(value, index, frame, facts)
        if state is not None:
            out = state
        elif meaning is None:
            tensor, owner = self.opaque(value, frame)
            self._declare(tensor, owner, facts)
            out = self.n.decide_entry(tensor.name, index, facts)
        else:
            self._depth += 1
            if self._depth > DEPTH:
                raise Unprovable(f"the definition of {value} refers to itself too deeply to be unfolded")
            try:
                out = self.one_of(meaning, facts)
            finally:
                self._depth -= 1
        self._entries[key] = out
        return out

    def one_of(self, meaning: Meaning, facts: Facts) -> Poly:
        """The value of an entry, of the alternatives that it may mean."""
        parts = []
        for condition, node, inner in meaning:
            if node == ABSENT:
                return ONE
            here = facts.assume_value(condition)
            plain = isinstance(node, Tensor)
            read = self.entry(node, (), inner, here) if plain else self.reader.read(node, inner, here)
            parts.append(self.n.mul(condition, read, facts))
        return total(parts)

    def _declare(self, tensor: Tensor, frame: Frame, facts: Facts) -> None:
        known = self.n.originals.get(tensor.name)
        if known is not None and known != tensor:
            raise Unprovable(f"{tensor.name} names two different tensors")
        if known is None:
            shape = tuple(self.reader.index(size, frame, facts) for size in tensor.shape)
            self.n.remember(tensor)
            self.n.declare(tensor.name, tensor.domain, shape, self.reader.index(tensor.below, frame, facts))

    def _in_range(self, value: Basic, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> None:
        if not isinstance(value, Tensor | Comprehension):
            return
        name = value.name if isinstance(value, Tensor) else "an array"
        for place, size in zip(index, value.shape, strict=True):
            last = self.reader.index(size, frame, facts) - 1
            if not (facts.nonnegative(place) and facts.nonnegative(last - place)):
                where = f" in {frame.where}" if frame.where else ""
                raise Undischarged(
                    f"the index {text(self.n, place)} of {name} stays in 0 … {text(self.n, last)}{where}"
                )

    def find_meaning(
        self, value: Basic, index: tuple[Poly, ...], frame: Frame, facts: Facts
    ) -> Meaning | None:
        """What the entry of an array at ``index`` stands for; None for a tensor that stands for itself."""
        if isinstance(value, Comprehension):
            inner = frame.bind(dict(zip(value.vars, index, strict=True)))
            return [(ONE, value.body, inner)]
        if isinstance(value, NormalArray):
            return [(ONE, self.recurrences.read_held(value, index, facts), frame)]
        if not isinstance(value, Tensor):
            return [(ONE, value, frame)]
        if value.name in frame.lines:
            return by_lines(self.reader, value, frame.lines[value.name], index, frame, facts)
        if value.name in frame.tensors:
            given, caller = frame.tensors[value.name]
            return self.find_meaning(given, index, caller, facts)
        return None

    def opaque(self, value: Basic, frame: Frame) -> tuple[Tensor, Frame]:
        """The tensor that stands for itself at the end of a chain of names."""
        while isinstance(value, Tensor) and value.name in frame.tensors:
            value, frame = frame.tensors[value.name]
        assert isinstance(value, Tensor)
        return value, frame


def _cases(poly: Poly, facts: Facts) -> Iterator[tuple[Poly, Facts]]:
    """What a term is in each case that its conditions distinguish, with what is known there."""
    if not poly.conditions:
        yield poly, facts
        return
    lit = poly.conditions[0]
    for holds in (True, False):
        here = facts.assume(lit, holds)
        if not here.impossible:
            yield from _cases(poly.at(lit, holds), here)


def _is_label(node: Any) -> bool:
    """Whether a tree is a label, or the one that says that there is none."""
    if isinstance(node, Ref):
        return bool(node.tensor.domain == "label")
    return isinstance(node, Literal) and node.value == NO_LABEL

"""Whether a recurrence is defined: a state stays a name for itself, so the lines that it comes from are read at every index.

A formula that is defined at all inputs of its domains is read once, with its inputs as tensors; another, or one that is applied
outside of these domains (at a size that may be 0, or differentiated at an edge), is read as it is applied.
"""

from __future__ import annotations

from spec.language.arrays import Tensor
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.lines import Definition
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Undischarged, Unprovable
from spec.language.proving.reading.frames import Frame, Origin, Reading
from spec.language.proving.reading.states import Recurring
from spec.language.trees import walk

_EVERYWHERE: dict[tuple[Formula, tuple[tuple[str, str], ...], Tensor], bool] = {}
"""Which recurrences are defined at all inputs of their formula's domains, as far as was asked."""


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
        if key not in _EVERYWHERE:
            lines: dict[str, tuple[Definition, ...]] = {}
            for line in own_lines(spec.formula, dict(spec.conventions)):
                lines[line.name] = (*lines.get(line.name, ()), line)
            frame = Frame(lines=lines, conventions=dict(spec.conventions), where=spec.formula.id)
            # What it applies need not be looked into where that is defined at all inputs itself.
            _EVERYWHERE[key] = any(
                _reads(spec, frame, self.reader.another(opened))
                for opened in (frozenset((spec.formula.id,)), None)
            )
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

"""States of recurrences: what an entry of a recurrent tensor is as an atom, and which of several comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy

from spec.language.arrays import Tensor
from spec.language.formula import Formula
from spec.language.ordering import Group
from spec.language.proving.terms.polynomials import Atom, Poly


@dataclass(frozen=True)
class Recurring:
    """What a state is an entry of: a recurrent tensor of a formula; ``wrt``: its derivative with respect to an input.

    ``steps`` are the axes that the recurrence steps through, outermost first, each with whether it ascends. The arguments of
    the atom are the index (for a derivative, also that of the input's entry), the sizes, and the inputs.
    A formula that is ``kept`` has states, too, which are never unfolded.
    """

    formula: Formula
    conventions: tuple[tuple[str, str], ...]
    tensor: Tensor
    cycle: frozenset[str]
    steps: tuple[tuple[int, bool], ...]
    sizes: tuple[sympy.Symbol, ...]
    wrt: Tensor | None = None
    kept: bool = False

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


def sequence(spec: Recurring, atom: Atom) -> str:
    """A name for all states of one recurrence: the same formula, at the same sizes and inputs."""
    _, sizes, arrays = spec.parts(atom)
    return f"{spec.formula.id}.{min(spec.cycle)}|{'|'.join(part.key for part in (*sizes, *arrays))}"


def states_in(poly: Poly) -> Iterator[Atom]:
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

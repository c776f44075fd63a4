"""Frames: what the index symbols, sizes and tensors of a tree stand for where it is read.

Nothing is substituted into a tree, so nothing can be captured: entering a call or a bound index makes a further frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.binders import Bound
from spec.language.calls import Call
from spec.language.expr import Choice
from spec.language.lines import Definition
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.reading.states import Recurring
from spec.language.proving.rules.normal import Normal
from spec.language.proving.terms.polynomials import Poly


@dataclass(frozen=True, eq=False)
class Origin:
    """How frames came to be: what was known where their formula was applied, or the arrays that its inputs are.

    One object for every frame made from the first by binding symbols; two that look alike are two.
    """

    facts: Facts | None = None
    arrays: tuple[Poly, ...] | None = None


@dataclass(frozen=True, eq=False)
class Frame:
    """Where a tree is read: what its symbols are, what its tensors are, and which lines define the others.

    ``where`` names the formula for messages; ``strict`` frames know every symbol. ``constants`` are those that a theorem fixes.
    """

    symbols: Mapping[sympy.Symbol, Poly] = field(default_factory=dict)
    tensors: Mapping[str, tuple[Basic, Frame]] = field(default_factory=dict)
    lines: Mapping[str, tuple[Definition, ...]] = field(default_factory=dict)
    conventions: Mapping[str, str] = field(default_factory=dict)
    where: str = ""
    strict: bool = False
    constants: Mapping[Tensor, tuple[Basic, Frame]] = field(default_factory=dict)
    origin: Origin = field(default_factory=Origin)

    def bind(self, symbols: Mapping[sympy.Symbol, Poly]) -> Frame:
        """The frame with further index symbols."""
        return replace(self, symbols={**self.symbols, **symbols})


Meaning = list[tuple[Poly, Basic, Frame]]
"""Alternatives for an entry: under a condition, a tree read in a frame."""


class Meanings(Protocol):
    """What a name stands for; see :class:`~spec.language.proving.reading.unfolding.Unfolding`."""

    def enter(
        self, call: Call, caller: Frame, facts: Facts, fixed: Mapping[str, Tensor] | None = None
    ) -> Frame:
        """The frame of a call."""

    def walk_outer_facts(self, frame: Frame) -> Iterator[Facts]:
        """What was known where the formula of a frame was applied, and so on outward."""

    def nearby(self, item: Tensor, value: Any, caller: Frame, facts: Facts) -> str:
        """The domain of an argument, with all around it."""

    def output(self, call: Call, frame: Frame) -> Tensor:
        """The tensor that a call is an entry of."""

    def one_of(self, meaning: Meaning, facts: Facts) -> Poly:
        """The value of an entry from its alternatives."""

    def find_meaning(
        self, value: Basic, index: tuple[Poly, ...], frame: Frame, facts: Facts
    ) -> Meaning | None:
        """What an entry stands for; None where that is itself."""

    def is_recurrent(self, tensor: Tensor, frame: Frame) -> bool:
        """Whether the entries of a tensor are states of a recurrence."""


class Reading(Protocol):
    """Reads trees into terms; see :class:`~spec.language.proving.reading.reader.Reader`."""

    n: Normal
    unroll: bool
    fixed: frozenset[str]

    @property
    def unfolding(self) -> Meanings:
        """What names stand for."""

    def another(self, opened: frozenset[str] | None = None) -> Reading:
        """A reader for another proof, which looks into formulas, or into those opened alone."""

    def keeps(self, formula_id: str) -> bool:
        """Whether a formula is not looked into where it is applied."""

    def text(self, node: Any, frame: Frame, relation: str = "") -> str:
        """A tree as messages have it, with its place."""

    def show_tree(self, node: Any) -> Any:
        """A tree as messages have it."""

    def describe_known(self, facts: Facts) -> str:
        """What is known at a place beside ranges, as text."""

    def value(self, node: Any, frame: Frame, facts: Facts) -> Poly:
        """The value of a tree."""

    def read(self, node: Any, frame: Frame, facts: Facts) -> Poly:
        """A value, or the indicator of a condition."""

    def entry(self, value: Basic, index: tuple[Poly, ...], frame: Frame, facts: Facts) -> Poly:
        """The entry of an array."""

    def condition(self, node: Any, frame: Frame, facts: Facts) -> Poly:
        """A condition as an indicator."""

    def index(self, expr: Any, frame: Frame, facts: Facts) -> Poly:
        """Index arithmetic, or a number."""

    def sign(self, node: Any, frame: Frame, facts: Facts) -> int:
        """The signs a tree can have."""

    def choose_option(self, node: Choice, frame: Frame) -> Any:
        """The option that the frame's conventions pick."""

    def within(self, at: Poly, first: Poly, last: Poly, facts: Facts) -> Facts:
        """The facts with an index in a range."""

    def limits(self, node: Bound, frame: Frame, facts: Facts) -> tuple[Poly, Poly]:
        """The range of a bound index."""

    def read_recurrence(self, spec: Recurring, frame: Frame) -> None:
        """Read the lines that a state comes from."""

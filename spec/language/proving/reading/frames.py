"""Frames: what the index symbols, sizes and tensors of a tree stand for where it is read.

Nothing is substituted into a tree, so nothing can be captured: entering a call or a bound index makes a further frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Tensor
from spec.language.lines import Definition
from spec.language.proving.terms.polynomials import Poly

if TYPE_CHECKING:
    from spec.language.proving.knowledge.facts import Facts


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

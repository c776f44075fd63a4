"""What all checks of one report share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from verify.inputs.examples import Example, Space
from verify.properties.judge import Judge
from verify.properties.substitutions import Kept
from verify.search.search import Clock
from verify.subject.caller import Caller


@dataclass
class Setting:
    """What all checks of one report share.

    Attributes:
        judge: the formula under its conventions.
        caller: the callable.
        seed: determines every example.
        max_examples: examples for each value check.
        clock: the limit on the whole.
        shrinking: the seconds left for making counterexamples small.
        violated: when the first violation of all was seen.
        searched: whether a search has ended.
        valued: whether values were tried at all examples in some type, and nothing was wrong.
        sloped: the same of gradients.
        scenes: examples of the scenarios that are to come.
        drawn: inputs at which theorems were played.
        kept: what the callable returned to theorems.
        paces: the seconds that a call takes, by type and sizes.
        edges: the conventions of the check that were chosen (:mod:`verify.edges`).
        named: the formula's conventions that stay where others are sought.
        found: the latest violation, before it was made small.
        small: whether counterexamples are made small.
    """

    judge: Judge
    caller: Caller
    seed: int
    max_examples: int
    clock: Clock
    shrinking: float = 4.0
    violated: float | None = None
    searched: bool = False
    valued: bool = False
    sloped: bool = False
    scenes: dict[str, list[Example]] = field(default_factory=dict)
    drawn: dict[Any, Example] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)
    paces: dict[Any, float] = field(default_factory=dict)
    edges: Mapping[str, str] = field(default_factory=dict)
    named: Collection[str] = ()
    found: Example | None = None
    small: bool = True

    def space(self, moderate: bool = False) -> Space:
        """The examples to draw from."""
        return Space(self.judge.formula, self.caller.takes_mask, moderate, self.caller.sizes)


__all__ = ["Setting"]

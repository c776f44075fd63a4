"""What examples are drawn for: a statement, how many, and what is known of what will be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from spec.language.evaluation.dimensions import Size
from verify.inputs.examples import Space
from verify.inputs.size_rules import Supported
from verify.properties.judge import Judge
from verify.search.search import Clock


class Taker(Protocol):
    """What is called, as far as examples depend on it: whether it takes a mask, and the sizes that it supports."""

    takes_mask: bool
    sizes: Supported


@dataclass
class Drawing:
    """What examples are drawn for.

    Attributes:
        judge: the formula under its conventions.
        caller: the callable.
        seed: determines every example.
        max_examples: examples for each value check.
        clock: the limit on the whole.
        searched: whether a search has ended.
        valued: whether values were tried at all examples in some type, and nothing was wrong.
        sloped: the same of gradients.
    """

    judge: Judge
    caller: Taker
    seed: int
    max_examples: int
    clock: Clock
    searched: bool = field(default=False, kw_only=True)
    valued: bool = field(default=False, kw_only=True)
    sloped: bool = field(default=False, kw_only=True)

    def space(self, moderate: bool = False) -> Space:
        """The examples to draw from."""
        return Space(self.judge.formula, self.caller.takes_mask, moderate, self.caller.sizes)

    def pace(self, dtype: str, sizes: Mapping[Size, int]) -> float:
        """The seconds that a call takes; as good as none, where nobody has called it."""
        return 0.0


__all__ = ["Drawing", "Taker"]

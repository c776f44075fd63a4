"""How a callable fared on an example."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from verify.faults import Fault


@dataclass
class Outcome:
    """How a callable fared on one example; ``ratio`` is error/bound, infinite where the call itself failed.

    ``idle``: the example gave nothing to compare; ``aside``: why it is not judged, though something was wrong there;
    ``returned``: the type of what came back; ``asked``: what was compared, and ``answered``: of which of it the bound was small
    against a value; ``claim``: which of a theorem; ``fault``: what is wrong with a call that gave nothing to compare.
    """

    ratio: float = 0.0
    effective: bool = False
    idle: bool = False
    aside: str = ""
    message: str = ""
    what: str = ""
    index: tuple[int, ...] | None = None
    got: float | None = None
    expected: float | None = None
    tolerance: float | None = None
    violates: str = ""
    returned: str = ""
    asked: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()
    claim: int | None = None
    fault: Fault | None = None

    @classmethod
    def of_fault(cls, fault: Fault, violates: str = "") -> Outcome:
        """The outcome of a call that failed itself, or returned what cannot be compared."""
        return cls(ratio=math.inf, message=str(fault), violates=violates, fault=fault)

    @classmethod
    def set_aside(cls, why: str) -> Outcome:
        """The outcome of an example that is not judged, though something was wrong there."""
        return cls(idle=True, aside=why)

    @property
    def fails(self) -> bool:
        """Whether the statement is violated."""
        return self.ratio > 1

    def worse(self, other: Outcome) -> Outcome:
        """The worse of two outcomes on the same example."""
        best = other if other.ratio > self.ratio else self
        best.effective = self.effective or other.effective
        best.asked, best.answered = self.asked | other.asked, self.answered | other.answered
        return best


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The worst of several outcomes on one example."""
    result = Outcome()
    for outcome in outcomes:
        result = result.worse(outcome)
    return result


__all__ = ["Outcome", "worst"]

"""An explanation of a falsification: a sentence for readers, and a typed reason for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Reason(StrEnum):
    """The kind of an explanation; programs decide by it, and never by the sentence."""

    NONE = ""
    CONVENTIONS = "conventions"
    """It conforms under other conventions."""
    NEAREST = "nearest"
    """Some conventions are nearer than others, and it fails under them, too."""
    CAUSE = "cause"
    """It computes something else, which is named."""
    SINGLE = "single"
    """It computes in float32 inside."""
    CALLS = "calls"
    """It fails behind other calls alone, or in the first of all."""
    UNSTEADY = "unsteady"
    """It is not the same from call to call: one call shows nothing."""
    SIZES = "sizes"
    """It fails at some sizes alone, or under some masks: no limit on entries makes it right there."""
    ENTRIES = "entries"
    """It fails at large entries alone, or in few regimes."""
    SCENES = "scenes"
    """Plain calls conform; only some scene of use fails."""


@dataclass(frozen=True)
class Explanation:
    """What explains a falsification.

    Attributes:
        said: a sentence.
        reason: its kind.
        changes: what it changes of the conventions, if it does.
        others: what else may be changed, if it fails under these after all.
        tried: whether an explanation was looked for.
    """

    said: str = ""
    reason: Reason = Reason.NONE
    changes: Mapping[str, str] = field(default_factory=dict)
    others: tuple[Mapping[str, str], ...] = ()
    tried: bool = False

    @property
    def is_vague(self) -> bool:
        """Whether it says what is nearest, or where it fails, and not why."""
        return self.reason in (Reason.NONE, Reason.NEAREST, Reason.SIZES, Reason.ENTRIES)

    @property
    def has_range(self) -> bool:
        """Whether a limit on entries may make the callable right, as far as this tells."""
        return self.reason not in (Reason.CONVENTIONS, Reason.SIZES)


__all__ = ["Explanation", "Reason"]

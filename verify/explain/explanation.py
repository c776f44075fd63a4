"""An explanation of a falsification: a sentence for readers, and a typed reason for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from verify.report import Reason


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


__all__ = ["Explanation"]

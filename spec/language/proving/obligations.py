"""Obligations: what has to be known before a step may be taken, and how it came to be known.

A division needs its divisor nonzero, a root its argument at least 0, an entry its index in range, a cancellation what is
cancelled nonzero. An obligation is discharged by the structure of the expression, by the sizes (each at least 1), or by an
assumption; otherwise the step is refused with a message that names it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy.core.basic import Basic

from spec.language.render import unicode


@dataclass(frozen=True)
class Obligation:
    """Something that must hold: what is said of which tree, in which formula it stands, and how it was discharged."""

    tree: Basic | str
    relation: str
    where: str
    reason: str

    @property
    def sentence(self) -> str:
        """What must hold, as text."""
        tree = self.tree if isinstance(self.tree, str) else unicode(self.tree)
        return " ".join(part for part in (tree, self.relation, self.where and f"in {self.where}") if part)

    def __str__(self) -> str:
        return f"{self.sentence} ({self.reason})"


class Undischarged(Exception):  # noqa: N818  (what an obligation is, not a fault)
    """A step is refused: an obligation of it is not known to hold."""

    def __init__(self, sentence: str, known: str = "") -> None:
        self.sentence = sentence
        super().__init__(f"undischarged: {sentence}" + (f", known: {known}" if known else ""))


class Unprovable(Exception):  # noqa: N818  (what a step is, not a fault)
    """A step is refused for another reason, given as one line."""


class Ledger:
    """The obligations met during one proof."""

    def __init__(self) -> None:
        self.entries: dict[str, Obligation] = {}

    def record(self, tree: Basic | str, relation: str, reason: str, where: str = "") -> None:
        """Record what holds of a tree, with the reason why."""
        entry = Obligation(tree, relation, where, reason)
        self.entries.setdefault(str(entry), entry)

"""Procedures: searches and rewritings that no formula of closed form states, such as beam search.

A procedure is stated twice over: as a plain executable reference, and as requirements that every result of it satisfies,
whoever computed it. A requirement is a sentence and a predicate over a problem and a *solver*, the reference or an
implementation; that the reference itself satisfies all of them is checked by enumeration of small problems.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spec.language.convention import Convention, choose
from spec.language.formula import Pitfall, Source

ASSURANCE = "checked by enumeration"
"""How sure it is that the reference satisfies a requirement: all small problems were tried."""

Solver = Callable[..., Any]
"""Solves a problem; keywords change the problem first."""


@dataclass(frozen=True)
class Requirement:
    """What every result satisfies.

    Attributes:
        name: how it is called, unique within its procedure.
        sentence: what it says, in words.
        broken: given a problem and a solver, what is wrong in a line, or "" if it holds.
        line: the same as an equation, where there is one.
    """

    name: str
    sentence: str
    broken: Callable[[Any, Solver], str]
    line: str = ""


@dataclass(frozen=True, eq=False)
class Procedure:
    """A procedure with its reference and its requirements.

    ``inputs`` and ``returns`` say what each of them is, in the order in which they are named; ``steps`` tell the procedure in
    numbered sentences, which ``reference`` carries out as they stand.
    """

    id: str
    title: str
    why: str
    inputs: Mapping[str, str]
    returns: Mapping[str, str]
    steps: tuple[str, ...]
    reference: Callable[..., Any]
    requirements: tuple[Requirement, ...]
    conventions: tuple[Convention, ...] = ()
    pitfalls: tuple[Pitfall, ...] = ()
    sources: tuple[Source, ...] = ()
    notes: str = ""
    named: Mapping[str, Requirement] = field(init=False)

    def __post_init__(self) -> None:
        named = {requirement.name: requirement for requirement in self.requirements}
        if len(named) < len(self.requirements):
            raise ValueError(f"{self.id}: two requirements share a name")
        object.__setattr__(self, "named", named)

    @property
    def module(self) -> str:
        """The subject: ``decoding`` of ``decoding.beam``."""
        return self.id.split(".")[0]

    def choose(self, conventions: Mapping[str, str] | None = None) -> dict[str, str]:
        """The full choice of conventions, defaults filled in.

        Raises:
            ValueError: an unknown convention or option, named with what is known.
        """
        return choose(self.id, self.conventions, conventions)

    @property
    def fingerprint(self) -> str:
        """A hash of what is stated, so that evidence recorded for another statement is recognised as stale."""
        parts: Sequence[str] = (
            self.id,
            *self.steps,
            inspect.getsource(inspect.getmodule(self.reference) or self.reference),
            *(requirement.sentence for requirement in self.requirements),
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

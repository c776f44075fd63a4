"""Who judges a callable that is held to a procedure: decoders have a contract of their own, and so has what makes tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from hypothesis.strategies import SearchStrategy

from spec.language.procedure import Procedure
from verify.decoding.case_result import REPEATS, VALUE, CaseResult
from verify.decoding.contract import Decoder
from verify.decoding.guard import Guard
from verify.decoding.judging import CaseJudge
from verify.decoding.tokens import TokenJudge


class Judge(Protocol):
    """Draws cases for a callable and judges them, by the reference or by one requirement; its cases are data classes."""

    @property
    def procedure(self) -> Procedure:
        """What the callable is held to."""

    @property
    def conventions(self) -> Mapping[str, str]:
        """The procedure's conventions, as chosen."""

    @property
    def guard(self) -> Guard:
        """What surrounds its calls."""

    @property
    def takes(self) -> Collection[str]:
        """The options that the callable takes."""

    @property
    def dtype(self) -> str:
        """The type of what is computed; empty where nothing is."""

    @property
    def notes(self) -> list[str]:
        """Notes on what the callable is not asked for."""

    def cases(self, check: str) -> list[tuple[float, SearchStrategy[Any]]]:
        """The cases that a check draws, and which share of them is of which sorts."""

    def judge(self, check: str, case: Any) -> CaseResult:
        """What a check finds in a case."""

    def case(self, data: Mapping[str, Any]) -> Any:
        """A case from its data."""

    def describe(self, case: Any) -> dict[str, Any]:
        """Describe a case for a reader, as names and values."""


def judge_of(fn: Callable[..., Any], procedure: Procedure, conventions: Mapping[str, str]) -> Judge:
    """The judge of a callable under a procedure.

    Raises:
        Unusable: it cannot be called as the procedure's contract says.
    """
    if procedure.module == "decoding":
        return CaseJudge(procedure, conventions, Decoder.of(fn, procedure.id))
    return TokenJudge.of(fn, procedure, conventions)


__all__ = ["REPEATS", "VALUE", "Judge", "CaseResult", "judge_of"]

"""Every formula that has been constructed, by its ID: how a statement that applies another finds it."""

from __future__ import annotations

from typing import Any, Protocol

import sympy

from spec.language.arrays import Tensor


class Stated(Protocol):
    """What one formula needs to know of another that it applies."""

    @property
    def id(self) -> str:
        """Its ID."""
        ...

    @property
    def inputs(self) -> tuple[Tensor | sympy.Symbol, ...]:
        """Its inputs, in declared order."""
        ...


_KNOWN: dict[str, Any] = {}


def add(formula: Stated) -> None:
    """Make a formula known by its ID; only formulas of tests (``test.…``) may be stated again.

    Raises:
        ValueError: another formula has this ID.
    """
    if formula.id in _KNOWN and not formula.id.startswith("test."):
        raise ValueError(f"{formula.id}: a formula with this ID is stated already")
    _KNOWN[formula.id] = formula


def is_known(formula: Stated) -> bool:
    """Whether this very formula is the one known by its ID, and not another stated since."""
    return _KNOWN.get(formula.id) is formula


def get_formula(formula_id: str) -> Any:
    """The formula with this ID, among all that have been constructed."""
    return _KNOWN[formula_id]


def list_registered() -> list[str]:
    """The IDs of all formulas that have been constructed, those of tests apart."""
    return [formula_id for formula_id in _KNOWN if not formula_id.startswith("test.")]


def forget(formula_id: str) -> None:
    """Drop a formula that was constructed for a single evaluation."""
    _KNOWN.pop(formula_id, None)

"""The registry: every formula by its permanent ID, found without importing the others."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from spec.language.formula import Formula

SUBJECTS = (
    "similarity",
    "embedding",
    "recurrent",
    "scores",
    "attention",
    "positional",
    "normalization",
    "feedforward",
    "transformer",
    "masking",
    "decoding",
)
"""The subjects, in the order in which they are read: packages of ``spec``, with one module for each formula."""


class UnknownFormula(LookupError):  # noqa: N818  (a name for what the user typed, not for a fault)
    """No formula has this ID."""

    def __str__(self) -> str:
        return str(self.args[0])


@cache
def ids() -> tuple[str, ...]:
    """Every ID, in reading order: the subjects' own lists (``FORMULAS`` of each package). No formula is imported."""
    return tuple(
        f"{subject}.{name}" for subject in SUBJECTS for name in import_module(f"spec.{subject}").FORMULAS
    )


@cache
def find(formula_id: str) -> Formula:
    """The formula with this ID; its module and those of the formulas that it applies are imported, no others.

    Raises:
        UnknownFormula: naming the closest IDs.
    """
    if formula_id not in ids():
        close = get_close_matches(formula_id, ids(), n=3) or [i for i in ids() if formula_id in i]
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; known: {', '.join(ids())}"
        raise UnknownFormula(f"no formula has the ID {formula_id!r}{hint}")
    module = import_module(f"spec.{formula_id}")
    for value in vars(module).values():
        if isinstance(value, Formula) and value.id == formula_id:
            return value
    raise UnknownFormula(f"spec.{formula_id} states no formula with the ID {formula_id!r}")


@cache
def formulas() -> Mapping[str, Formula]:
    """All formulas by ID, in the order in which they are read."""
    return {formula_id: find(formula_id) for formula_id in ids()}

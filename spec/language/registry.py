"""The registry: every formula by its permanent ID."""

from __future__ import annotations

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
    "masking",
)
"""The subject modules, in the order in which they are read."""


class UnknownFormula(LookupError):  # noqa: N818  (a name for what the user typed, not for a fault)
    """No formula has this ID."""

    def __str__(self) -> str:
        return str(self.args[0])


@cache
def formulas() -> dict[str, Formula]:
    """All formulas by ID, in the order of the subjects and of their modules (of ``__all__``, where a subject is a package)."""
    found: dict[str, Formula] = {}
    for subject in SUBJECTS:
        module = import_module(f"spec.{subject}")
        for name in getattr(module, "__all__", vars(module)):
            value = getattr(module, name)
            if isinstance(value, Formula) and value.module == subject and not value.auxiliary:
                found[value.id] = value
    return found


def find(formula_id: str) -> Formula:
    """The formula with this ID.

    Raises:
        UnknownFormula: naming the closest IDs.
    """
    known = formulas()
    if formula_id in known:
        return known[formula_id]
    close = get_close_matches(formula_id, known, n=3) or [i for i in known if formula_id in i]
    hint = f"; did you mean {' or '.join(close)}?" if close else f"; known: {', '.join(known)}"
    raise UnknownFormula(f"no formula has the ID {formula_id!r}{hint}")

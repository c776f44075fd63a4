"""What all commands share: the statuses they end with, where they print, and the statements that are named."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from verify.faults import Unusable

if TYPE_CHECKING:
    from rich.console import Console

    from spec.language.formula import Formula
    from spec.language.procedure import Procedure

CONFORMS, FALSIFIED, UNUSABLE, NOTHING = 0, 1, 2, 3
"""The statuses: conforms, falsified, unusable input, nothing conclusive."""


def console(stderr: bool = False) -> Console:
    """Standard output: colours on a terminal, and a width that keeps a table whole elsewhere."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:  # else it would end with 1, as what is falsified does
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    return Piped(stderr=stderr, highlight=False, width=None if stream.isatty() else 150)


def find(formula_id: str) -> Formula | Procedure:
    """The formula, or the procedure, with this ID.

    Raises:
        Unusable: there is none; the message names the closest.
    """
    from spec.language.registry import UnknownFormula, statement

    try:
        return statement(formula_id)
    except UnknownFormula as error:
        raise Unusable(str(error)) from None


def expand_subjects(ids: Iterable[str]) -> list[str]:
    """Formula IDs, subjects (``recurrent``) replaced by those of all their formulas.

    Raises:
        Unusable: a name that is neither; the message names the closest.
    """
    from spec.language.registry import SUBJECTS, statement_ids

    found: list[str] = []
    for name in ids:
        if name in SUBJECTS:
            found += [i for i in statement_ids() if i.split(".")[0] == name]
        elif "." not in name and (close := difflib.get_close_matches(name, SUBJECTS, n=1, cutoff=0.7)):
            raise Unusable(f"no formula has the ID {name!r}; did you mean the subject {close[0]}?")
        else:
            found.append(find(name).id)
    return list(dict.fromkeys(found))


__all__ = ["CONFORMS", "FALSIFIED", "NOTHING", "UNUSABLE", "console", "expand_subjects", "find"]

"""A formula of a user's: what it claims is proved before anything is held to it, and it has a page of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from verify.command.files import write
from verify.faults import Unusable

if TYPE_CHECKING:
    from spec.language.formula import Formula
    from spec.language.procedure import Procedure
    from spec.language.proving.proof import Checked


_refused: dict[Formula, list[str]] = {}
"""What was said of formulas that were asked about already in this process."""


def sound(formula: Formula | Procedure, tell: Callable[[str], None] = lambda _: None) -> None:
    """Prove what a formula of the user's claims, before anything is held to it; ours are proved by our tests.

    Args:
        formula: a formula of ours or the user's, or a procedure.
        tell: called with which theorem is being proved: it may take a minute.

    Raises:
        Unusable: a theorem is refused, or a worked example does not follow; the first of them, in a line.
    """
    from spec.language.own import address_of
    from spec.language.procedure import Procedure

    if isinstance(formula, Procedure) or address_of(formula.id) is None:
        return
    from verify.output.formula import refusals

    if formula not in _refused:
        _refused[formula] = refusals(formula, {}, tell)
    if found := _refused[formula]:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise Unusable(f"{found[0]}{more}")


def show_formula(formula: Formula, path: Path | None) -> Iterator[tuple[str, str]]:
    """A formula as (style, line) pairs, or, where there is a path, its page written there; last, in red, what is refused.

    Raises:
        Unusable: a file that is neither HTML nor Markdown.
    """
    from verify.output.formula import lines, refusals
    from verify.output.formula_page import page

    done: dict[str, Checked] = {}
    if path is None:
        yield from lines(formula, done)
    else:
        write(path, page(formula, path.suffix, done))
        yield "", f"wrote {path}"
    yield from (("red", f"refused: {line}") for line in refusals(formula, done))


__all__ = ["show_formula", "sound"]

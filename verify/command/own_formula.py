"""A formula of a user's: what it claims is proved before anything is held to it, and it has a page of its own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from verify.command.files import write
from verify.faults import Unusable

if TYPE_CHECKING:
    from spec.language.formula import Formula
    from spec.language.procedure import Procedure
    from spec.language.proving.proof import Checked


def sound(formula: Formula | Procedure) -> None:
    """Prove what a formula of the user's claims, before anything is held to it; ours are proved by our tests.

    Raises:
        Unusable: a theorem is refused, or a worked example does not follow; the first of them, in a line.
    """
    from spec.language.own import address_of
    from spec.language.procedure import Procedure

    if isinstance(formula, Procedure) or address_of(formula.id) is None:
        return
    if found := _refused(formula):
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise Unusable(f"{found[0]}{more}")


@cache
def _refused(formula: Formula) -> list[str]:
    from verify.output.formula import refusals

    return refusals(formula, {})


def shown(formula: Formula, path: Path | None) -> Iterator[tuple[str, str]]:
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


__all__ = ["shown", "sound"]

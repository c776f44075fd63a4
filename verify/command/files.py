"""The files that a command was asked to write: what was found as JSON, as a page, as JUnit's XML, and a counterexample."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from verify.faults import Unusable
from verify.output.document import document, dump

if TYPE_CHECKING:
    from verify.deviations import Judgement
    from verify.report import Report


def write(path: Path, text: str) -> None:
    """Write a file the user asked for.

    Raises:
        Unusable: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unusable(f"cannot write {path}: {error.strerror}") from None


def record(
    given: argparse.Namespace,
    command: str,
    status: int,
    reports: Sequence[Report],
    judgement: Judgement,
    absent: Sequence[str],
    errors: Sequence[str],
    interrupted: bool,
) -> None:
    """Write the files that were asked for."""
    if command == "check" and reports:
        reports[0].importable = given.where
        if given.counterexample and reports[0].falsified:
            write(given.counterexample, dump(reports[0].counterexample()))
    if not (given.json or given.html or given.junit):
        return
    from verify.output.junit import junit
    from verify.output.page import page

    found = document(given, command, status, reports, judgement, absent, errors, interrupted)
    if given.json:
        write(given.json, dump(found))
    if given.html:
        write(given.html, page(found))
    if given.junit:
        write(given.junit, junit(found))

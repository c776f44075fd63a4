"""Counterexamples on the command line: the files that ``attnspec check`` writes of a failure, and ``attnspec replay``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from verify.command.files import write
from verify.command.terminal import CONFORMS, FALSIFIED, NOTHING

if TYPE_CHECKING:
    from verify.report import Report

SHORT, LONG = 40, 2000
"""Lines and characters up to which a script is shown without being asked for."""
REPRODUCES = "reproduces it on its own"


def do_replay(given: argparse.Namespace) -> int:
    """Replay a counterexample, and say whether the failure still occurs."""
    from verify.counterexamples import read_document, replay

    found = replay(read_document(given.file), target=given.target)
    print(found)  # noqa: T201
    return {"falsified": FALSIFIED, "conforms": CONFORMS}.get(found.verdict, NOTHING)


def offer_replay(given: argparse.Namespace, report: Report) -> list[str]:
    """Write the script that was asked for; returns lines that say where the first failure is written, or how it is."""
    asked = [path for path in (given.counterexample, given.script) if path is not None]
    if not report.falsified:
        return [f"nothing was falsified, so {path} was not written" for path in asked]
    lines = []
    if given.counterexample:
        lines.append(
            f"wrote {given.counterexample}: attnspec replay {given.counterexample} makes the failure again"
        )
    from verify.report import Reason

    text = _script(given, report)
    shows = (
        "makes the call that failed, which may be right this time"
        if report.reason is Reason.UNSTEADY
        else REPRODUCES
    )
    if given.script and text:
        write(given.script, text)
        lines.append(f"wrote {given.script}, which {shows}")
    elif given.script:
        lines.append(
            f"one plain call does not show it, so {given.script} was not written: use --counterexample FILE"
        )
    elif text and text.count("\n") <= SHORT and len(text) <= LONG:
        lines += ["", f"This script {shows} (--script FILE writes it):", "", text]
    if not asked:
        lines.append("--counterexample FILE writes it, and attnspec replay FILE makes it again")
    return lines


def _script(given: argparse.Namespace, report: Report) -> str:
    """The script of the first failure that one plain call shows, for the folder that it is written to; empty if there is none."""
    from verify.output.script import script
    from verify.subject.loading import gives_the_callable

    # A file is imported by its stem: the script belongs beside it.
    module, _, name = given.where.rpartition(":")
    by_path = module.endswith(".py")
    home = Path(module).stem if by_path else module
    found = sys.modules.get(f"_checked_{home}") or sys.modules.get(home)
    for part in name.split("."):
        found = getattr(found, part, None)
    try:
        text = script(report, f"{home}:{name}{'()' if gives_the_callable(found) else ''}")
    except ValueError:
        return ""
    top = Path(module if by_path else module.partition(".")[0])
    here = by_path or top.is_dir() or top.with_suffix(".py").is_file()  # else it is installed
    folder = (top.parent if by_path else Path()).resolve()
    if not given.script or not here or folder == given.script.resolve().parent:
        return text
    return text.replace("import sys\n", f"import sys\n\nsys.path.insert(0, {str(folder)!r})\n", 1)


__all__ = ["do_replay", "offer_replay"]

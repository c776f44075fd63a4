"""What is said of a check whose process is gone: a report like any other, so that what was asked for is written all the same."""

from __future__ import annotations

import argparse
from typing import Any

from verify.command.cli import FALSIFIED
from verify.command.files import record
from verify.deviations import Judgement
from verify.report import CheckResult, Report, versions

CHECK = "the process"
"""The name of the check that stands for all that were not made."""


def ended(formula_id: str, target: str, what: str, by_call: bool, **more: Any) -> Report:
    """The report on a callable in whose process nothing more is done.

    Args:
        formula_id: what it was held to.
        target: what it is called.
        what: how the process ended, in a line.
        by_call: whether one of its calls has ended it, which falsifies it; else nothing is concluded.
        more: the other fields of the report.
    """
    check = CheckResult(CHECK, "value", "falsified" if by_call else "inconclusive", 1, message=what)
    hint = "a call ends the process" if by_call else "the process was ended"
    return Report(formula_id, target, {}, [check], hint=hint, versions=versions(), **more)


def recorded(given: argparse.Namespace, status: int, what: str) -> None:
    """Write what the command was asked to write, in the process that watched its own."""
    if given.command not in ("check", "verify"):
        return
    from verify.command.commands import find
    from verify.command.profiles import checked_options

    options, reports = checked_options(given), []
    if given.command == "check":
        made = {name: options[name] for name in ("seed", "max_examples", "device")}
        reports.append(ended(find(given.formula).id, given.where, what, status == FALSIFIED, **made))
    record(given, given.command, status, reports, Judgement(), [], [] if reports else [what], False)


__all__ = ["ended", "recorded"]

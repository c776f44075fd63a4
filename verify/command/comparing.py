"""``attnspec compare reference.py:Model candidate.py:ModelNew``: a candidate beside a reference that need not be stated."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from verify.command.files import write
from verify.command.terminal import CONFORMS, FALSIFIED, NOTHING, console

if TYPE_CHECKING:
    from verify.comparing.report import Comparison
    from verify.pool import Lost

STATUSES = {"conforms": CONFORMS, "inconclusive": NOTHING}
"""The statuses of verdicts; that of what is imprecise is that of what is falsified."""


def do_compare(given: argparse.Namespace) -> int:
    """Compare; the exit status."""
    from verify.comparing.comparing import compare
    from verify.output.comparison import print_comparison

    found = compare(
        given.reference,
        given.where,
        seed=given.seed,
        sigmas=given.sigmas,
        calls=given.calls,
        dtype=given.dtype,
        device=given.device,
        kinds=given.cases,
        time_limit=given.time_limit,
        formula=given.formula,
    )
    record(given, found)
    print_comparison(console(), found, given.verbose)
    return STATUSES.get(found.verdict, FALSIFIED)


def record(given: argparse.Namespace, found: Comparison) -> None:
    """Write the JSON that was asked for."""
    if given.json:
        write(given.json, json.dumps(found.to_dict(), ensure_ascii=False, indent=1) + "\n")


def record_lost(given: argparse.Namespace, status: int, lost: Lost) -> None:
    """Write what was asked for, where the process that compared is gone."""
    from verify.comparing.comparing import lose

    record(given, lose(lost, {**vars(given), "candidate": given.where}))

"""The command ``attnspec mutants``: wrong variants must be falsified, right ones conform."""

from __future__ import annotations

import argparse
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from verify.command.files import record
from verify.command.profiles import complete_options
from verify.command.terminal import CONFORMS, FALSIFIED, console, expand_subjects
from verify.faults import Unusable
from verify.report import Reason

if TYPE_CHECKING:
    from verify.command.tasks import TaskResult
    from verify.report import Report


def do_mutants(given: argparse.Namespace) -> int:
    """Run the wrong and the right variants."""
    from rich.table import Table
    from rich.text import Text

    ids = expand_subjects(given.ids)
    options = {**complete_options(given), **({"causes": True} if given.causes else {})}
    from verify.command.tasks import Task, progress, run_checks, variants, worker_count

    every = variants(tuple(ids))
    if not every:
        raise Unusable("these formulas have no variants")
    tasks = [Task("variant", v.name, v.formula_id, options) for v in every]
    by_task = {(v.formula_id, v.name): v for v in every}

    def describe_outcome(outcome: TaskResult) -> str:
        """Describe a variant's outcome in a line, and say so if it was misjudged."""
        variant = by_task[outcome.task.formula_id, outcome.task.label]
        fine, verdict, _ = judge_variant(variant.is_right, outcome)
        said = f"{outcome.task.formula_id} {outcome.task.label}"
        return said if fine else f"{said}: {verdict}, but is {'right' if variant.is_right else 'wrong'}"

    with progress(len(tasks), "variants") as step:
        outcomes, interrupted = run_checks(
            tasks, worker_count(given.jobs), lambda outcome: step(describe_outcome(outcome))
        )
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("formula", "variant", "meant to be", "verdict", "caught by", "what it is"):
        made.add_column(name, overflow="fold")
    wrong_ones = bad = 0
    last = ""
    for outcome in outcomes:
        variant = by_task[outcome.task.formula_id, outcome.task.label]
        fine, verdict, by = judge_variant(variant.is_right, outcome)
        wrong_ones += not variant.is_right
        bad += not fine
        style = "green" if fine else "bold red"
        first = variant.formula_id if variant.formula_id != last else ""
        last = variant.formula_id
        made.add_row(
            first,
            variant.name,
            "right" if variant.is_right else "wrong",
            Text(verdict, style=style),
            by,
            Text(variant.says, style="dim"),
        )
    from verify.output.table import print_table

    out = console()
    print_table(out, made)
    refused = f"{wrong_ones} wrong and {len(outcomes) - wrong_ones} right variants: "
    if outcomes:
        out.print(
            "\n" + refused + ("each judged as it should be" if not bad else f"{bad} misjudged"),
            style="green" if not bad else "bold red",
        )
    if said := until_falsified([o.report for o in outcomes if o.report is not None]):
        out.print(said)
    if given.causes:
        every_headline = [
            (v, o.report) for o in outcomes if not (v := by_task[o.task.formula_id, o.task.label]).is_right
        ]
        for line in headlines_said([(v, report) for v, report in every_headline if report is not None]):
            out.print(line)
    if interrupted:
        out.print(f"interrupted: {len(outcomes)} of {len(tasks)} variants done", style="yellow")
    reports = [o.report for o in outcomes if o.report is not None]
    from verify.deviations import Judgement

    status = interrupted or (FALSIFIED if bad else CONFORMS)
    errors = [o.error for o in outcomes if o.error]
    record(given, "mutants", status, reports, Judgement(), [], errors, bool(interrupted))
    return status


def until_falsified(reports: Sequence[Report]) -> str:
    """How long the first counterexamples took, of the reports that have one; empty where none has."""
    times = sorted(r.first_violation for r in reports if r.first_violation is not None)
    if not times:
        return ""
    within = times[math.ceil(0.95 * len(times)) - 1]
    return f"time to the first counterexample: median {statistics.median(times):.2f} s, 95 % within {within:.2f} s"


RIGHT_CAUSE, RIGHT_PLACE, BARE, WRONG_CAUSE = "right cause", "right place", "bare", "wrong cause"
"""What a headline says of a wrong variant: the cause that its row names beforehand, no cause but where it fails, nothing, or
another cause."""
SURE = (Reason.CAUSE, Reason.CALLS, Reason.UNSTEADY, Reason.SINGLE)
"""Explanations that name a cause by a sentence; conventions were confirmed by a whole check."""


def headline_of(expected: str, report: Report) -> str:
    """How a headline fares beside the cause that a variant's row names beforehand, as a pattern."""
    if report.reason is Reason.CONVENTIONS:
        return RIGHT_CAUSE
    if report.reason in SURE:
        return RIGHT_CAUSE if re.search(expected, report.hint, re.IGNORECASE) else WRONG_CAUSE
    return RIGHT_PLACE if report.hint else BARE


def headlines_said(found: Sequence[tuple[Any, Report]]) -> Iterator[str]:
    """How many headlines name the cause that their variant's row expects, and those that name another."""
    falsified = [(variant, report) for variant, report in found if report.falsified]
    kinds = [headline_of(variant.cause, report) for variant, report in falsified]
    for (variant, report), kind in zip(falsified, kinds, strict=True):
        if kind == WRONG_CAUSE:
            yield f"{variant.formula_id} {variant.name}: {report.hint}; but: {variant.says}"
    counts = ", ".join(
        f"{kinds.count(kind)} {kind}" for kind in (RIGHT_CAUSE, RIGHT_PLACE, BARE, WRONG_CAUSE)
    )
    if kinds:
        yield f"headlines: {counts}"


def judge_variant(is_right: bool, outcome: TaskResult) -> tuple[bool, str, str]:
    """Whether a variant was judged as it should be, its verdict, and the checks that caught it.

    A wrong one must be caught by something compared, not by an exception alone.
    """
    report = outcome.report
    if report is None:
        return False, "the checker failed", outcome.error
    names = list(dict.fromkeys(c.kind for c in report.checks if c.verdict in ("falsified", "imprecise")))
    by = ", ".join(names)
    if is_right:
        first = report.falsified[0] if report.falsified else None
        # Who declares that sums round to the storage type, too, is right in doing so, and imprecise.
        declared = report.conventions.get("intermediates") == "storage" and report.verdict == "imprecise"
        said = f"{first.name}: {first.message}" if first else ""
        return report.verdict == "conforms" or declared, report.verdict, said
    compared = any(
        c.kind == "law"
        or (c.counterexample is not None and c.counterexample.got is not None)
        or "raised" not in c.message
        for c in report.falsified
    )
    if report.verdict == "falsified" and not compared:
        return False, "only an exception", by
    return report.verdict in ("falsified", "imprecise"), report.verdict, by

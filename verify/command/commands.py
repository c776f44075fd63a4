"""What the commands do; :mod:`verify.command.cli` parses and dispatches."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.command.cli import CONFORMS, FALSIFIED, NOTHING
from verify.command.files import record, write
from verify.faults import Unusable
from verify.targets import PACKAGES, TARGETS, Target, chosen, peer_version

if TYPE_CHECKING:
    from rich.console import Console

    from spec.language.formula import Formula
    from spec.language.procedure import Procedure
    from verify.command.workers import TaskResult
    from verify.report import Report


SHORT, LONG = 30, 2000
"""Lines and characters up to which a script is shown without being asked for."""
RERUN = """\
import sys

import verify
from {module} import {root}

report = verify.check(
    {name}, "{given.formula_id}", conventions={conventions}, seed={given.seed}, max_examples={given.max_examples},
    sizes={sizes}, ranges={ranges}, accuracy={accuracy},
)
print(report)
sys.exit(1 if report.verdict == "falsified" else 0)
"""


def console(stderr: bool = False) -> Console:
    """Standard output: colours on a terminal, and a width that keeps a table whole elsewhere."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else 150)


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


def do_list(given: argparse.Namespace) -> int:
    """List formulas and targets; imports no torch."""
    from rich.table import Table
    from rich.text import Text

    from spec.language.registry import formulas, procedures, statement, statement_ids

    out = console()
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("formula", "title", "targets (in verify)"):
        made.add_column(name, overflow="fold")
    for formula_id in statement_ids():
        labels = Text()
        for place, target in enumerate(t for t in TARGETS if t.formula_id == formula_id):
            labels.append(
                ("\n" if place else "") + target.label, style="" if target.present else "dim strike"
            )
        made.add_row(formula_id, statement(formula_id).title, labels or Text("stated", style="dim"))
    out.print(made)
    out.print()
    theorems = sum(len(f.theorems) for f in formulas().values())
    out.print(
        f"{len(formulas())} formulas, {theorems} theorems, {len(procedures())} procedures, {len(TARGETS)} targets"
    )
    for peer in PACKAGES:
        found = peer_version(peer)
        out.print(
            Text(
                f"{peer}: "
                + ("absent: its targets are not verified" if found is None else f"present {found}".strip())
            )
        )
    return CONFORMS


def do_show(given: argparse.Namespace) -> int:
    """Show a formula."""
    from rich.text import Text

    from spec.language.procedure import Procedure
    from verify.output.formula import lines, procedure_lines

    out, found = console(), find(given.id)
    for style, text in procedure_lines(found) if isinstance(found, Procedure) else lines(found):
        out.print(Text(text, style=style), soft_wrap=True)
    return CONFORMS


def expanded(ids: Iterable[str]) -> list[str]:
    """Formula IDs, subjects (``recurrent``) replaced by those of all their formulas.

    Raises:
        Unusable: a name that is neither; the message names the closest.
    """
    from spec.language.registry import SUBJECTS, statement_ids

    found: list[str] = []
    for name in ids:
        found += (
            [i for i in statement_ids() if i.split(".")[0] == name] if name in SUBJECTS else [find(name).id]
        )
    return list(dict.fromkeys(found))


def checked_options(given: argparse.Namespace) -> dict[str, Any]:
    """The options of a check.

    Raises:
        Unusable: a device that cannot be used.
    """
    if given.device != "cpu":
        from verify.subject.options import usable_device

        usable_device(given.device)
    return {
        "max_examples": given.max_examples,
        "seed": given.seed,
        "dtypes": tuple(dict.fromkeys(given.dtype)) if given.dtype else None,
        "device": given.device,
        "accuracy": given.accuracy,
    }


def _targets(ids: Sequence[str], names: Sequence[str] | None) -> tuple[list[Target], list[str]]:
    """The targets asked for; and of the formulas asked for, whatever their targets, those that have none."""
    from spec.language.registry import statement_ids

    ids = expanded([*ids, *(name for name in names or () if name in statement_ids())])
    names = [name for name in names or () if name not in statement_ids()]
    for name in names:
        if not chosen((), [name]):
            labels = [*PACKAGES, *(t.label for t in TARGETS), *(t.name for t in TARGETS)]
            close = difflib.get_close_matches(name, labels, n=3, cutoff=0.5)
            raise Unusable(
                f"no target is called {name!r}; "
                + (f"did you mean {' or '.join(close)}?" if close else "see attnspec list")
            )
    found = chosen(ids, names)
    stated = [] if names else [i for i in ids or statement_ids() if not chosen([i])]
    if not found and not stated:
        raise Unusable("no target implements these formulas; see attnspec list")
    order = {formula_id: place for place, formula_id in enumerate(statement_ids())}
    return sorted(found, key=lambda t: order.get(t.formula_id, len(order))), stated


def do_verify(given: argparse.Namespace) -> int:
    """Verify targets."""
    from verify.command.workers import Task, progress, run
    from verify.deviations import judge
    from verify.output.table import overall, print_end

    targets, stated = _targets(given.ids, given.target)
    present = [t for t in targets if t.present]
    absent = [
        f"absent: {t.label} ({PACKAGES[t.peer]} is not installed; pip install 'attnspec[peers]')"
        for t in targets
        if not t.present
    ] + [f"stated: {formula_id} (nothing that implements it is listed)" for formula_id in stated]
    options = checked_options(given)
    tasks = [Task("target", t.label, t.formula_id, options) for t in present]
    workers = given.jobs or min(2, os.cpu_count() or 1)
    with progress(len(tasks), "verifying") as step:

        def tell(outcome: TaskResult) -> None:
            said = outcome.report.verdict if outcome.report else "could not be run"
            step(f"{outcome.task.label}: {said}, {outcome.seconds:.1f} s")

        outcomes, interrupted = run(tasks, workers, tell)
    reports = [o.report for o in outcomes if o.report is not None]
    errors = [f"could not be run: {o.task.label}: {o.error}" for o in outcomes if o.report is None]
    judgement = judge(reports)
    out = console()
    print_end(out, reports, judgement, absent, errors, given.verbose)
    if not judgement.fine or errors:
        status = FALSIFIED
    elif not any(r.verdict != "inconclusive" for r in reports):
        status = NOTHING
    else:
        status = CONFORMS
    if interrupted:
        out.print(f"\ninterrupted: {len(reports)} of {len(tasks)} targets done", style="yellow")
        status = 130
    elif status == CONFORMS:
        known = [c for _, c, _ in judgement.expected]
        ends = [overall(r, known) for r in reports]
        vague = f" ({ends.count('imprecise')} more imprecisely)" if "imprecise" in ends else ""
        out.print(
            f"\n{ends.count('conforms')} of {len(reports)} targets conform{vague}; {len(known)} known deviations, nothing else.",
            style="green",
        )
    record(given, "verify", status, reports, judgement, absent, errors, interrupted)
    return status


def do_check(given: argparse.Namespace) -> int:
    """Check a user's function."""
    formula = find(given.formula)
    conventions = _conventions(formula, given.convention)
    options = checked_options(given)
    # Everything of ours, and what it stands on, is imported before the user's directory comes onto the path.
    from verify.checking import check as run_check
    from verify.deviations import Judgement
    from verify.inputs.size_rules import pairs
    from verify.output.table import print_report, table
    from verify.subject.loading import Unloadable, callable_at

    try:
        call = callable_at(given.where)
    except Unloadable as error:
        raise Unusable(str(error)) from None
    err = console(stderr=True)
    more = {**options, "conventions": conventions, "sizes": pairs(given.sizes), "name": given.where}
    if given.range:
        more["ranges"] = pairs(given.range)
    if sys.stderr.isatty():
        with err.status(f"checking {given.where} against {formula.id} …"):
            report = run_check(call, formula.id, **more)
    else:
        report = run_check(call, formula.id, **more)
    report.target = given.where
    out = console()
    print_report(out, report, given.verbose)
    out.print()
    out.print(table([report]))
    status = {"falsified": FALSIFIED, "inconclusive": NOTHING}.get(report.verdict, CONFORMS)
    if report.falsified:
        _reproduction(given, report, out)
    elif given.script:
        out.print(f"nothing was falsified, so {given.script} was not written", style="dim", markup=False)
    record(given, "check", status, [report], Judgement(), [], [], False)
    return status


def _reproduction(given: argparse.Namespace, report: Report, out: Console) -> None:
    from verify.inputs.size_rules import pairs
    from verify.output.script import script

    # A file is imported by its stem: the script belongs beside it.
    module, _, name = given.where.rpartition(":")
    home = Path(module).stem if module.endswith(".py") else module
    try:
        text = script(report, f"{home}:{name}")
    except ValueError:  # no single example shows it: the sample is drawn again
        rules = pairs(given.sizes) or None
        text = RERUN.format(
            module=home,
            root=name.partition(".")[0],
            name=name,
            given=report,
            conventions={**report.conventions, **report.edges},
            sizes=rules,
            ranges=pairs(given.range) or None,
            accuracy=given.accuracy,
        )
    if given.script:
        write(given.script, text)
        out.print(f"wrote {given.script}, which reproduces it on its own", markup=False)
        return
    if text.count("\n") > SHORT or len(text) > LONG:
        out.print("\n--script FILE writes a script that reproduces it on its own", markup=False)
        return
    out.print("\nThis script reproduces it on its own (--script FILE writes it):\n", markup=False)
    out.print(text, markup=False, soft_wrap=True)


def _conventions(formula: Formula | Procedure, pairs: Sequence[str]) -> dict[str, str]:
    from verify.edges import split

    made: dict[str, str] = {}
    for pair in pairs:
        name, equals, option = pair.partition("=")
        if not equals:
            raise Unusable(f"expected --convention name=option; got {pair!r}")
        made[name] = option
    try:
        formula.choose(split(made)[1])
    except ValueError as error:
        raise Unusable(str(error)) from None
    return made

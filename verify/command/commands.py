"""What the commands do; :mod:`verify.command.cli` parses and dispatches."""

from __future__ import annotations

import argparse
import ast
import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from verify.command.cli import CONFORMS, FALSIFIED, NOTHING, UNUSABLE
from verify.command.files import record, write
from verify.command.own_formula import shown, sound
from verify.command.profiles import checked_options, resolved, said_options, settled
from verify.faults import Unusable
from verify.targets import PACKAGES, TARGETS, Target, chosen

if TYPE_CHECKING:
    from rich.console import Console

    from spec.language.formula import Formula
    from spec.language.procedure import Procedure
    from verify.command.workers import Task, TaskResult
    from verify.deviations import Deviation
    from verify.report import Report


SHORT, LONG = 30, 2000
"""Lines and characters up to which a script is shown without being asked for."""
REPRODUCES = "reproduces it on its own"
RERUN = """\
import sys

import verify
from {module} import {root}

report = verify.check(
    {name}, {formula_id!r}, conventions={conventions}, seed={given.seed}, max_examples={given.max_examples},
    sizes={sizes}, fixed={fixed}, ranges={ranges}, accuracy={accuracy},
)
print(report)
sys.exit(1 if report.verdict == "falsified" else 0)
"""


FIXED = "a number that is fixed, such as eps=1e-5"
RANGE = "a limit such as q=1e3"


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


def do_show(given: argparse.Namespace) -> int:
    """Show a formula, or write its page; what it claims and is not so makes it fail."""
    from rich.text import Text

    from spec.language.procedure import Procedure
    from verify.output.formula import procedure_lines

    out, found, status = console(), find(given.id), CONFORMS
    if isinstance(found, Procedure) and given.page:
        raise Unusable(f"{found.id} is a procedure: only formulas have a page")
    for style, text in procedure_lines(found) if isinstance(found, Procedure) else shown(found, given.page):
        out.print(Text(text, style=style), soft_wrap=True)
        if text.startswith("refused: "):
            status = FALSIFIED
    return status


def expanded(ids: Iterable[str]) -> list[str]:
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


def _builtin(given: argparse.Namespace) -> tuple[list[Task], list[str]]:
    """The targets of ours that are asked for, as tasks; and what there is to say of those that cannot be run."""
    from verify.command.workers import Task

    targets, stated = _targets(given.ids, given.target)
    absent = [
        f"absent: {t.label} ({PACKAGES[t.peer]} is not installed; pip install 'attnspec[peers]')"
        for t in targets
        if not t.present
    ] + [f"stated: {formula_id} (nothing that implements it is listed)" for formula_id in stated]
    options = checked_options(given)
    return [Task("target", t.label, t.formula_id, options) for t in targets if t.present], absent


def do_verify(given: argparse.Namespace) -> int:
    """Verify targets: the user's, where there is a file that names them, else those that attnspec knows."""
    if given.weights is not None:
        from verify.command.weights import at_weights

        return at_weights(given)
    if given.text or given.against:
        raise Unusable(
            f"{'--text' if given.text else '--against'}: expected --weights FOLDER with it; got none"
        )
    from verify.command.own_targets import configuration, misnamed, own_tasks
    from verify.command.workers import processes, progress, run
    from verify.deviations import deviations, judge
    from verify.output.table import overall, print_end

    config = configuration(given)
    known: Sequence[Deviation]
    if config is None:
        (tasks, absent), known, listed = _builtin(given), deviations(), "verify/known.toml"
    else:
        said = said_options(given)
        (tasks, known), absent, listed = own_tasks(config, given, said), [], str(config.path)
        settled(given, resolved(config.options, said))
    workers = processes(given.jobs)
    if len(tasks) == 1:  # so that what one leaves idle is not
        tasks = [replace(tasks[0], options={**tasks[0].options, "jobs": workers})]
    with progress(len(tasks), "verifying") as step:

        def tell(outcome: TaskResult) -> None:
            lacking = "absent" if outcome.absent else "could not be run"
            said = outcome.report.verdict if outcome.report else lacking
            step(f"{outcome.task.label}: {said}, {outcome.seconds:.1f} s")

        outcomes, interrupted = run(tasks, workers, tell)
    reports = [o.report for o in outcomes if o.report is not None]
    errors = [f"could not be run: {o.task.label}: {o.error}" for o in outcomes if o.error]
    errors += misnamed(known, reports) if config is not None else []
    absent += [f"absent: {o.task.label} ({o.absent})" for o in outcomes if o.absent]
    judgement = judge(reports, known)
    if not judgement.fine or (errors and config is None):
        status = FALSIFIED
    elif errors:
        status = UNUSABLE
    elif not any(r.verdict != "inconclusive" for r in reports):
        status = NOTHING
    else:
        status = CONFORMS
    status = interrupted or status
    # Written before it is shown: a reader who has seen enough (`| head`) ends the command.
    places = {(o.report.formula_id, o.report.target): o.place for o in outcomes if o.report and o.place}
    record(given, "verify", status, reports, judgement, absent, errors, bool(interrupted), places)
    out = console()
    print_end(out, reports, judgement, absent, errors, given.verbose, listed)
    if interrupted:
        out.print(f"\ninterrupted: {len(reports)} of {len(tasks)} targets done", style="yellow")
    elif status == CONFORMS:
        expected = [c for _, c, _ in judgement.expected]
        ends = [overall(r, expected) for r in reports]
        vague = f" ({ends.count('imprecise')} more imprecisely)" if "imprecise" in ends else ""
        out.print(
            f"\n{ends.count('conforms')} of {len(reports)} targets conform{vague}; "
            f"{len(expected)} checks fail as listed, nothing else.",
            style="green",
        )
    return status


def do_check(given: argparse.Namespace) -> int:
    """Check a user's function."""
    from verify.command.memory import keep_freed
    from verify.command.workers import processes
    from verify.foreseen import foreseeing, prepare
    from verify.inputs.size_rules import pairs

    formula = find(given.formula)
    options = checked_options(given)
    more = {**options, "conventions": _conventions(formula, given.convention), "sizes": pairs(given.sizes)}
    more |= {"fixed": pairs(given.fixed, FIXED), "few_shapes": given.few_shapes}
    if given.range:
        more["ranges"] = pairs(given.range, RANGE)
    jobs, err = processes(given.jobs), console(stderr=True)
    keep_freed()
    with foreseeing(formula, jobs > 1, **more) as found:
        with _saying(err) as tell:
            sound(formula, tell)
        # Everything of ours, and what it stands on, is imported before the user's directory comes onto the path.
        from verify.checking import check as run_check
        from verify.deviations import Judgement
        from verify.oracle import oracle_for
        from verify.output.table import print_report, print_table, table
        from verify.subject.loading import Unloadable, callable_at, place_at

        prepare(formula, more)
    try:
        call = callable_at(given.where, given.adapter)
    except Unloadable as error:
        raise Unusable(str(error)) from None
    more |= {"name": given.where, "jobs": jobs}
    found.hand_to(oracle_for(formula))
    with _saying(err) as tell:
        tell(f"checking {given.where} against {formula.id} …")
        more["progress"] = lambda title, place, of: tell(
            f"checking {given.where}: {title} ({place + 1} of {of}) …"
        )
        report = run_check(call, formula.id, **more)
    report.target = given.where
    status = {"falsified": FALSIFIED, "inconclusive": NOTHING}.get(report.verdict, CONFORMS)
    place = place_at(given.where)
    places = {} if place is None else {(report.formula_id, report.target): place}
    # Written before it is shown: a reader who has seen enough (`| head`) ends the command.
    record(given, "check", status, [report], Judgement(), [], [], False, places)
    reproduction = _reproduction(given, report) if report.falsified else ""
    if reproduction and given.script:
        write(given.script, reproduction)
    out = console()
    print_report(out, report, given.verbose)
    out.print()
    print_table(out, table([report]))
    if reproduction:
        _shown(given, report, reproduction, out)
    elif given.script:
        out.print(f"nothing was falsified, so {given.script} was not written", style="dim", markup=False)
    return status


@contextmanager
def _saying(err: Console) -> Iterator[Callable[[str], None]]:
    """Where a terminal's last line says what is being done; elsewhere nothing does."""
    if not err.is_terminal:
        yield lambda _: None
        return
    from rich.markup import escape

    with err.status("") as status:
        yield lambda said: status.update(escape(said))


def _reproduction(given: argparse.Namespace, report: Report) -> str:
    """A script that shows what was found, for the folder that it is written to."""
    from spec.language.own import address_of
    from verify.inputs.size_rules import pairs
    from verify.output.script import script
    from verify.subject.loading import written

    # A file is imported by its stem: the script belongs beside it.
    module, _, name = given.where.rpartition(":")
    home = Path(module).stem if module.endswith(".py") else module
    try:
        text = script(report, f"{home}:{name}", written=written(given.where, given.adapter))
    except ValueError:  # no single example shows it: the sample is drawn again
        rules = pairs(given.sizes) or None
        text = RERUN.format(
            module=home,
            root=name.partition(".")[0],
            name=written(given.where, given.adapter),
            formula_id=address_of(report.formula_id) or report.formula_id,
            given=report,
            conventions={**report.conventions, **report.edges},
            sizes=rules,
            fixed=pairs(given.fixed, FIXED) or None,
            ranges=pairs(given.range, RANGE) or None,
            accuracy=given.accuracy,
        )
    return _beside(text, module, Path(given.script).resolve().parent) if given.script else text


def _shown(given: argparse.Namespace, report: Report, text: str, out: Console) -> None:
    """Say where the script is, or show it where it is short."""
    from verify.report import Reason

    is_unsteady = report.reason is Reason.UNSTEADY
    shows = "makes the call that failed, which may be right this time" if is_unsteady else REPRODUCES
    if given.script:
        out.print(f"wrote {given.script}, which {shows}", markup=False)
        return
    if text.count("\n") > SHORT or len(text) > LONG:
        out.print(f"\n--script FILE writes a script that {shows}", markup=False)
        return
    out.print(f"\nThis script {shows} (--script FILE writes it):\n", markup=False)
    out.print(text, markup=False, soft_wrap=True)


def _beside(text: str, module: str, folder: Path) -> str:
    """A script that lies elsewhere than what it imports from here has to say where that is."""
    if module.endswith(".py"):
        home = Path(module).resolve().parent
    else:
        top = Path(module.partition(".")[0])
        if not (top.is_dir() or top.with_suffix(".py").is_file()):  # it is installed
            return text
        home = Path.cwd()
    if home == folder:
        return text
    lines = text.split("\n")
    place = 0
    for part in ast.parse(text).body:  # the docstring and what has to stand before all else
        if not isinstance(part, ast.Expr) and getattr(part, "module", None) != "__future__":
            break
        place = part.end_lineno or place
    return "\n".join([*lines[:place], "import sys", "", f"sys.path.insert(0, {str(home)!r})", *lines[place:]])


def _conventions(formula: Formula | Procedure, pairs: Sequence[str]) -> dict[str, str] | str | None:
    """The conventions asked for: those nearest to the function (``auto``, if none is named), ours, or the ones named.

    With ``auto`` beside some that are named, these stay, and the others are sought.
    """
    from verify.edges import AUTO, OTHERS, split

    given, seeking = [pair for pair in pairs if pair != AUTO], not pairs or AUTO in pairs
    if seeking and not given:
        return "auto"
    if given == ["ours"] and not seeking:
        return None
    made: dict[str, str] = {}
    for pair in given:
        name, equals, option = pair.partition("=")
        if pair == "ours":
            raise Unusable("--convention ours stands alone: it leaves nothing to name or to seek")
        if not equals:
            raise Unusable(
                f"expected --convention name=option, auto beside such, or ours alone; got {pair!r}"
            )
        if made.setdefault(name, option) != option:
            raise Unusable(
                f"--convention {name} is both {made[name]} and {option}; say one, or auto to seek it"
            )
    try:
        formula.choose(split(made)[1])
    except ValueError as error:
        raise Unusable(str(error)) from None
    return {**made, OTHERS: AUTO} if seeking else made

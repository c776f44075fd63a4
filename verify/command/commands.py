"""What the commands do; :mod:`verify.command.cli` parses and dispatches."""

from __future__ import annotations

import argparse
import difflib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from verify.command.counterexamples import offer_replay
from verify.command.files import record
from verify.command.own_formula import show_formula, sound
from verify.command.profiles import complete_options, read_given_options, record_options, resolve_options
from verify.command.terminal import CONFORMS, FALSIFIED, NOTHING, UNUSABLE, console, expand_subjects, find
from verify.faults import Unusable
from verify.targets import EXTRAS, PACKAGES, TARGETS, Target, choose_targets

if TYPE_CHECKING:
    from rich.console import Console

    from spec.language.formula import Formula
    from spec.language.procedure import Procedure
    from verify.command.tasks import Task, TaskResult
    from verify.deviations import Deviation
    from verify.pool import Lost


FIXED = "a number that is fixed, such as eps=1e-5"
RANGE = "a limit such as q=1e3"


def do_show(given: argparse.Namespace) -> int:
    """Show a formula, or write its page; what it claims and is not so makes it fail."""
    from rich.text import Text

    from spec.language.procedure import Procedure
    from verify.output.formula import procedure_lines

    out, found, status = console(), find(given.id), CONFORMS
    if isinstance(found, Procedure) and given.page:
        raise Unusable(f"{found.id} is a procedure: only formulas have a page")
    for style, text in (
        procedure_lines(found) if isinstance(found, Procedure) else show_formula(found, given.page)
    ):
        out.print(Text(text, style=style), soft_wrap=True)
        if text.startswith("refused: "):
            status = FALSIFIED
    return status


def _targets(ids: Sequence[str], names: Sequence[str] | None) -> tuple[list[Target], list[str]]:
    """The targets asked for; and of the formulas asked for, whatever their targets, those that have none."""
    from spec.language.registry import statement_ids

    ids = expand_subjects([*ids, *(name for name in names or () if name in statement_ids())])
    names = [name for name in names or () if name not in statement_ids()]
    for name in names:
        if not choose_targets((), [name]):
            labels = [*PACKAGES, *(t.label for t in TARGETS), *(t.name for t in TARGETS)]
            close = difflib.get_close_matches(name, labels, n=3, cutoff=0.5)
            raise Unusable(
                f"no target is called {name!r}; "
                + (f"did you mean {' or '.join(close)}?" if close else "see attnspec list")
            )
    found = choose_targets(ids, names)
    stated = [] if names else [i for i in ids or statement_ids() if not choose_targets([i])]
    if not found and not stated:
        raise Unusable("no target implements these formulas; see attnspec list")
    order = {formula_id: place for place, formula_id in enumerate(statement_ids())}
    return sorted(found, key=lambda t: order.get(t.formula_id, len(order))), stated


def _builtin(given: argparse.Namespace) -> tuple[list[Task], list[str]]:
    """The targets of ours that are asked for, as tasks; and what there is to say of those that cannot be run."""
    from verify.command.tasks import Task

    targets, stated = _targets(given.ids, given.target)
    absent = [
        f"absent: {t.label} ({PACKAGES[t.peer]} is not installed; pip install 'attnspec[{EXTRAS.get(t.peer, 'peers')}]')"
        for t in targets
        if not t.present
    ] + [f"stated: {formula_id} (nothing that implements it is listed)" for formula_id in stated]
    options = complete_options(given, "smoke")
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
    from verify.command.own_targets import configuration, find_misnamed, own_tasks
    from verify.command.tasks import progress, run_checks, worker_count
    from verify.deviations import deviations, judge
    from verify.output.table import overall, print_end

    config = configuration(given)
    known: Sequence[Deviation]
    if config is None:
        (tasks, absent), known, listed = _builtin(given), deviations(), "verify/known.toml"
    else:
        said = read_given_options(given)
        (tasks, known), absent, listed = own_tasks(config, given, said), [], str(config.path)
        record_options(given, resolve_options(config.options, said))
    with progress(len(tasks), "verifying") as step:

        def tell(outcome: TaskResult) -> None:
            lacking = "absent" if outcome.absent else "could not be run"
            said = outcome.report.verdict if outcome.report else lacking
            step(f"{outcome.task.label}: {said}, {outcome.seconds:.1f} s")

        outcomes, interrupted = run_checks(tasks, worker_count(given.jobs), tell, given.scheduler)
    reports = [o.report for o in outcomes if o.report is not None]
    errors = [f"could not be run: {o.task.label}: {o.error}" for o in outcomes if o.error]
    errors += find_misnamed(known, reports) if config is not None else []
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
    record(given, "verify", status, reports, judgement, absent, errors, bool(interrupted))
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


def record_lost(given: argparse.Namespace, status: int, lost: Lost) -> None:
    """Write what a command was asked to write, where the process that carried it out is gone."""
    if given.command == "replay":  # it writes no files
        return
    from verify.deviations import Judgement
    from verify.isolation import report_lost

    options, reports = complete_options(given), []
    if given.command == "check":
        reports.append(report_lost(find(given.formula).id, given.where, lost, options))
    record(given, given.command, status, reports, Judgement(), [], [] if reports else [lost.how], False)


def do_check(given: argparse.Namespace) -> int:
    """Check a user's function."""
    from verify.inputs.size_rules import pairs

    formula, err = find(given.formula), console(stderr=True)
    options = complete_options(given)
    more = {**options, "conventions": _conventions(formula, given.convention), "sizes": pairs(given.sizes)}
    more |= {"fixed": pairs(given.fixed, FIXED), "few_shapes": given.few_shapes, "name": given.where}
    if given.range:
        more["ranges"] = pairs(given.range, RANGE)
    with _show_progress(err) as tell:
        sound(formula, tell)
    # Everything of ours, and what it stands on, is imported before the user's directory comes onto the path.
    from verify.checking import check as run_check
    from verify.deviations import Judgement
    from verify.output.table import print_report, print_table, table
    from verify.report_text import report_lines
    from verify.subject.loading import Unloadable, callable_at

    with _show_progress(err) as tell, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        try:
            call = callable_at(given.where)
        except Unloadable as error:
            raise Unusable(str(error)) from None
        tell(f"checking {given.where} against {formula.id} …")
        more["progress"] = lambda title, place, of: tell(
            f"checking {given.where}: {title} ({place + 1} of {of}) …"
        )
        report = run_check(call, formula.id, **more)
    report.target = given.where
    status = {"falsified": FALSIFIED, "inconclusive": NOTHING}.get(report.verdict, CONFORMS)
    # Written before it is shown: a reader who has seen enough (`| head`) ends the command.
    record(given, "check", status, [report], Judgement(), [], [], False)
    reproduction = offer_replay(given, report)
    out = console()
    if given.quiet:
        out.print(next(report_lines(report)), markup=False, highlight=False, soft_wrap=True)
        return status
    print_report(out, report, given.verbose)
    out.print()
    print_table(out, table([report]))
    for line in reproduction:
        out.print(line, markup=False, soft_wrap=True)
    for said in dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in warned):
        err.print(f"warned: {said}", markup=False, highlight=False, soft_wrap=True)
    return status


@contextmanager
def _show_progress(err: Console) -> Iterator[Callable[[str], None]]:
    """Show in a terminal's last line what is being done; show nothing elsewhere."""
    if not err.is_terminal:
        yield lambda _: None
        return
    from rich.markup import escape

    with err.status("") as status:
        yield lambda said: status.update(escape(said))


def _conventions(formula: Formula | Procedure, pairs: Sequence[str]) -> dict[str, str] | str | None:
    """The conventions asked for: those nearest to the function (``auto``, if none is named), ours, or the ones named.

    With ``auto`` beside some that are named, these stay, and the others are sought.
    """
    from verify.edges import AUTO, OTHERS, split_conventions

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
        formula.choose(split_conventions(made)[1])
    except ValueError as error:
        raise Unusable(str(error)) from None
    return {**made, OTHERS: AUTO} if seeking else made

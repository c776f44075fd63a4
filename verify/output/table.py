"""How results look on a terminal: the table at the end of a run, and what was falsified.

Everything reads :class:`verify.report.Report`; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from verify.report_text import also_lines, aside_lines, describe_falsified, first, report_lines

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from verify.deviations import Judgement
    from verify.report import CheckResult, Report

WIDEST = 200
"""Columns of a picture of the table at most: what is longer is wrapped."""
INDENT = 2
"""Columns by which what belongs to a name is moved in, and between parts of a line."""
KINDS = ("value", "gradient", "accuracy", "theorem", "robustness", "law")
HEADS = {
    "value": "value",
    "gradient": "grad",
    "accuracy": "acc",
    "theorem": "thm",
    "robustness": "robust",
    "law": "law",
}
LEGEND = (
    "✓ conforms  ≈ imprecise  ✗ falsified  ? inconclusive  – not applicable\n"
    "error/bound: 1 is the bound derived from the statement; for a law p is ln p / ln level of its worst test\n"
    "in sigma: the largest error beside the spread of careful arithmetic's, at sizes of real models too"
)
SIGNS = {"conforms": "✓", "imprecise": "≈", "falsified": "✗", "inconclusive": "?", "known": "✗", "": "–"}
COLOURS = {
    "conforms": "green",
    "imprecise": "magenta",
    "falsified": "bold red",
    "inconclusive": "yellow",
    "known": "yellow",
    "": "dim",
}
WORST = ("falsified", "inconclusive", "imprecise", "known")
"""Verdicts, the one that says most about several targets first."""
DIM = ("property:", "note:", "not run:", "conforms:")
"""How lines begin that are not the main thing."""
SHORT = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def verdict_of(report: Report, kind: str, known: Sequence[CheckResult] = ()) -> str:
    """The verdict of all checks of a kind, ``known`` where only listed ones are falsified; "" where there are none."""
    checks = [c for c in report.checks if c.kind == kind]
    if not checks:
        return ""
    failed = [c for c in checks if c.verdict == "falsified"]
    if failed:
        return "known" if all(any(c is k for k in known) for c in failed) else "falsified"
    for verdict in ("imprecise", "conforms"):
        if any(c.verdict == verdict for c in checks):
            return verdict
    return "inconclusive"


def overall(report: Report, known: Sequence[CheckResult] = ()) -> str:
    """The verdict of a report, with listed deviations told apart."""
    failed = report.falsified
    if failed and all(any(c is k for k in known) for c in failed):
        return "known"
    return report.verdict


def worst(report: Report) -> str:
    """The largest error/bound over the value checks for each type; for a law the figure of its worst test."""
    found: dict[str, float] = {}
    for check in report.checks:
        if check.worst_ratio is None or check.reported or check.kind not in ("value", "law"):
            continue
        name = "p" if check.kind == "law" else SHORT.get(check.dtype or "", check.dtype or "")
        found[name] = max(found.get(name, 0.0), check.worst_ratio)
    return "  ".join(f"{name} {ratio(value)}" for name, value in found.items())


def accuracy(report: Report) -> str:
    """The largest error in each type, in sigma of careful arithmetic."""
    return "  ".join(
        f"{SHORT.get(dtype, dtype)} {sigmas(sigma)}" for dtype, (sigma, _) in report.grades.items()
    )


def sigmas(value: float) -> str:
    """An error in sigma in two digits: it is an estimate."""
    return (
        f"{value:.1f}"
        if value < 9.95
        else f"{value:.0f}"
        if value < 1e4
        else f"{value:.0e}".replace("e+0", "e")
    )


def ratio(value: float) -> str:
    """A ratio in three digits at most."""
    if value == 0:
        return "0"
    if value >= 1e4 or value < 1e-3:
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def unlike(report: Report) -> str:
    """The conventions that are not ours, and the sizes to which the check was confined."""
    from spec.language.registry import statement

    ours = statement(report.formula_id).choose()
    said = ", ".join(f"{k}={v}" for k, v in report.conventions.items() if ours.get(k) != v)
    where = f"where {report.sizes}" if report.sizes else ""
    return "; ".join(part for part in (said, where) if part)


def examples(report: Report) -> int:
    """How many examples (for a law: positions) were judged."""
    law = max((c.examples for c in report.checks if c.kind == "law"), default=0)
    return sum(c.examples for c in report.checks if c.kind != "law") + law


def table(reports: Iterable[Report], judgement: Judgement | None = None) -> Table:
    """The table at the end: a row for each formula and target."""
    from rich.table import Table
    from rich.text import Text

    known = [c for _, c, _ in judgement.expected] if judgement else []
    made = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for name in ("formula", "target"):
        made.add_column(name, overflow="fold")
    for kind in KINDS:
        made.add_column(HEADS[kind], justify="center", no_wrap=True)
    made.add_column("examples", justify="right", no_wrap=True)
    made.add_column("worst error/bound", no_wrap=True)
    made.add_column("in sigma", no_wrap=True)
    made.add_column("verdict", no_wrap=True)
    last = ""
    for report in reports:
        cells: list[Any] = [report.formula_id if report.formula_id != last else ""]
        last = report.formula_id
        target = Text(report.target)
        if unlike(report):
            target.append(f"  {unlike(report)}", style="dim italic")
        cells.append(target)
        for kind in KINDS:
            said = verdict_of(report, kind, known)
            cells.append(Text(SIGNS[said], style=COLOURS[said]))
        end = overall(report, known)
        word = "known deviation" if end == "known" else end
        cells += [f"{examples(report):,}", worst(report), accuracy(report), Text(word, style=COLOURS[end])]
        made.add_row(*cells)
    return made


def print_table(console: Console, made: Table) -> None:
    """A table; row by row where the terminal is narrower than its words: the first entry, and below it those that follow."""
    from rich.padding import Padding
    from rich.text import Text

    roomy = console.options.update(max_width=WIDEST)
    if console.measure(made, options=roomy).minimum <= console.width:
        console.print(made)
        return
    for name, *cells in zip(*(column.cells for column in made.columns), strict=True):
        if str(name):
            console.print(Text(str(name), style="bold"))
        pairs = [
            Text.assemble((f"{column.header}: ", "dim"), cell)
            for column, cell in zip(made.columns[1:], cells, strict=True)
            if str(cell)
        ]
        for line in _fill_lines(pairs, console.width - INDENT):
            console.print(Padding(line, (0, 0, 0, INDENT)))


def _fill_lines(parts: Iterable[Text], width: int) -> list[Text]:
    """Parts side by side, as many on a line as have room; what has several lines stands alone."""
    from rich.text import Text

    lines: list[Text] = []
    for part in parts:
        if (
            lines
            and "\n" not in f"{lines[-1]}{part}"
            and lines[-1].cell_len + part.cell_len + INDENT <= width
        ):
            lines[-1] = lines[-1] + Text(" " * INDENT) + part
        else:
            lines.append(part)
    return lines


def formula_lines(reports: Sequence[Report], judgement: Judgement) -> Iterator[Text]:
    """A line for each formula: how many of its targets conform, and which do not, with what is known of them."""
    from rich.text import Text

    known = [c for _, c, _ in judgement.expected]
    groups: dict[str, list[Report]] = {}
    for report in reports:
        groups.setdefault(report.formula_id, []).append(report)
    widest = max(map(len, groups), default=0)
    for formula_id, mine in groups.items():
        ends = {id(report): overall(report, known) for report in mine}
        fine = sum(end == "conforms" for end in ends.values())
        sign = next((end for end in (*WORST, "conforms") if end in ends.values()), "conforms")
        line = Text.assemble(
            (SIGNS[sign], COLOURS[sign]), f" {formula_id:{widest}}  {fine} of {len(mine)} conform"
        )
        others = [report for report in mine if ends[id(report)] != "conforms"]
        for report in others:
            end = ends[id(report)]
            word = "known deviation" if end == "known" else end
            line.append(f"; {report.target}: {word}", style=COLOURS[end])
        yield line


def print_end(
    console: Console,
    reports: Sequence[Report],
    judgement: Judgement,
    absent: Sequence[str],
    errors: Sequence[str],
    verbose: bool = False,
    listed: str = "verify/known.toml",
) -> None:
    """Everything after the bar: a line for each formula, known deviations with reasons (``listed`` in a file), news, absent
    peers; ``verbose``: with a row for each target, properties, notes and what was not run.
    """
    from rich.text import Text

    if reports and verbose:
        print_table(console, table(reports, judgement))
        console.print(Text(f"\n{LEGEND}", style="dim"))
    else:
        for row in formula_lines(reports, judgement):
            console.print(row, soft_wrap=True)
    known = (
        (f"{each.reason} ({each.report})" if each.report else each.reason, f"{each.target} ({each.formula})")
        for _, _, each in judgement.expected
    )
    _print_grouped(console, f"Known deviations[/bold], all as listed in {listed}:", known, "yellow")
    for deviation in judgement.passed:
        said = f"{deviation.target}: {deviation.check} is listed as a deviation but conforms now"
        console.print(Text(f"{said}: remove it from {listed}", style="bold red"))
    for report in reports:
        for check in report.checks:
            if check.verdict == "imprecise":
                console.print(Text(f"imprecise: {check.message}", style="magenta"), soft_wrap=True)
        if new := [check for of, check in judgement.new if of is report]:
            _print_falsified(console, report, new, verbose)
    if verbose:
        print_details(console, reports)
    for line in errors:
        console.print(Text(line, style="bold red"))
    for line in absent:
        console.print(Text(line, style="yellow"))


def _print_falsified(console: Console, report: Report, checks: Sequence[CheckResult], verbose: bool) -> None:
    """A report's headline, and what these checks found."""
    from rich.text import Text

    lead = first(checks)
    console.print()
    console.print(Text(f"{report.target} against {report.formula_id}: {report.headline}", style="bold red"))
    for line in (*describe_falsified(lead, verbose), *also_lines(checks, lead, verbose)):
        console.print(Text(f"  {line}"), soft_wrap=True)


def print_details(console: Console, reports: Sequence[Report]) -> None:
    """What is reported of targets and not judged: properties, notes, theorems that were not run."""
    properties = ((str(each), r.target) for r in reports for each in r.properties if each.notable)
    _print_grouped(console, "Properties[/bold], reported and not judged:", properties)
    notes = ((note, r.target) for r in reports for note in r.notes)
    _print_grouped(console, "Notes[/bold]", notes)
    _print_grouped(
        console, "Set aside[/bold]", ((line, r.target) for r in reports for line in aside_lines(r))
    )
    unrun = (
        (f"theorem {name} was not run: {why}", r.target) for r in reports for name, why in r.not_run.items()
    )
    _print_grouped(console, "Not run[/bold]", unrun)


def _print_grouped(console: Console, title: str, said: Iterable[tuple[str, str]], style: str = "dim") -> None:
    """A line for each sentence, after the names of all of whom it is said; nothing, title included, where nothing is said."""
    from rich.text import Text

    found: dict[str, dict[str, None]] = {}
    for sentence, name in said:
        found.setdefault(sentence, {})[name] = None
    if found:
        console.print(f"\n[bold]{title}")
    for sentence, names in found.items():
        console.print(Text(f"  {', '.join(names)}: {sentence}", style=style))


def print_report(console: Console, report: Report, verbose: bool = False) -> None:
    """One report, first things first."""
    from rich.text import Text

    for place, line in enumerate(report_lines(report, verbose)):
        style = COLOURS[report.verdict] if not place else "dim" if line.startswith(DIM) else ""
        console.print(Text(line, style=style), soft_wrap=True)

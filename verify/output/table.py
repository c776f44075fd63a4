"""How results look on a terminal: the table at the end of a run, and what was falsified.

Everything reads :class:`verify.report.Report`; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from verify.deviations import Deviation, Judgement
    from verify.report import CheckResult, Report

KINDS = ("value", "gradient", "accuracy", "theorem", "robustness", "law")
HEADS = {
    "value": "value",
    "gradient": "grad",
    "accuracy": "acc",
    "theorem": "thm",
    "robustness": "robust",
    "law": "law",
}
SIGNS = {"conforms": "✓", "imprecise": "≈", "falsified": "✗", "inconclusive": "?", "known": "✗", "": "–"}
COLOURS = {
    "conforms": "green",
    "imprecise": "magenta",
    "falsified": "bold red",
    "inconclusive": "yellow",
    "known": "yellow",
    "": "dim",
}
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
        if check.worst_ratio is None or check.kind not in ("value", "law"):
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


def picture(made: Table, title: str) -> str:
    """A table as an SVG picture that loads nothing: the fonts are the reader's."""
    import io
    import re

    from rich.console import Console

    console = Console(
        record=True, file=io.StringIO(), width=160, force_terminal=True, color_system="truecolor"
    )
    console.print(made)
    return re.sub(
        r"@font-face \{.*?\}\s*", "", console.export_svg(title=title, unique_id="attnspec"), flags=re.S
    )


def print_end(
    console: Console,
    reports: Sequence[Report],
    judgement: Judgement,
    absent: Sequence[str],
    errors: Sequence[str],
    listed: str = "verify/known.toml",
) -> None:
    """Everything after the bar: the table, known deviations with reasons (``listed`` in a file), news, absent peers."""
    from rich.text import Text

    from verify.edges import STRICT

    console.print(table(reports, judgement))
    console.print(
        Text(
            "\n✓ conforms  ≈ imprecise  ✗ falsified  ? inconclusive  – not applicable\n"
            "error/bound: 1 is the bound derived from the statement; for a law p is ln p / ln level of its worst test\n"
            "in sigma: the largest error beside the spread of careful arithmetic's, at sizes of real models too",
            style="dim",
        )
    )
    if judgement.expected:
        console.print(f"\n[bold]Known deviations[/bold], all as listed in {listed}:")
        told: dict[Deviation, list[str]] = {}
        for _, check, deviation in judgement.expected:
            told.setdefault(deviation, []).append(check.name)
        for deviation, names in told.items():
            link = f" ({deviation.report})" if deviation.report else ""
            console.print(
                Text(f"  {deviation.target}: {', '.join(names)}: {deviation.reason}{link}", style="yellow")
            )
    for deviation in judgement.passed:
        said = f"{deviation.target}: {deviation.check} is listed as a deviation but conforms now"
        console.print(Text(f"{said}: remove it from {listed}", style="bold red"))
    for report in reports:
        print_imprecise(console, report)
    for report, check in judgement.new:
        console.print()
        print_falsified(console, report, check)
    properties: dict[str, list[str]] = {}
    for report in reports:
        for each in report.properties:
            if each.option not in STRICT.values():
                properties.setdefault(str(each), []).append(report.target)
    if properties:
        console.print("\n[bold]Properties[/bold], reported and not judged:")
    for said, names in properties.items():
        console.print(Text(f"  {', '.join(names)}: {said}", style="dim"))
    notes: dict[str, list[str]] = {}
    for report in reports:
        for note in report.notes:
            notes.setdefault(note, []).append(report.target)
    if notes:
        console.print("\n[bold]Notes[/bold]")
    for note, names in notes.items():
        console.print(Text(f"  {', '.join(names)}: {note}", style="dim"))
    for line in errors:
        console.print(Text(line, style="bold red"))
    for line in absent:
        console.print(Text(line, style="yellow"))


def print_imprecise(console: Console, report: Report) -> None:
    """What is imprecise, a line for each type."""
    from rich.text import Text

    for check in report.checks:
        if check.verdict == "imprecise":
            console.print(
                Text("imprecise  ", style="bold magenta").append(check.message, style="not bold"),
                soft_wrap=True,
            )


def print_falsified(console: Console, report: Report, check: CheckResult) -> None:
    """One falsified check: what, the shrunk inputs, expected ± bound and got, the line or theorem violated."""
    from rich.text import Text

    head = Text("falsified", style="bold red")
    head.append(f"  {report.formula_id} · {report.target} · {check.name}", style="bold not red")
    console.print(head)
    if check.message:
        console.print(Text(f"  {check.message}"))
    if check.counterexample is not None:
        for line in check.counterexample.lines():
            console.print(Text(f"    {line}"), soft_wrap=True)

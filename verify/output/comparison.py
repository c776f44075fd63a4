"""How a comparison looks on a terminal: the verdict, a line for each kind of cases, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.output.table import COLOURS, SIGNS, WORST, sigmas

if TYPE_CHECKING:
    from rich.console import Console

    from verify.comparing.report import CaseResult, Comparison

MOST = 6
"""Cases that are told one by one, unless all are asked for."""


def print_comparison(out: Console, found: Comparison, verbose: bool = False) -> None:
    """Print the verdict, then a table with a row for each kind of cases (each case, where asked), then notes."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out.print(Text(found.headline, style=COLOURS[found.verdict]), soft_wrap=True)
    if found.formula:
        out.print(Text(found.formula), soft_wrap=True)
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    made.add_column("cases" if not verbose else "case")
    for head in ("", "largest error, σ", "not judged", "seconds"):
        made.add_column(head, justify="right")
    groups: dict[str, list[CaseResult]] = {}
    for case in found.cases:
        groups.setdefault(case.name if verbose else case.kind, []).append(case)
    for name, cases in groups.items():
        verdicts = {case.verdict for case in cases}
        verdict = next(x for x in ("falsified", "imprecise", "conforms", "inconclusive") if x in verdicts)
        worst = max((case.sigma for case in cases if case.sigma is not None), default=None)
        unjudged = sum(case.verdict == "inconclusive" for case in cases)
        made.add_row(
            name if verbose else f"{name} ({len(cases)})",
            Text(SIGNS[verdict], style=COLOURS[verdict]),
            "" if worst is None else sigmas(worst),
            str(unjudged or ""),
            f"{sum(case.seconds for case in cases):.2f}",
        )
    out.print(made)
    told = [
        case for case in found.cases if case.message and (verbose or case.verdict in WORST[:1] + WORST[2:3])
    ]
    for case in told if verbose else told[:MOST]:
        out.print(
            Text(f"{SIGNS[case.verdict]} {case.name}: {case.message}", style=COLOURS[case.verdict]),
            soft_wrap=True,
        )
    if len(told) > MOST and not verbose:
        out.print(Text(f"  and {len(told) - MOST} more cases (--verbose)", style="dim"))
    for note in found.notes:
        out.print(Text(f"note: {note}", style="dim"), soft_wrap=True)
    allowed = "" if found.sigmas is None else f": at most {found.sigmas:g} σ is allowed"
    held = f"{found.dtype or 'no type'} on {found.device}, seed {found.seed}, {found.seconds:.1f} s"
    out.print(Text(f"a grade, not a proof{allowed}; {held}", style="dim"))


__all__ = ["print_comparison"]

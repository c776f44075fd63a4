"""The command ``attnspec list``: formulas and procedures with their targets, and which packages are present."""

from __future__ import annotations

import argparse

from rich.table import Table
from rich.text import Text

from spec.language.registry import formulas, procedures, statement, statement_ids
from spec.language.wellformed.later import later
from verify.command.terminal import CONFORMS, console
from verify.output.table import print_table
from verify.targets import PACKAGES, TARGETS, peer_version


@later()  # titles and numbers are read alone
def do_list(given: argparse.Namespace) -> int:
    """List formulas and targets; imports no torch."""
    out = console()
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("formula", "title", "targets (in verify)"):
        made.add_column(name, overflow="fold")
    for formula_id in statement_ids():
        labels = Text()
        for place, target in enumerate(t for t in TARGETS if t.formula_id == formula_id):
            labels.append(
                ("\n" if place else "") + target.label, style="" if target.installed else "dim strike"
            )
        made.add_row(formula_id, statement(formula_id).title, labels or Text("stated", style="dim"))
    print_table(out, made)
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
        lacking = [target for target in TARGETS if target.peer == peer and target.present > target.installed]
        for target in lacking:
            out.print(Text(f"absent: {target.label} ({peer} {found or ''} has no {target.needs})"))
    return CONFORMS

"""The evidence: what ``attnspec verify --json`` found, as recorded in ``docs/evidence``.

A record names the fingerprint of the statement it was made for. Where the statement has changed since, the record is shown as
stale and none of its numbers are. A file is called by the day it was recorded, ``2026-11-21.json``; for each implementation
and statement the newest counts. ``python -m docs.generate.evidence RESULT.json`` condenses what the command wrote and adds it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from spec.language.formula import Formula

from .markup import badge, code, number, table

FOLDER = Path(__file__).parents[1] / "evidence"
KEPT = (
    "formula_id",
    "target",
    "conventions",
    "verdict",
    "overall",
    "seed",
    "max_examples",
    "fingerprint",
    "versions",
)
KEPT_OF_CHECKS = ("name", "kind", "dtype", "verdict", "examples", "worst_ratio", "effective", "message")


@dataclass(frozen=True)
class Record:
    """One report on one implementation, and the day on which it was made."""

    day: str
    report: Mapping[str, Any]

    def stale(self, formula: Formula) -> bool:
        """Whether it was made for another statement than the formula's present one."""
        return bool(self.report.get("fingerprint") != formula.fingerprint)

    @property
    def verdict(self) -> str:
        """``conforms``, ``falsified``, ``inconclusive``, or ``known`` where every falsification is a listed deviation."""
        return str(self.report.get("overall") or self.report["verdict"])

    def worst(self, dtype: str) -> float | None:
        """The largest error/bound over the value checks in a type."""
        seen = [
            float(c["worst_ratio"])
            for c in self.report["checks"]
            if c["kind"] == "value" and c.get("dtype") == dtype and c.get("worst_ratio") is not None
        ]
        return max(seen, default=None)

    def counts(self) -> str:
        """How many checks ended how, kind by kind."""
        kinds: dict[str, list[str]] = {}
        for check in self.report["checks"]:
            kinds.setdefault(check["kind"], []).append(check["verdict"])
        parts = []
        for kind, verdicts in kinds.items():
            good = verdicts.count("conforms")
            parts.append(f"{kind} {good}/{len(verdicts)}")
        return ", ".join(parts)


def read(folder: Path = FOLDER) -> list[Record]:
    """Every record, the newest for each implementation and statement."""
    newest: dict[tuple[str, str], Record] = {}
    for path in sorted(folder.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for report in document["reports"]:
            newest[report["formula_id"], report["target"]] = Record(path.stem, report)
    return list(newest.values())


@cache
def records() -> tuple[Record, ...]:
    """The records of this build."""
    return tuple(read())


def section(formula: Formula, found: Iterable[Record] | None = None) -> str:
    """The evidence for a formula as Markdown."""
    mine = [r for r in (records() if found is None else found) if r.report["formula_id"] == formula.id]
    if not mine:
        return (
            "No evidence is recorded for this statement. "
            f"`attnspec verify {formula.id}` checks every implementation of it that is installed."
        )
    rows = []
    for record in mine:
        report = record.report
        chosen = ", ".join(
            f"{name} = {option}"
            for name, option in report.get("conventions", {}).items()
            if name != "intermediates"
        )
        if record.stale(formula):
            made_for = code(str(report.get("fingerprint")))
            rows.append(
                (
                    escape(report["target"]),
                    badge("stale", "stale"),
                    f"recorded for the statement {made_for}",
                    "–",
                    "–",
                    "–",
                    record.day,
                )
            )
            continue
        examples = sum(c.get("examples", 0) for c in report["checks"])
        rows.append(
            (
                escape(report["target"]),
                badge(record.verdict, record.verdict, chosen),
                escape(record.counts()),
                f"{examples:,}".replace(",", " "),
                _ratio(record.worst("float64")),
                _ratio(record.worst("float32")),
                record.day,
            )
        )
    head = (
        "Implementation",
        "Verdict",
        "Checks that conform",
        "Examples",
        "Worst error/bound, float64",
        "float32",
        "Recorded",
    )
    text = table(head, rows, "evidence")
    text += f"\n\nFingerprint of the statement: `{formula.fingerprint}`."
    if any(r.stale(formula) for r in mine):
        text += f" A *stale* record was made for another statement; `attnspec verify {formula.id}` makes a new one."
    return text


def _ratio(value: float | None) -> str:
    return "–" if value is None else number(value)


def condensed(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the pages show of a result of ``attnspec verify --json``, counterexamples and the like left out."""
    reports = []
    for report in document["reports"]:
        kept = {name: report[name] for name in KEPT if name in report}
        kept["checks"] = [
            {n: c[n] for n in KEPT_OF_CHECKS if c.get(n) not in (None, "")} for c in report["checks"]
        ]
        reports.append(kept)
    return {"seed": document.get("seed"), "max_examples": document.get("max_examples"), "reports": reports}


def main(arguments: list[str]) -> None:
    """Condense a result and write it under today's date."""
    (result,) = arguments
    document = condensed(json.loads(Path(result).read_text(encoding="utf-8")))
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    (FOLDER / f"{date.today().isoformat()}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

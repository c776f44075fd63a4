"""The evidence: what ``attnspec verify --json`` found, as recorded in ``docs/evidence``.

A record names the fingerprint of the statement it was made for. Where the statement has changed since, the record is shown as
stale and none of its numbers are. A file is called by the day it was recorded, ``2026-11-21.json``, and holds one line for each
report: what the pages show, nothing more. For each implementation and statement the newest counts.
``python -m docs.generate.evidence RESULT.json …`` condenses what the command wrote and adds it: one run, or the parts of one.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from spec.language.formula import Formula
from spec.language.registry import statement as one

from .markup import badge, code, number, table

FOLDER = Path(__file__).parents[1] / "evidence"
PARTLY = (
    "Where not all checks of what conforms do, the others say nothing: the output carries no gradient, or a type in which the "
    "callable computes otherwise is reported and not judged (the property stands beside them)."
)
ONCE = ("seed", "max_examples", "versions")
"""What is said once for all reports of a run."""


@dataclass(frozen=True)
class Record:
    """What is shown of one report: ``verdict`` is that of the report, or ``known`` (all that is falsified is listed).

    ``conventions`` are those under which the verdict holds, ``checks`` how many checks of each kind conform and how many there
    were, ``examples`` their number over all checks, ``worst`` the largest error/bound of the value checks that judge, by
    type, ``grades`` for each type the largest error in sigma of careful arithmetic, and the digits lost against it;
    ``properties`` the conventions of a check that describe it, by name.
    """

    formula: str
    target: str
    verdict: str
    fingerprint: str
    conventions: Mapping[str, str] = field(default_factory=dict)
    checks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    examples: int = 0
    worst: Mapping[str, float] = field(default_factory=dict)
    grades: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Record:
        """A report of ``attnspec verify --json``, condensed."""
        verdicts: dict[str, list[str]] = {}
        worst: dict[str, float] = {}
        grades: dict[str, tuple[float, float]] = {}
        for check in report["checks"]:
            verdicts.setdefault(check["kind"], []).append(check["verdict"])
            judged = check["kind"] == "value" and check["verdict"] != "inconclusive"
            if judged and check.get("worst_ratio") is not None:
                dtype = check["dtype"]
                worst[dtype] = max(worst.get(dtype, 0.0), float(check["worst_ratio"]))
            details = check.get("details", {})
            if check["kind"] == "accuracy" and "sigma" in details:
                grades[check["dtype"]] = float(details["sigma"]), float(details["digits"])
        return cls(
            report["formula_id"],
            report["target"],
            report.get("overall") or report["verdict"],
            report["fingerprint"],
            {name: option for name, option in report["conventions"].items() if name != "intermediates"},
            {kind: (found.count("conforms"), len(found)) for kind, found in verdicts.items()},
            sum(check.get("examples", 0) for check in report["checks"]),
            worst,
            grades,
            {each["name"]: each["option"] for each in report.get("properties", ())},
        )

    @property
    def partly(self) -> bool:
        """Whether a check of it did not conform."""
        return any(good < all_ for good, all_ in self.checks.values())

    def stale(self, formula: Formula) -> bool:
        """Whether it was made for another statement than the formula's present one."""
        return self.fingerprint != formula.fingerprint

    def counts(self) -> str:
        """How many checks ended well, kind by kind."""
        return ", ".join(f"{kind} {good}/{all_}" for kind, (good, all_) in self.checks.items())


def read(folder: Path = FOLDER) -> list[tuple[str, Record]]:
    """Every record with its day, the newest for each implementation and statement."""
    newest: dict[tuple[str, str], tuple[str, Record]] = {}
    for path in sorted(folder.glob("*.json")):
        for kept in json.loads(path.read_text(encoding="utf-8"))["reports"]:
            record = Record(**kept)
            newest[record.formula, record.target] = path.stem, record
    return list(newest.values())


@cache
def records() -> tuple[tuple[str, Record], ...]:
    """The records of this build."""
    return tuple(read())


def records_of(formula_id: str) -> list[tuple[str, Record]]:
    """The records of this build that are about a formula, each with its day."""
    return [(day, record) for day, record in records() if record.formula == formula_id]


def section(formula: Formula, found: Iterable[tuple[str, Record]] | None = None) -> str:
    """The evidence for a formula as Markdown."""
    mine = list(records_of(formula.id) if found is None else found)
    if not mine:
        return (
            "No evidence is recorded for this statement. "
            f"`attnspec verify {formula.id}` checks every implementation of it that is installed."
        )
    head = (
        "Implementation",
        "Verdict",
        "Checks that conform",
        "Examples",
        "Worst error/bound, float64",
        "float32",
        "Error in sigma, float32",
        "bfloat16",
        "Recorded",
    )
    text = table(head, (_row(formula, day, record) for day, record in mine), "evidence")
    text += f"\n\nFingerprint of the statement: `{formula.fingerprint}`."
    if any(record.stale(formula) for _, record in mine):
        text += f" A *stale* record was made for another statement; `attnspec verify {formula.id}` makes a new one."
    if any(record.partly and record.verdict == "conforms" for _, record in mine):
        text += f" {PARTLY}"
    return text


def largest(dtype: str, count: int = 4) -> str:
    """The targets that conform with the largest errors in sigma in a type, as a list in words."""
    graded = [
        (record.grades[dtype][0], record.target)
        for _, record in records()
        if dtype in record.grades and record.verdict == "conforms" and not record.stale(one(record.formula))
    ]
    return ", ".join(
        f"{escape(target)} with {number(sigma)}" for sigma, target in sorted(graded, reverse=True)[:count]
    )


def _row(formula: Formula, day: str, record: Record) -> tuple[str, ...]:
    target = escape(record.target)
    if record.stale(formula):
        said = f"recorded for the statement {code(record.fingerprint)}"
        return target, badge("stale", "stale"), said, *("–",) * 5, day
    chosen = ", ".join(f"{name} = {option}" for name, option in record.conventions.items())
    return (
        target,
        badge(record.verdict, record.verdict, chosen),
        escape(record.counts()) + _said(record),
        f"{record.examples:,}".replace(",", " "),
        *(number(record.worst[t]) if t in record.worst else "–" for t in ("float64", "float32")),
        *(_grade(record, t) for t in ("float32", "bfloat16")),
        day,
    )


def _said(record: Record) -> str:
    """What describes a callable of which not all checks conform."""
    if not (record.partly and record.verdict == "conforms" and record.properties):
        return ""
    return "<br>" + ", ".join(code(f"{name}={option}") for name, option in record.properties.items())


def _grade(record: Record, dtype: str) -> str:
    if dtype not in record.grades:
        return "–"
    sigma, digits = record.grades[dtype]
    return number(sigma) + (f" ({digits:.1f} digits lost)" if digits >= 0.1 else "")


def condensed(*documents: Mapping[str, Any]) -> dict[str, Any]:
    """What the pages show of results of ``attnspec verify --json``, and with what they were found; of reports of one target the
    last counts.

    Raises:
        ValueError: results of different seeds, numbers of examples or versions.
    """
    once = {name: documents[0][name] for name in ONCE}
    for name in ONCE:
        if any(document[name] != once[name] for document in documents):
            raise ValueError(f"expected parts of one run, with the same {name}")
    records = (Record.of(report) for document in documents for report in document["reports"])
    newest = {(record.formula, record.target): asdict(record) for record in records}
    return {**once, "reports": list(newest.values())}


def written(document: Mapping[str, Any]) -> str:
    """A condensed result as JSON, one line for each report."""
    once = json.dumps({name: document[name] for name in ONCE}, ensure_ascii=False)
    reports = ",\n".join(json.dumps(report, ensure_ascii=False) for report in document["reports"])
    return f'{once[:-1]}, "reports": [\n{reports}\n]}}\n'


def main(arguments: list[str]) -> None:
    """Condense a result and write it under today's date; exits with 2 and a line for what is none."""
    about = "Condense what `attnspec verify --json` wrote, and add it to docs/evidence under today's date."
    command = ArgumentParser("python -m docs.generate.evidence", description=about)
    command.add_argument(
        "results", type=Path, nargs="+", metavar="RESULT.json", help="what the command wrote"
    )
    results = command.parse_args(arguments).results
    try:
        text = written(condensed(*(json.loads(path.read_text(encoding="utf-8")) for path in results)))
    except (OSError, ValueError, LookupError, TypeError) as problem:
        named = ", ".join(map(str, results))
        command.error(
            f"{named} is no result of `attnspec verify --json`: {type(problem).__name__}: {problem}"
        )
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{date.today().isoformat()}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

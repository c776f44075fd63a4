"""What was found as a document, behind ``--json`` and ``--html``."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.report import SCHEMA_VERSION

if TYPE_CHECKING:
    from verify.deviations import Judgement
    from verify.report import Report


SCHEMA = Path(__file__).with_name("report.schema.json")
"""What a document is, as JSON Schema."""


def document(
    given: argparse.Namespace,
    command: str,
    status: int,
    reports: Sequence[Report],
    judgement: Judgement,
    absent: Sequence[str],
    errors: Sequence[str],
    interrupted: bool,
) -> dict[str, Any]:
    """Everything found, as JSON has it (``report.schema.json`` describes it)."""
    from verify.output.table import KINDS, accuracy, examples, overall, unlike, verdict_of, worst
    from verify.report_text import caught_lines

    known = [check for _, check, _ in judgement.expected]
    made = []
    for report in reports:
        item = report.to_dict()
        item.update(
            overall=overall(report, known),
            headline=report.headline,
            caught="".join(caught_lines(report)),
            unlike=unlike(report),
            worst=worst(report),
            accuracy=accuracy(report),
            examples=examples(report),
            kinds={kind: verdict_of(report, kind, known) for kind in KINDS},
        )
        for check, plain in zip(report.checks, item["checks"], strict=True):
            plain["counterexample_lines"] = check.counterexample.lines() if check.counterexample else []
        made.append(item)
    told: dict[Any, list[str]] = {}
    for _, check, deviation in judgement.expected:
        told.setdefault(deviation, []).append(check.name)
    return {
        "schema_version": SCHEMA_VERSION,
        "command": command,
        "exit": status,
        "seed": given.seed,
        "max_examples": given.max_examples,
        "dtypes": given.dtype or ["float64", "float32"],
        "device": given.device,
        "versions": _versions(),
        "reports": made,
        "known_deviations": [
            {
                "target": d.target,
                "formula": d.formula,
                "checks": names,
                "reason": d.reason,
                "versions": d.versions,
                "report": d.report,
            }
            for d, names in told.items()
        ],
        "unexpected_passes": [
            {"target": d.target, "formula": d.formula, "check": d.check} for d in judgement.passed
        ],
        "absent": list(absent),
        "errors": list(errors),
        "interrupted": interrupted,
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("torch", "transformers", "numpy", "sympy", "python-flint"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def dump(document: dict[str, Any]) -> str:
    """A document as JSON text."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

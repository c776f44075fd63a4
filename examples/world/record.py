"""What was found of each component, as JSON: an object on a line for each, so that a later run replaces what it checks anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from examples.world.component import Component
from verify.report import Report
from verify.report_text import brief, first


def entry(component: Component, version: str, report: Report, seconds: float) -> dict[str, Any]:
    """What is kept of a report."""
    failed = report.falsified
    return {
        **_head(component, version),
        "verdict": report.verdict,
        "conventions": dict(report.found),
        "sizes": report.sizes,
        "range": "" if report.range is None else str(report.range),
        "cause": report.hint,
        "counterexample": brief(first(failed)) if failed else "",
        "properties": [str(each) for each in report.properties if each.notable],
        "examples": sum(check.examples for check in report.checks),
        "seconds": round(seconds, 1),
        "fingerprint": report.fingerprint,
    }


def unusable(path: Path, component: Component, version: str, why: str) -> None:
    """Record that a component cannot be called as it is adapted."""
    add(path, {**_head(component, version), "verdict": "unusable", "cause": why})


def refused(path: Path, library: str, version: str, why: str) -> None:
    """Record that a library cannot be imported."""
    add(path, {"library": library, "version": version, "component": "", "verdict": "absent", "cause": why})


def _head(component: Component, version: str) -> dict[str, Any]:
    return {
        "library": component.library,
        "version": version,
        "component": component.name,
        "formula": component.formula,
        "says": component.says,
    }


def add(path: Path, made: Mapping[str, Any]) -> None:
    """Add an entry, instead of an earlier one of the same component and formula."""
    kept = {_key(each): each for each in read(path)}
    kept[_key(made)] = dict(made)
    rows = ",\n".join(json.dumps(kept[key], ensure_ascii=False) for key in sorted(kept))
    path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    """The entries of a record; none where there is no record."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def _key(made: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(made["library"]), str(made["component"]), str(made.get("formula", ""))

"""What was found, for the machines that run it: JUnit's XML, and annotations on the lines of callables that fail.

Both read the document of a run (:func:`verify.output.document.document`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

Places = Mapping[tuple[str, str], tuple[str, int]]
"""The file and line of callables, by formula and target."""

WORDS = {"falsified": "error", "imprecise": "warning", "inconclusive": "notice"}
UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold."""


def junit(document: Mapping[str, Any]) -> str:
    """A suite for each target, a test for each check: a known deviation and what is inconclusive are skipped, with the reason.

    So is what was asked for and is absent, a test for each target.
    """
    root = ET.Element("testsuites", name=f"attnspec {document['command']}")
    for report in document["reports"]:
        suite = ET.SubElement(
            root,
            "testsuite",
            name=_clean(f"{report['formula_id']} {report['target']}"),
            time=f"{report['seconds']:.3f}",
        )
        reasons = _reasons(document, report)
        for check in report["checks"]:
            case = _case(suite, f"{report['formula_id']}.{report['target']}", check["name"])
            if check["verdict"] == "falsified" and check["name"] in reasons:
                ET.SubElement(case, "skipped", message=_clean(f"known deviation: {reasons[check['name']]}"))
            elif check["verdict"] == "falsified":
                lines = [*_hint(report), check["message"], *check["counterexample_lines"]]
                failure = ET.SubElement(case, "failure", type="falsified", message=_clean(check["message"]))
                failure.text = _clean("\n".join(lines))
            elif check["verdict"] == "inconclusive":
                ET.SubElement(case, "skipped", message=_clean(f"inconclusive: {check['message']}"))
            elif check["verdict"] == "imprecise":
                ET.SubElement(case, "system-out").text = _clean(f"imprecise: {check['message']}")
        _count(suite)
    others = ET.SubElement(root, "testsuite", name="attnspec")
    for passed in document["unexpected_passes"]:
        case = _case(others, f"{passed['formula']}.{passed['target']}", passed["check"])
        ET.SubElement(
            case, "failure", type="unexpected pass", message="listed as a deviation, but conforms now"
        )
    for error in document["errors"]:
        ET.SubElement(_case(others, "attnspec", error.partition(": ")[2]), "error", message=_clean(error))
    for absent in document["absent"]:
        label = absent.partition(": ")[2].partition(" (")[0]
        ET.SubElement(_case(others, "attnspec", label), "skipped", message=_clean(absent))
    _count(others)
    if not len(others):
        root.remove(others)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def marked_lines(document: Mapping[str, Any], places: Places) -> Iterator[str]:
    """A line for each target that did not conform, and for each error, as GitHub's runners read them from the output."""
    for report in document["reports"]:
        reasons = _reasons(document, report)
        news = [c for c in report["checks"] if c["verdict"] == "falsified" and c["name"] not in reasons]
        if not news and report["overall"] in ("conforms", "known"):
            continue
        word = WORDS["falsified" if news else report["overall"]]
        found = news or [c for c in report["checks"] if c["verdict"] == report["overall"]]
        lines = [found[0]["message"], *found[0]["counterexample_lines"]] if found else []
        lines = [*_hint(report), *lines]
        others = [check["name"] for check in found[1:]]
        lines += [f"also: {', '.join(others)}"] * bool(others)
        verdict = "falsified" if news else report["overall"]
        title = f"{report['target']} against {report['formula_id']}: {verdict}"
        yield _command(word, title, "\n".join(lines), places.get((report["formula_id"], report["target"])))
    for passed in document["unexpected_passes"]:
        title = f"{passed['target']} against {passed['formula']}: unexpected pass"
        where = places.get((passed["formula"], passed["target"]))
        yield _command("error", title, f"{passed['check']} is listed as a deviation, but conforms now", where)
    for error in document["errors"]:
        yield _command("error", "attnspec", error, None)


def _command(word: str, title: str, text: str, place: tuple[str, int] | None) -> str:
    fields = {"title": title}
    if place is not None:
        home = os.environ.get("GITHUB_WORKSPACE") or Path.cwd()
        file = os.path.relpath(place[0], home)
        fields = {"file": place[0] if file.startswith("..") else file, "line": str(place[1]), **fields}
    said = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in fields.items())
    return f"::{word} {said}::{_escaped(text)}"


def _escaped(text: str, more: str = "") -> str:
    for sign in f"%\r\n{more}":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def _reasons(document: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, str]:
    """The reasons of the checks of a report that are falsified as listed."""
    return {
        name: deviation["reason"]
        for deviation in document["known_deviations"]
        if (deviation["target"], deviation["formula"]) == (report["target"], report["formula_id"])
        for name in deviation["checks"]
    }


def _hint(report: Mapping[str, Any]) -> list[str]:
    return [report["hint"]] if report["hint"] else []


def _case(suite: ET.Element, of: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=_clean(of), name=_clean(name))


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite)))
    for word, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"*/{word}"))))


def _clean(text: str) -> str:
    return UNPRINTABLE.sub("�", text)


__all__ = ["Places", "junit", "marked_lines"]

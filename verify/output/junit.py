"""JUnit's XML, made from the document of a run (:func:`verify.output.document.document`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

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


__all__ = ["junit"]

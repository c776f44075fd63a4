"""What machines read: the JSON document and its schema, and JUnit's XML."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from verify.command.cli import main
from verify.output.document import SCHEMA, SCHEMA_VERSION
from verify.output.junit import junit

SCHEMES = json.loads(SCHEMA.read_text(encoding="utf-8"))
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
UNDERSTOOD = {
    "$schema", "$defs", "$ref", "title", "description", "type", "required", "properties", "additionalProperties", "items",
    "enum", "const", "anyOf", "minimum",
}  # fmt: skip


def violations(schema: dict[str, Any], value: Any, at: str = "") -> Iterator[str]:
    """Where a value is not what a schema of these keywords says."""
    assert set(schema) <= UNDERSTOOD, schema
    if "$ref" in schema:
        yield from violations(SCHEMES["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, at)
    if "anyOf" in schema and all(list(violations(part, value, at)) for part in schema["anyOf"]):
        yield f"{at}: {value!r} is none of them"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']}"
    if "type" in schema:
        kind = TYPES[schema["type"]]
        if not isinstance(value, kind) or (isinstance(value, bool) and schema["type"] != "boolean"):
            yield f"{at}: {value!r} is no {schema['type']}"
            return
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{at}: {value!r} is below {schema['minimum']}"
    if isinstance(value, dict):
        yield from (f"{at}: {key} is missing" for key in schema.get("required", ()) if key not in value)
        for key, part in value.items():
            within = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            yield from violations(within, part, f"{at}.{key}")
    if isinstance(value, list):
        for place, part in enumerate(value):
            yield from violations(schema.get("items", {}), part, f"{at}[{place}]")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of a run with all that there is: a right target, a wrong one, a known one, an unexpected pass, an error."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "hosted_norms.py").write_text(
        "def right(x, y):\n    return (x * y).sum(-1)\n\n\ndef wrong(x, y):\n    return (x * y).sum(-1) * 1.01\n"
    )
    target = '[[target]]\nname = "{0}"\ncallable = "hosted_norms:{1}"\nformula = "similarity.dot"\n'
    known = 'known = [{check = "*", reason = "a percent <is> & was\\u0007 meant"}]\n'
    (folder / "attnspec.toml").write_text(
        'types = ["float64"]\n'
        + target.format("right", "right")
        + target.format("wrong", "wrong")
        + target.format("known", "wrong")
        + known
        + target.format("mended", "right")
        + known
        + target.format("missing", "nothing")
    )
    path, before = list(sys.path), Path.cwd()
    try:
        arguments = ["--jobs", "1", "--json", "a.json", "--junit", "a.xml"]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            assert main(["verify", *arguments]) == 1
        return {
            "document": json.loads((folder / "a.json").read_text()),
            "xml": (folder / "a.xml").read_text(),
        }
    finally:
        sys.path[:] = path
        sys.modules.pop("hosted_norms", None)
        assert Path.cwd() == before


def test_a_document_is_what_the_schema_says(found: dict[str, Any]) -> None:
    """Nothing in a document is unlike its schema, and every key that the schema knows occurs."""
    document = found["document"]
    assert list(violations(SCHEMES, document)) == []
    assert document["schema_version"] == SCHEMA_VERSION == SCHEMES["properties"]["schema_version"]["const"]
    assert set(SCHEMES["properties"]) == set(document)
    (wrong,) = (report for report in document["reports"] if report["target"] == "wrong")
    for name, part in (
        ("report", wrong),
        ("check", wrong["checks"][0]),
        ("counterexample", wrong["checks"][0]["counterexample"]),
        ("deviation", document["known_deviations"][0]),
        ("counterexample_file", {"schema_version": 2, **wrong}),
    ):
        assert set(SCHEMES["$defs"][name]["properties"]) <= set(part), name


def test_the_schema_refuses(found: dict[str, Any]) -> None:
    """What is missing, of another type, or another word is seen by the test above."""
    for change in (
        {"exit": 7},
        {"seed": "0"},
        {"interrupted": 0},
        {"schema_version": 1},
        {"reports": [{**found["document"]["reports"][0], "verdict": "fine"}]},
        {"reports": [{"target": "x"}]},
    ):
        assert list(violations(SCHEMES, {**found["document"], **change})), change


def test_junit_tells_failures_from_known_deviations(found: dict[str, Any]) -> None:
    """What is new fails with its counterexample; what is listed is skipped with its reason; surprises and errors count."""
    root = ET.fromstring(found["xml"])
    suites = {suite.get("name"): suite for suite in root}
    assert int(suites["similarity.dot right"].get("failures", "")) == 0
    wrong = suites["similarity.dot wrong"]
    failures = wrong.findall("*/failure")
    assert int(wrong.get("failures", "")) == len(failures) > 0
    assert "expected" in (failures[0].text or "")
    assert "violated" in (failures[0].text or "")
    listed = suites["similarity.dot known"]
    assert listed.get("failures") == "0"
    assert any("a percent <is> & was" in skipped.get("message", "") for skipped in listed.iter("skipped"))
    assert suites["attnspec"].get("failures") == "1"
    assert suites["attnspec"].get("errors") == "1"


def test_junit_skips_what_is_absent(found: dict[str, Any]) -> None:
    """A target that cannot be run is a test of its own, skipped with the reason."""
    said = "absent: torch F.new(chunked) (torch 2 has no nn.functional.new)"
    root = ET.fromstring(junit({**found["document"], "absent": [said]}))
    (suite,) = (each for each in root if each.get("name") == "attnspec")
    (case,) = (each for each in suite if each.find("skipped") is not None)
    assert case.get("name") == "torch F.new(chunked)"
    assert case.find("skipped").get("message") == said  # type: ignore[union-attr]
    assert suite.get("skipped") == "1"


def test_junit_of_nothing_is_xml() -> None:
    """A run without reports, and messages with signs that XML has not, give XML that can be read."""
    empty = {
        "command": "verify",
        "reports": [],
        "known_deviations": [],
        "unexpected_passes": [],
        "absent": [],
        "errors": [],
    }
    assert len(ET.fromstring(junit(empty))) == 0
    broken = {**empty, "errors": ["could not be run: x: \x00 <&> \ud800"]}
    assert "<&>" in ET.fromstring(junit(broken)).findall("*/*/error")[0].get("message", "")

"""Evidence: condensed from what the command wrote, one line for each report, and withheld where the statement has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from generate import evidence

from spec.language.registry import formulas


def check(
    kind: str, verdict: str, examples: int, dtype: str | None = None, ratio: float | None = None
) -> dict[str, Any]:
    """A check as ``attnspec verify --json`` writes it, as far as it is read."""
    return {
        "name": f"{kind} {dtype}",
        "kind": kind,
        "dtype": dtype,
        "verdict": verdict,
        "examples": examples,
        "worst_ratio": ratio,
    }


REPORT = {
    "formula_id": "attention.softmax",
    "target": "impl it",
    "conventions": {"polarity": "true_attends", "intermediates": "accumulate"},
    "verdict": "falsified",
    "overall": "known",
    "fingerprint": "0123456789abcdef",
    "checks": [
        check("value", "conforms", 101, "float64", 0.25),
        check("value", "falsified", 97, "float32", 0.5),
        check("value", "conforms", 11, "float32", 0.125),
        check("theorem", "conforms", 7, None, 0.75),
        check("robustness", "inconclusive", 3),
    ],
    "seconds": 1.5,
}
DOCUMENT = {
    "command": "attnspec verify",
    "seed": 5,
    "max_examples": 100,
    "versions": {"torch": "2.13.0"},
    "reports": [REPORT, REPORT],
}


def test_a_report_is_condensed_to_what_is_shown() -> None:
    """Counts by kind, all examples, the largest ratio of the value checks in each type, and the verdict over all."""
    record = evidence.Record.of(REPORT)
    assert record.counts() == "value 2/3, theorem 1/1, robustness 0/1"
    assert record.examples == 101 + 97 + 11 + 7 + 3
    assert record.worst == {"float64": 0.25, "float32": 0.5}
    assert record.verdict == "known"
    assert record.conventions == {"polarity": "true_attends"}


def test_a_record_is_one_line_for_each_report_and_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Seed, number of examples and versions stand once, at the head."""
    text = evidence.written(evidence.condensed(DOCUMENT))
    head, *lines, _ = text.splitlines()
    assert len(lines) == 1  # of two reports of one target the last counts
    assert "2.13.0" in head
    assert "2.13.0" not in "".join(lines)
    assert json.loads(text)["seed"] == 5
    (tmp_path / "2026-01-02.json").write_text(text, encoding="utf-8")
    ((day, record),) = evidence.read(tmp_path)
    assert day == "2026-01-02"
    formula = formulas()["attention.softmax"]
    assert evidence.section(formula, [(day, record)]) == evidence.section(
        formula, [(day, evidence.Record.of(REPORT))]
    )


def test_the_command_writes_a_record_under_the_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``python -m docs.generate.evidence RESULT.json``."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path / "evidence")
    result = tmp_path / "result.json"
    result.write_text(json.dumps(DOCUMENT), encoding="utf-8")
    evidence.main([str(result)])
    assert [record.target for _, record in evidence.read(tmp_path / "evidence")] == ["impl it"]


def test_parts_of_one_run_are_added_and_those_of_others_refused() -> None:
    """A target that was run again is there once, as it was last."""
    again = {**REPORT, "overall": "conforms"}
    other = {**DOCUMENT, "reports": [{**REPORT, "target": "another"}, again]}
    found = evidence.condensed(DOCUMENT, other)["reports"]
    assert sorted((each["target"], each["verdict"]) for each in found) == [
        ("another", "known"),
        ("impl it", "conforms"),
    ]
    with pytest.raises(ValueError, match="expected parts of one run, with the same seed"):
        evidence.condensed(DOCUMENT, {**DOCUMENT, "seed": 6})


@pytest.mark.parametrize("content", [None, "", "{}", "[1]", '{"reports": 3}'])
def test_what_is_no_result_is_refused_in_a_line(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is missing, or of something else: nothing is written, the status is 2."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path / "evidence")
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    with pytest.raises(SystemExit) as left:
        evidence.main([str(tmp_path / "result.json")])
    assert left.value.code == 2
    assert "is no result of `attnspec verify --json`" in capsys.readouterr().err
    assert not (tmp_path / "evidence").exists()


def test_the_newest_record_counts(tmp_path: Path) -> None:
    """Whichever verdict it has."""
    for day, verdict in (("2026-01-02", "known"), ("2026-02-01", "conforms"), ("2025-12-31", "falsified")):
        document = {**DOCUMENT, "reports": [{**REPORT, "overall": verdict}]}
        text = evidence.written(evidence.condensed(document))
        (tmp_path / f"{day}.json").write_text(text, encoding="utf-8")
    assert [(day, record.verdict) for day, record in evidence.read(tmp_path)] == [("2026-02-01", "conforms")]


def test_stale_evidence_is_marked_and_its_numbers_are_withheld() -> None:
    """Evidence for another statement is called stale and shows no verdict and no number; for this statement it shows both."""
    formula = formulas()["attention.softmax"]
    old = evidence.Record.of({**REPORT, "overall": "conforms"})
    shown = evidence.section(formula, [("2026-01-02", old)])
    assert "badge--stale" in shown
    assert old.fingerprint in shown
    assert "0.25" not in shown
    assert "badge--conforms" not in shown
    new = evidence.Record.of({**REPORT, "overall": "conforms", "fingerprint": formula.fingerprint})
    shown = evidence.section(formula, [("2026-01-02", new)])
    assert "0.25" in shown
    assert "badge--conforms" in shown
    assert "stale" not in shown


def test_without_a_record_the_page_says_so() -> None:
    """A statement without evidence says that none is recorded, and how to get some."""
    text = evidence.section(formulas()["scores.dot"], [])
    assert "No evidence" in text
    assert "attnspec verify scores.dot" in text

"""Reports: verdicts, text, JSON."""

import json
import math

import numpy as np
import pytest
from rich.console import Console

from verify.report import CheckResult, Counterexample, Report, jsonable


def made(*verdicts, kind="value"):
    """A report with such checks."""
    checks = [CheckResult(f"check {k}", kind, v, 3, 0.5) for k, v in enumerate(verdicts)]
    return Report("scores.dot", "f", {"a": "b"}, checks)


@pytest.mark.parametrize(
    ("verdicts", "kind", "expected"),
    [
        (("conforms", "falsified"), "value", "falsified"),
        (("conforms", "inconclusive"), "value", "conforms"),
        (("inconclusive",), "value", "inconclusive"),
        (("conforms",), "gradient", "inconclusive"),
        (("conforms",), "law", "conforms"),
        (("falsified",), "robustness", "falsified"),
        ((), "value", "inconclusive"),
    ],
)
def test_the_verdict_follows_from_the_checks(verdicts, kind, expected):
    """Falsified if any check is; conforms only if values (or laws) do."""
    assert made(*verdicts, kind=kind).verdict == expected


def test_a_report_is_json_even_with_nan_and_infinity():
    """Arrays, NumPy numbers, NaN and infinity are written as JSON has them."""
    report = made("falsified")
    report.checks[0].worst_ratio = math.inf
    report.checks[0].counterexample = Counterexample(
        {"x": np.array([math.nan, 1.0]), "n": np.int64(3), "mask": None},
        "float32",
        got=math.nan,
        expected=1.0,
    )
    found = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert found["verdict"] == "falsified"
    assert found["checks"][0]["worst_ratio"] == "inf"
    assert found["checks"][0]["counterexample"]["inputs"] == {
        "x": {"dtype": "float64", "shape": [2], "values": ["nan", 1.0]},
        "n": 3,
        "mask": None,
    }


def test_a_report_reads_well():
    """The text names target, formula, convention, what was expected and what was got."""
    report = made("falsified")
    report.checks[0].counterexample = Counterexample(
        {"x": np.array([1.0])},
        "float32",
        what="y",
        index=(0,),
        got=2.0,
        expected=1.0,
        tolerance=1e-6,
        violates="y = x",
    )
    report.hint = "conforms under convention c"
    text = str(report)
    for part in (
        "f against scores.dot: falsified",
        "a=b",
        "y[0]: expected 1 ± 1e-06, got 2",
        "violated: y = x",
        "falsified: conforms under convention c",
    ):
        assert part in text
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(report)
    console.file.close()
    assert "falsified" in console.export_text()


def test_plain_leaves_nothing_that_json_lacks():
    """Sets, tuples and objects become lists and text."""
    assert jsonable({"a": (1, {2}), 3: object}) == {"a": [1, [2]], "3": str(object)}

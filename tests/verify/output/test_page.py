"""What was found as a page: what needs attention is not in a fold, and nothing is left out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from verify.output.page import page


def report(overall: str, target: str, **more: Any) -> dict[str, Any]:
    """What a document says of a target of one check."""
    check = {
        "name": "value in float32",
        "verdict": overall,
        "examples": 3,
        "worst_ratio": "inf",
        "message": f"the message of {target}",
        "counterexample_lines": [],
    }
    kinds = dict.fromkeys(("value", "gradient", "accuracy", "theorem", "robustness", "law"), "")
    return {
        "formula_id": "normalization.layer_norm",
        "target": target,
        "overall": overall,
        "headline": f"{overall}: the cause of {target}",
        "unlike": "eps=outside",
        "kinds": {**kinds, "value": overall},
        "examples": 1234,
        "worst": "f32 2.71",
        "accuracy": "",
        "caught": "",
        "properties": [{"name": "leaks", "option": "", "says": "NaN in a slot reaches outputs"}],
        "notes": ["a note"],
        "not_run": {"scale": "no scale"},
        "checks": [check],
        **more,
    }


def made(*reports: dict[str, Any], **more: Any) -> str:
    """The page of a run."""
    return page(
        {
            "command": "verify",
            "exit": 1,
            "seed": 0,
            "max_examples": 5,
            "device": "cpu",
            "versions": {"torch": "2"},
            "interrupted": False,
            "reports": list(reports),
            "known_deviations": [],
            "unexpected_passes": [],
            "absent": [],
            "errors": [],
            **more,
        }
    )


def unfolded(text: str) -> str:
    """What is seen of a page before a fold is opened."""
    while (shorter := re.sub(r"<details>((?!<details>).)*?</details>", "", text, flags=re.S)) != text:
        text = shorter
    return text


@pytest.mark.parametrize("overall", ["falsified", "imprecise", "inconclusive"])
def test_what_needs_attention_is_laid_open_before_the_rest(overall: str) -> None:
    """The cause, the message and the counterexample are seen at once; what conforms is in a fold below."""
    wrong = report(overall, "kernel")
    wrong["checks"][0]["counterexample_lines"] = ["x = [1., 2.]", "y[0]: expected 1, got 2"]
    said = made(report("conforms", "fine"), wrong)
    for part in ("the cause of kernel", "the message of kernel", "x = [1., 2.]\ny[0]: expected 1, got 2"):
        assert part in unfolded(said)
    assert "the cause of fine" in said
    assert "the cause of fine" not in unfolded(said)
    assert said.index("the cause of kernel") < said.index("the cause of fine")


def test_a_check_without_a_counterexample_still_says_why() -> None:
    """Where a call has ended its process there is only a message."""
    assert "the message of kernel" in unfolded(made(report("falsified", "kernel")))


def test_errors_absent_targets_and_gone_deviations_are_told() -> None:
    """A page that hides what could not be run would read as if all had been."""
    gone = [{"target": "kernel", "formula": "attention.softmax", "check": "theorem shift"}]
    said = unfolded(
        made(errors=["could not be run: a"], absent=["absent: b"], unexpected_passes=gone, interrupted=True)
    )
    for part in ("could not be run: a", "absent: b", "theorem shift is listed as a deviation", "Interrupted"):
        assert part in said


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    """No column for laws where no target has one; a target's conventions stand below its name."""
    said = made(report("conforms", "fine"))
    assert "<th>value</th>" in said
    assert "<th>law</th>" not in said
    assert "<small>eps=outside</small>" in said


def test_what_callables_are_called_is_text_and_no_markup() -> None:
    """Names and messages come from users."""
    said = made(report("falsified", "<script>alert(1)</script>"), errors=["<b>"])
    assert "<script>" not in said
    assert "<b>" not in said

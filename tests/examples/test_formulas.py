"""The formulas of examples/formulas, each stated in one file: proved, checked against what stands beside them, and on a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import spec
import verify
from examples.formulas import biased, rotary
from verify.output.formula import refusals
from verify.output.formula_page import Html, page

FOLDER = Path(__file__).parents[2] / "examples" / "formulas"
ROPE, ALIBI = f"{FOLDER / 'rope.py'}:rope", f"{FOLDER / 'alibi.py'}:alibi"
ROPE_AT = f"{FOLDER / 'rope.py'}:rope_at"
POWERS = {"H": "1|2|4|8"}


@pytest.mark.parametrize("address", [ROPE, ALIBI])
def test_what_is_claimed_is_proved(address: str) -> None:
    """Every theorem is proved for all sizes, and every worked number follows."""
    formula = spec.find(address)
    assert len(formula.theorems) >= 3
    for name in formula.theorems:
        assert str(spec.prove(formula, name).assurance) == "proved", name
    told: list[str] = []
    assert refusals(formula, {}, told.append) == []
    assert len(told) == len(formula.theorems)


@pytest.mark.parametrize(
    ("fn", "address", "options"),
    [
        (rotary.turned, ROPE, {}),
        (rotary.halves, ROPE, {"conventions": {"layout": "halves"}}),
        (rotary.looked_up, ROPE_AT, {"conventions": {"layout": "halves"}}),
        (biased.weights, ALIBI, {}),
    ],
)
def test_what_stands_beside_it_conforms(fn: Any, address: str, options: dict[str, Any]) -> None:
    """The implementations in the same folder conform, in values, gradients and theorems."""
    report = verify.check(fn, address, max_examples=20, dtypes=["float64"], **options)
    assert report.verdict == "conforms", str(report)
    assert {"value", "gradient", "theorem", "robustness"} <= {check.kind for check in report.checks}


@pytest.mark.parametrize(
    ("fn", "address", "options"),
    [
        (rotary.llama, ROPE, {"conventions": {"layout": "halves"}}),
        (biased.bloom, ALIBI, {"sizes": POWERS}),
        (biased.mpt, ALIBI, {"sizes": POWERS}),
    ],
)
def test_what_transformers_does_conforms(fn: Any, address: str, options: dict[str, Any]) -> None:
    """The functions of transformers that do the same conform, where it is installed."""
    pytest.importorskip("transformers")
    report = verify.check(fn, address, max_examples=12, dtypes=["float32"], **options)
    assert report.verdict == "conforms", str(report)


def test_what_is_wrong_is_falsified() -> None:
    """Turned the other way, in the other layout, and with the distance added, they are falsified."""

    def added(s: Any) -> Any:
        return biased.weights(s.flip(-3)) if s.shape[-3] > 1 else biased.weights(s)

    for fn, address in ((rotary.wrong_way, ROPE), (rotary.halves, ROPE), (added, ALIBI)):
        report = verify.check(fn, address, max_examples=20, dtypes=["float64"])
        assert report.verdict == "falsified", str(report)


def test_a_page_stands_by_itself() -> None:
    """A page says what the statement says, in HTML that fetches nothing and in Markdown."""
    formula = spec.find(ROPE)
    html, markdown = page(formula, ".html"), page(formula, ".md")
    for text in (html, markdown):
        assert formula.title in text
        assert "relative" in text
        assert "(proved)" in text
        assert "agrees" in text
        assert "arXiv:2104.09864" in text
    assert not re.search(r"(src|href)=|@import|url\(|<script", html)
    assert r"\cos\left(p_{t}\,\omega_{i}\right)" in markdown
    assert html.count("<details>") == html.count("</details>")


def test_a_page_needs_no_other_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing makes MathML of LaTeX, formulas are written in letters."""
    monkeypatch.setattr(Html, "style", "unicode")
    assert "cos(p[t]·ω[i])" in page(spec.find(ROPE), ".html")


def test_a_page_has_a_kind() -> None:
    """A name with neither suffix is refused in one line."""
    with pytest.raises(verify.Unusable, match=r"a page is written as \.html or \.md; got \.pdf"):
        page(spec.find(ROPE), ".pdf")

"""Reports as text: first things first, at most a screen."""

import math

import numpy as np
import pytest

import impl.scores
from verify import check
from verify.report import CheckResult, Counterexample, Report
from verify.report_text import apart, brief, counterexample_lines, first, first_place


@pytest.mark.parametrize(
    ("expected", "got", "told"),
    [
        (1.0, 2.0, ("1", "2")),
        (1.9999400019999302e-05, 1.9999600007870489e-05, ("1.99994e-05", "1.99996e-05")),
        (0.1, 0.1 + 1e-16, ("0.10000000000000001", "0.1000000000000001")),
        (1.0, math.nan, ("1", "nan")),
        (1.0, 1.0, ("1", "1")),
        (2.34169849, 2.34169851, ("2.34169849", "2.34169851")),
        (math.nan, math.nan, ("a number", "nan")),
    ],
)
def test_numbers_are_told_in_the_digits_in_which_they_differ(expected, got, told):
    """One digit more than it takes, 17 at most."""
    assert apart(expected, got) == told


def failed(name, kind, size, got=2.0):
    """A falsified check with a counterexample of this many entries."""
    example = Counterexample({"x": np.ones(size)}, "float64", what="y", index=(0,), got=got, expected=1.0)
    return CheckResult(name, kind, "falsified", 5, counterexample=example, message="m " * 300)


def test_values_are_told_before_what_follows_from_them():
    """The smallest counterexample of a value, then gradients, theorems, scenarios."""
    every = [
        failed("t", "theorem", 1),
        failed("v64", "value", 9),
        failed("v32", "value", 4),
        failed("g", "gradient", 1),
    ]
    assert first(every).name == "v32"
    assert first([every[0], every[3]]).name == "g"


def test_inputs_that_are_lists_of_any_lengths_are_counted():
    """As prompts are, of which the shorter example is told first."""
    long, short = (
        CheckResult("value", "value", "falsified", counterexample=Counterexample({"prompts": prompts}, "float64", {}))
        for prompts in ([[0], [1, 2]], [[0]])
    )  # fmt: skip
    assert first([long, short]) is short


def test_a_report_fits_on_a_screen_and_verbose_holds_everything():
    """However much failed, and however large: a line each, with a count of what is left out."""
    checks = [failed(f"check {k}", "theorem", 5000) for k in range(40)]
    report = Report("scores.dot", "f", {"a": "b"}, checks, not_run={"one": "why not", "two": "because"})
    report.hint = "the cause"
    text = str(report)
    assert text.splitlines()[0] == "f against scores.dot: falsified: the cause"
    assert len(text.splitlines()) < 40
    assert len(text) < 6000
    assert "and 31 more (--verbose lists them)" in text
    assert "not run: 2 theorems" in text
    assert "why not" not in text
    assert len(brief(CheckResult("n", "value", "falsified", message="m " * 300))) < 220
    everything = report.text(verbose=True)
    assert everything.count("expected 1, got 2") == 40
    assert "theorem one: why not" in everything


def test_a_real_report_begins_with_verdict_and_counterexample():
    """The counterexample follows at once; what failed with it is folded."""
    lines = str(check(impl.scores.dot, "scores.scaled_dot", max_examples=20)).splitlines()
    assert lines[0].startswith("impl.scores") or "against scores.scaled_dot: falsified" in lines[0]
    assert any("q = [[" in line for line in lines[1:6])
    assert any(line.startswith("with it:") for line in lines)
    assert len(lines) < 40


def test_what_alone_shows_it_is_said_with_when_it_was_seen():
    """One kind of check that failed while others conform is named; several are listed; nothing where nothing failed."""
    fine = CheckResult("value in float64", "value", "conforms", 7)
    only = Report("scores.dot", "f", {}, [fine, failed("gradient in float64", "gradient", 1)])
    only.first_violation, only.examples_until = 0.123, 12
    said = "only the gradients show it; first seen after 12 examples and 0.12 s"
    assert said in str(only).splitlines()
    assert said in only.text(verbose=True).splitlines()
    assert only.to_dict()["caught_by"] == ["gradient"]
    assert only.to_dict()["alone"] == "only the gradients show it"
    theorem = Report("scores.dot", "f", {}, [fine, failed("theorem prefix", "theorem", 1)])
    assert "only the theorem “prefix” shows it" in str(theorem).splitlines()
    batch = Report("scores.dot", "f", {}, [fine, failed("robustness: a large batch", "robustness", 1)])
    assert batch.alone == "only the check of robustness “a large batch” shows it"
    several = Report("scores.dot", "f", {}, [failed("v", "value", 1), failed("t", "theorem", 1)])
    assert several.alone == ""
    assert "caught by the values, theorems" in str(several).splitlines()
    assert Report("scores.dot", "f", {}, [failed("v", "value", 1)]).alone == ""
    assert "caught" not in str(Report("scores.dot", "f", {}, [fine]))


def test_what_was_set_aside_is_counted_with_its_reason():
    """Of all checks together, whatever their verdict."""
    why = "plain calls fail there, as is reported"
    checks = [
        CheckResult(name, "robustness", "conforms", 5, details={"set_aside": {why: 3}}) for name in "ab"
    ]
    told = str(Report("scores.dot", "f", {}, checks)).splitlines()
    assert f"set aside: 6 examples (a, b): {why}" in told


def test_the_examples_until_the_first_violation_are_counted():
    """All that were judged before, in whatever check, and the one that shows it; of a gradient those of the values, too."""

    def cut(q, k):
        return (q.detach() * k).sum(-1)

    report = check(cut, "similarity.dot", max_examples=10, causes=False)
    values = [c.examples for c in report.checks if c.kind == "value"]
    assert report.alone == "only the gradients show it"
    assert report.examples_until == sum(values) + 1
    assert f"first seen after {sum(values) + 1} examples and" in str(report)


def test_how_inputs_were_drawn_is_not_said_of_what_they_were_made_into():
    """A counterexample of plain entries has no regime: they are no longer those of the draw."""
    report = check(lambda q, k: impl.scores.dot(q, k) + 1, "scores.dot", max_examples=5, causes=False)
    example = next(each.counterexample for each in report.falsified if each.kind == "value")
    assert not example.regime
    assert {*example.inputs["q"].flat, *example.inputs["k"].flat} <= {0, 1}
    as_drawn = check(
        lambda q, k: impl.scores.dot(q, k) + 1, "scores.dot", max_examples=5, until_falsified=True
    )
    example = next(each.counterexample for each in as_drawn.falsified)
    assert example.regime.startswith("all data: ")


def test_lists_of_different_lengths_are_told_as_they_are():
    """What is given to a search is no array: it has no shape to be said."""
    example = Counterexample({"prompts": [[1, 2], [3]] * 60}, "float32", violates="a batch is its members")
    assert counterexample_lines(example, 3)[0].startswith("prompts = [[1, 2], [3], ")


def test_types_that_were_not_tried_are_said():
    """Which are judged, could not be, are graded alone, or not tried; and what a convention leaves out."""
    report = check(impl.scores.dot, "scores.dot", max_examples=8)
    assert "types: float64, float32; graded only: bfloat16; not tried: float16" in str(report)
    single = check(lambda q, k: impl.scores.dot(q.float(), k.float()), "scores.dot", max_examples=8)
    assert "types: float32; not judged: float64; " in str(single)
    coarse = check(
        impl.scores.dot,
        "scores.dot",
        max_examples=8,
        dtypes=["float16"],
        conventions={"intermediates": "storage"},
    )
    assert coarse.headline == "conforms, without gradients (float16: reported, not judged)"
    assert "nothing is said of what overflows it" in str(coarse)


def test_a_counterexample_shows_small_inputs_first_and_large_ones_by_their_shape():
    """A mask that is absent is what matters; sixty weights and more are counted, unless everything is asked for."""
    inputs = {"W": np.ones((7, 11)), "x": np.ones((2, 3)), "mask": None}
    example = Counterexample(inputs, "float64", what="y", index=(0,), got=2.0, expected=1.0)
    mask, x, weights, told = counterexample_lines(example, 60)
    assert (mask, weights) == ("mask = None", "W (7, 11): 77 entries (--verbose shows them)")
    assert x.startswith("x = [[1.")
    assert told == "y[0]: expected 1, got 2"
    assert counterexample_lines(example)[2].startswith("W = [[1.")


def test_a_phrase_says_where_the_first_check_fails():
    """What is wrong, at which sizes, and by how much: values before gradients, in the one type in which it shows."""
    value, slope = failed("value in float32", "value", 1), failed("gradient in float64", "gradient", 1)
    value.dtype, value.counterexample.sizes = "float32", {"d": 1}
    said = "the values are wrong in float32 alone at d = 1: y[0] is 2 and has to be 1"
    assert first_place([slope, value]) == said
    assert first_place([slope]) == "no value is found wrong, and gradients are: y[0] is 2 and has to be 1"

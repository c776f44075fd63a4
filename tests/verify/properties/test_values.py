"""Judging: error against bound, and what counts."""

import numpy as np
import pytest

from spec.language.registry import find
from verify.inputs.examples import Space
from verify.oracle import BALLS
from verify.properties.judge import Expected, Judge
from verify.properties.values import CLEAR, compare, judge_outputs

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("value", "bound", "got", "ratio"),
    [
        ([1.0], [0.5], [1.25], 0.5),
        ([1.0], [0.0], [1.0], 0.0),
        ([1.0], [0.0], [1.0 + 2**-52], INF),
        ([1.0], [0.5], [NAN], INF),
        ([1.0], [0.5], [INF], INF),
        ([1.0], [INF], [NAN], 0.0),
        ([NAN], [INF], [5.0], 0.0),
        ([1.0, 2.0], [0.125, 0.125], [1.0, 2.375], 3.0),
        ([], [], [], 0.0),
    ],
)
def test_ratios(value, bound, got, ratio):
    """Error over bound; NaN fails wherever the bound is finite; an infinite bound judges nothing."""
    outcome = compare(Expected("y", np.array(value), np.array(bound)), np.array(got))
    assert outcome.ratio == ratio  # all these numbers are exact
    assert outcome.fails == (ratio > 1)


@pytest.mark.parametrize(
    ("value", "bound", "effective"),
    [
        ([1.0], [0.05], True),
        ([1.0], [0.5], False),
        ([1.0], [INF], False),
        ([0.0], [0.0], True),
        ([0.0, 5.0], [1.0, 0.1], True),
    ],
)
def test_effective(value, bound, effective):
    """An example says something where some value is at least ten times its bound, or must be met exactly."""
    assert compare(Expected("y", np.array(value), np.array(bound)), np.array(value)).effective is effective


def test_the_enclosure_and_the_walk_agree_within_the_bound():
    """Both references of the same formula lie within a float64 bound of each other."""
    judge = Judge(find("normalization.layer_norm"))
    random = np.random.default_rng(0)
    inputs = {"x": 1e3 + random.standard_normal(7), "gamma": np.ones(7), "beta": np.zeros(7), "eps": 1e-5}
    (walk,), (balls,) = judge.expect(inputs, "float64", False), judge.expect(inputs, "float64", True)
    assert (np.abs(walk.value - balls.value) <= walk.bound).all()


def test_huge_scores_give_no_warning_and_no_nan_bound():
    """Scores of ±1e4 stay finite, and what overflows is left unjudged."""
    judge = Judge(find("attention.scaled_dot_product"))
    random = np.random.default_rng(1)
    q, k, v = (1e4 * random.standard_normal((3, 2)) for _ in range(3))
    for dtype in ("float64", "float32", "float16"):
        (found,) = judge.expect({"q": q, "k": k, "v": v}, dtype)
        assert not np.isnan(found.bound).any()


def test_the_violated_line_is_named():
    """The line of an output reads as in the statement."""
    assert "=" in Judge(find("scores.dot")).line_of("s")


@pytest.mark.parametrize(
    ("share", "rigorous"), [(0.0, False), (CLEAR / 2, False), (2 * CLEAR, True), (3.0, True)]
)
def test_balls_are_asked_only_where_the_walk_does_not_settle_it(monkeypatch, share, rigorous):
    """An error of a small share of the bound is judged by float64 alone; a larger one, and a violation, against balls."""
    formula = find("attention.softmax")
    judge, space = Judge(formula), Space(formula)
    example = space.example(next(iter(space.plan(1, 0))), "float64")
    said = judge.expect_batch(example, rigorous=False)
    asked, ask = [], judge.oracle.ask

    def told(flat, every, arithmetic, dtype):
        asked.append(arithmetic)
        return ask(flat, every, arithmetic, dtype)

    monkeypatch.setattr(judge.oracle, "ask", told)
    outcome = judge_outputs(judge, example, [each.value + share * each.bound for each in said])
    assert (BALLS in asked) == rigorous
    assert outcome.fails == (share > 1)

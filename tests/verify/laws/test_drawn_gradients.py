"""Gradients of what is returned beside a draw, given the draw."""

from __future__ import annotations

import numpy as np
import pytest

from impl.attention import hard
from spec.language.registry import find, formulas
from tests.mutants import sampling
from verify.laws.drawn_gradients import DrawnGradientProperty, judge_given_draw
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.properties.slopes import JUDGED
from verify.search.loop import Search
from verify.subject.caller import Caller

HARD = "attention.hard"


def found(fn, dtype="float64", conventions=None):
    """The check of a variant of hard attention."""
    judge = Judge(find(HARD), conventions)
    setting = Setting.of(judge, Caller(fn, judge.formula), max_examples=60)
    (result,) = Search(DrawnGradientProperty(setting, dtype), setting.budget).run()
    return result


@pytest.mark.parametrize("dtype", JUDGED)
@pytest.mark.parametrize(
    "name", ["value_detached", "value_of_a_mean_learns", "gradient_of_each_key_once"], ids=str
)
def test_a_wrong_gradient_given_the_draw_is_falsified(name, dtype):
    """The value that was drawn gets what its queries' contexts get, the others nothing, and so do queries and keys."""
    result = found(getattr(sampling, name), dtype)
    assert result.verdict == "falsified"
    assert result.kind == "gradient"
    assert result.counterexample.what == "v" or name == "value_of_a_mean_learns"


@pytest.mark.parametrize("dtype", JUDGED)
@pytest.mark.parametrize(
    "fn",
    [hard, sampling.by_gumbel, sampling.by_multinomial, sampling.by_running_sums],
    ids=lambda fn: fn.__name__,
)
def test_right_ones_conform(fn, dtype):
    """However they draw."""
    result = found(fn, dtype)
    assert result.verdict == "conforms"
    assert result.effective > 0.5


def test_conventions_are_followed():
    """Where nothing is said about queries without a key, nothing is judged; masks may say what to drop."""
    assert found(hard, conventions={"fully_masked": "unspecified"}).verdict == "conforms"

    def dropping(q, k, v, generator, mask=None):
        return hard(q, k, v, generator, None if mask is None else ~mask)

    assert found(dropping, conventions={"polarity": "true_drops"}).verdict == "conforms"


def test_the_function_is_read_off_the_axioms():
    """Hard attention returns the value at the index, 0 where there is none; what only draws has no such function."""
    given = judge_given_draw(Judge(find(HARD)))
    v, mask = np.array([[1.0], [2.0], [4.0]]), np.array([[True, True, True], [False] * 3])
    (expected,) = given.expect({"index": np.array([2, 0]), "v": v, "mask": mask}, "float64")
    assert expected.value.tolist() == [[4.0], [0.0]]
    assert f"{given.formula.id}" not in formulas()
    for formula_id in ("masking.mlm", "decoding.sample"):
        assert judge_given_draw(Judge(find(formula_id))) is None

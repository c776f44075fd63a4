"""What is said of gradients that a statement does not have."""

from __future__ import annotations

import math

import pytest
import torch

import impl.attention
from spec.language import Formula, absolute, data, define, indices, sizes, tensor
from verify import check

(n,) = sizes("n")
(i,) = indices("i")


def test_an_input_without_a_gradient_is_noted_with_the_reason() -> None:
    """Of two inputs one passes through an absolute value: the other's gradient is judged."""
    x, p, y = data("x", n), data("p", n), tensor("y", n)
    formula = Formula(
        "test.half_smooth",
        "half smooth",
        (x, p),
        (define(y[i], absolute(x[i]) * p[i]),),
        (y,),
        auxiliary=True,
    )
    report = check(lambda x, p: torch.abs(x) * p, formula, max_examples=5, grades=False)
    assert report.verdict == "conforms"
    assert "no gradient of x: abs is not differentiated" in report.notes
    assert [each.name for each in report.checks if each.kind == "gradient"]


def by_adding(s, mask=None):
    """Scores of hidden keys are lowered by a mask of −∞ that is added: its row without keys is NaN, and so is its gradient."""
    return s if mask is None else s + torch.zeros(mask.shape, dtype=s.dtype).masked_fill(~mask, -math.inf)


def by_filling(s, mask=None):
    """The same by −∞ in their place, through which no gradient flows: that of a row without keys is 0."""
    return s if mask is None else s.masked_fill(~mask, -math.inf)


@pytest.mark.parametrize("hide", [by_adding, by_filling])
@pytest.mark.parametrize("options", [{}, {"fully_masked": "unspecified"}], ids=["zero", "unspecified"])
def test_a_row_about_which_nothing_is_said_makes_no_gradient_nan(hide, options):
    """No loss asks for it; yet 0·NaN reaches the gradients of every query and key, or of every value. Values of the first are
    right under both conventions.
    """

    def attention(q, k, v, mask=None):
        a = torch.softmax(hide(q @ k.mT / q.shape[-1] ** 0.5, mask), -1)
        return (a.nan_to_num() if hide is by_adding else a) @ v

    report = check(
        attention, "attention.scaled_dot_product", conventions=options, max_examples=24, grades=False
    )
    failed = [each for each in report.falsified if each.kind == "gradient"]
    assert [each.counterexample.what for each in failed] == 2 * ["q" if hide is by_adding else "v"]
    assert all(math.isnan(each.counterexample.got) for each in failed)
    assert "where the mask leaves a row nothing, the gradient of" in report.headline
    if options:
        seeds = failed[0].counterexample.cotangents["z"]
        assert not seeds[~failed[0].counterexample.inputs["mask"].any(-1)].any()


def test_what_stands_in_a_row_about_which_nothing_is_said_is_free():
    """A number instead of the row conforms, and the gradients of batches with such rows are judged, too."""

    def sevens(q, k, v, mask=None):
        z = impl.attention.scaled_dot_product(q, k, v, mask)
        return z if mask is None else torch.where(mask.any(-1, keepdim=True), z, 7.0)

    chosen = {"fully_masked": "unspecified"}
    report = check(sevens, "attention.scaled_dot_product", conventions=chosen, max_examples=24, grades=False)
    assert report.verdict == "conforms"
    slopes = [each for each in report.checks if each.kind == "gradient" or "gradients" in each.name]
    assert len(slopes) > 5
    assert all(each.effective for each in slopes)

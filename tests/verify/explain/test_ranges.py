"""Where a callable conforms that fails beyond a size of its inputs."""

import math
from dataclasses import replace

import pytest
import torch

import impl.recurrent
import impl.scores
from spec.language.registry import find
from verify import check
from verify.explain.range import Candidate, RangeSearch
from verify.inputs.examples import members
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.subject.caller import Caller

pytestmark = pytest.mark.usefixtures("ungraded")


def filled(value):
    """Attention whose hidden scores are replaced by a number, and whose empty rows are 0."""

    def attention(q, k, v, mask=None):
        s = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is None:
            return s.softmax(-1) @ v
        a = torch.where(mask.any(-1, keepdim=True), s.masked_fill(~mask, value).softmax(-1), 0.0)
        return a @ v

    return attention


def one_pass(x, gamma, beta, eps):
    """The mean of the squares less the square of the mean."""
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return gamma * (x - mean) / torch.sqrt(variance + eps) + beta


def unshifted(s, mask=None):
    """Exponentials without the largest score subtracted."""
    e = torch.exp(s) if mask is None else torch.where(mask, torch.exp(s), 0.0)
    return torch.where(e.sum(-1, keepdim=True) > 0, e / e.sum(-1, keepdim=True), 0.0)


@pytest.mark.parametrize(
    ("fn", "formula_id", "name", "least", "most", "beyond"),
    [
        (filled(-1e4), "attention.scaled_dot_product", "s", 5e3, 1e4, "z is off by"),
        (filled(-1e6), "attention.scaled_dot_product", "s", 5e5, 1e6, "z is off by"),
        (unshifted, "attention.softmax", "s", 50, 89, "a is nan"),
        (one_pass, "normalization.layer_norm", "offset(x)", 1, 100, "y is"),
    ],
)
def test_the_range_is_found_said_and_can_be_declared(fn, formula_id, name, least, most, beyond):
    """Falsified, with the range in the headline; under that range it conforms, with another seed, too."""
    report = check(fn, formula_id)
    assert report.verdict == "falsified"
    assert report.range is not None, str(report)
    assert least <= report.range.limits[name] <= most
    assert report.range.beyond.startswith(beyond)
    first = str(report).splitlines()[0]
    assert ": falsified" in first
    assert f"; conforms where {report.range.says}; beyond: {beyond}" in first
    assert report.range.option.startswith("--range ")
    within = check(fn, formula_id, ranges=report.range.limits, seed=5)
    assert within.verdict == "conforms", str(within)


@pytest.mark.parametrize(
    ("fn", "formula_id"),
    [
        (impl.scores.dot, "scores.scaled_dot"),
        (lambda q, k: impl.scores.dot(q, k).round(decimals=3), "scores.dot"),
        (lambda q, k: impl.scores.dot(q[..., :5], k[..., :5]), "scores.dot"),
    ],
    ids=["unscaled", "rounded", "cut"],
)
def test_a_mistake_at_every_size_has_no_range(fn, formula_id):
    """A missing scale, an absolute error, entries left out."""
    assert check(fn, formula_id, max_examples=40).range is None


def test_a_size_is_that_of_the_largest_member_of_a_batch():
    """What a search within limits finds may be a batch, wherever in it the largest data are."""
    formula = find("recurrent.gru")
    setting = Setting.of(Judge(formula), Caller(impl.recurrent.gru, formula))
    search = RangeSearch(setting, ["float64"], gradients=False)
    (recipe,) = search.space.plan(1, 0)
    example = search.space.example(recipe, "float64", (2, 3))
    x = example.inputs["x"].copy()
    x[1, 2] *= 100
    example = example.replace_inputs(x=x)
    for name in ("x", "z"):  # an input, and a line of the statement
        candidate = Candidate((name,))
        alone = (
            search.size(candidate, replace(example, inputs=example.single(formula, at), batch=()))
            for at in members((2, 3))
        )
        assert search.size(candidate, example) == max(alone)

"""Shrinking: small examples that fail in the same way."""

import math

import numpy as np
import pytest
import torch

import impl.attention
import impl.scores
from verify import check
from verify.inputs.simplest import shorten_values

pytestmark = pytest.mark.usefixtures("ungraded")


def test_a_violation_shrinks_to_a_few_simple_numbers():
    """A missing scale needs one query and one key; entries become simple."""
    report = check(lambda q, k: q @ k.mT, "scores.scaled_dot", dtypes=["float64"])
    found = report.falsified[0].counterexample
    assert found.inputs["q"].shape == found.inputs["k"].shape == (1, 2)
    assert set(np.abs(found.inputs["q"]).ravel()) <= {0.0, 1.0}
    assert not math.isclose(found.got, found.expected)


def test_it_keeps_what_the_violation_needs():
    """A mistake that shows from the third key on keeps three keys; one in masks keeps its mask."""

    def third(q, k):
        out = impl.scores.dot(q, k)
        return torch.cat((out[..., :2], 2 * out[..., 2:]), -1)

    found = check(third, "scores.dot", dtypes=["float64"]).falsified[0].counterexample
    assert found.inputs["k"].shape[0] == 3

    def mean(s, mask=None):
        return torch.softmax(s if mask is None else s.masked_fill(~mask, torch.finfo(s.dtype).min), -1)

    found = check(mean, "attention.softmax", dtypes=["float64"]).falsified[0].counterexample
    assert found.inputs["mask"] is not None


def test_gradients_shrink_with_their_cotangents():
    """Cotangents keep the outputs' shapes."""
    found = (
        check(lambda q, k: q @ k.detach().mT, "scores.dot", dtypes=["float64"]).falsified[0].counterexample
    )
    assert found.cotangents["s"].shape == (found.inputs["q"].shape[0], found.inputs["k"].shape[0])


def test_significant_digits():
    """Rounded to so many digits after the first; zero and large numbers too."""
    assert shorten_values(np.array([0.01234, -5678.0, 0.0, 1e300]), 1).tolist() == [
        0.012,
        -5700.0,
        0.0,
        1e300,
    ]


def test_it_shrinks_under_rules_for_the_sizes():
    """Sizes that follow from others become smaller with them."""

    def wrong_heads(x, y, W_q, W_k, W_v, W_o, mask=None):
        assert W_q.shape[1] == W_q.shape[0] * W_q.shape[2]
        return 2 * impl.attention.multi_head(x, y, W_q, W_k, W_v, W_o, mask)

    rules = {"d_model": "h*d_k", "d_k": "even"}
    report = check(wrong_heads, "attention.multi_head", dtypes=["float64"], sizes=rules, max_examples=10)
    found = report.falsified[0].counterexample.inputs
    assert found["W_q"].shape == (1, 2, 2)
    assert found["x"].shape == (1, 2)


def test_the_plain_corner_is_preferred_to_the_empty_row():
    """What fails with any mask is shown without an empty row, and with as little hidden as it takes."""

    def second_only(s, mask=None):
        out = impl.attention.softmax(s, mask)
        return out if mask is None else out * (1 - 1e-3 * mask.logical_not().any())

    found = check(second_only, "attention.softmax", dtypes=["float64"]).falsified[0].counterexample
    mask = found.inputs["mask"]
    assert mask.any(-1).all()
    assert (~mask).sum() == 1

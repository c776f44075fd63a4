"""Shrinking: small examples that fail in the same way."""

import math

import numpy as np
import torch

import impl.scores
from verify import check
from verify.search.shrink import significant


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
    assert significant(np.array([0.01234, -5678.0, 0.0, 1e300]), 1).tolist() == [0.012, -5700.0, 0.0, 1e300]

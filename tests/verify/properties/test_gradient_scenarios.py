"""Gradients as they are asked for in use: each scene finds the backward pass that forgets it, and refuses no right one."""

import numpy as np
import pytest
import torch

import impl.scores
from spec.language.registry import find
from tests.verify.wrong_products import (
    differentiated_by_hand,
    kept_in_one_place,
    needs_the_first,
    reads_by_pointer,
)
from verify import check
from verify.inputs.examples import Recipe, Space
from verify.properties.judge import Judge
from verify.properties.slopes import differentiable, expect_batch_gradients, expect_gradients, with_cotangents

pytestmark = pytest.mark.usefixtures("as_found", "ungraded")


class Weighted(torch.autograd.Function):
    """x W; the gradient of W is averaged over a batch where it has to be summed."""

    @staticmethod
    def forward(ctx, x, W):
        """The product."""
        ctx.save_for_backward(x, W)
        return x @ W

    @staticmethod
    def backward(ctx, g):
        """The gradients of both."""
        x, W = ctx.saved_tensors
        every = (x.mT @ g).reshape(-1, *W.shape)
        return g @ W.mT, every.mean(0)


def falsified(fn, formula_id, seed=0):
    """Names of the falsified checks."""
    report = check(fn, formula_id, max_examples=60, seed=seed, causes=False)
    return [c.name.removeprefix("robustness: ") for c in report.falsified]


@pytest.mark.parametrize(
    ("function", "by"),
    [
        (reads_by_pointer, "gradients from cotangents stored otherwise"),
        (needs_the_first, "gradients of one input at a time"),
        (kept_in_one_place, "gradients after another call"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_each_scene_finds_what_it_is_for(function, by):
    """Values and single gradients are right; nothing but the scene falsifies it."""
    assert falsified(function, "scores.dot") == [by]


def test_a_parameter_is_summed_over_the_batch():
    """A mean over the members shows in batches only."""
    found = falsified(lambda q, k, W: Weighted.apply(q, W) @ k.mT, "scores.general")
    batches = {"gradients of a batch", "gradients from cotangents stored otherwise", "a large batch"}
    assert batches == {*found} - {"accuracy in float32"}, "wide examples are asked for in batches, too"


@pytest.mark.parametrize("seed", range(2))
def test_a_right_backward_pass_conforms(seed):
    """Written by hand or by autograd."""
    assert not falsified(differentiated_by_hand, "scores.dot", seed)
    assert not falsified(impl.scores.general, "scores.general", seed)


def test_without_a_gradient_no_scene_is_played():
    """Where the gradient is wrong or missing already, the report does not say so four times more."""
    for fn in (lambda q, k: (q @ k.mT).detach(), lambda q, k: q.detach() @ k.mT + 0 * q.sum()):
        report = check(fn, "scores.dot", max_examples=60, causes=False)
        assert not [c for c in report.checks if c.name.startswith("robustness: gradients")]


@pytest.mark.parametrize("batch", [(3,), (2, 2)])
def test_the_gradients_of_a_batch_are_those_of_its_members(batch):
    """Stacked for data, summed for parameters, with a bound that is finite and no smaller than the members'."""
    formula = find("scores.general")
    judge = Judge(formula)
    example = with_cotangents(judge, Space(formula).example(Recipe(0, 0, 0, 0, 0, 3), "float32", batch), 5)
    names = differentiable(judge)
    found = expect_batch_gradients(judge, example, names)
    members = {
        at: expect_gradients(
            judge,
            example.single(formula, at),
            {name: value[at] for name, value in example.cotangents.items()},
            names,
            "float32",
        )
        for at in np.ndindex(*batch)
    }
    for at, member in members.items():
        assert np.array_equal(found["q"].value[at], member["q"].value)
        assert np.array_equal(found["q"].bound[at], member["q"].bound)
    weights = [member["W"].value for member in members.values()]
    # A sum of so many numbers in float64, in another order: each addition rounds by half a unit of what is summed so far.
    far = len(weights) * np.finfo(np.float64).eps * sum(map(np.abs, weights))
    assert (np.abs(found["W"].value - sum(weights)) <= far).all()
    assert (found["W"].bound >= sum(member["W"].bound for member in members.values())).all()
    assert np.isfinite(found["W"].bound).all()

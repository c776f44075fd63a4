"""Score-function estimates: unbiased ones pass, biased ones are refused, and the sample is as large as its power asks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Generator, Tensor

from impl.attention import hard, log_weight
from spec.attention.sampling import log_weight as stated
from verify import check
from verify.lawresults import ALPHA, POWER
from verify.mutants.attention import masked, raw
from verify.mutants.sampling import drawn, looked, uniform, weights
from verify.scorefunction import (
    DEVIATION,
    SITUATIONS,
    by_log_weight,
    check_score_function,
    components,
    reach,
    sample_size,
    situation,
)

Reward = Callable[[Tensor], Tensor]


@pytest.mark.parametrize("seed", range(4))
def test_ours_is_unbiased(seed: int) -> None:
    """The reward times the gradient of impl.attention.log_weight estimates the gradient of the expected reward."""
    result = check_score_function(by_log_weight(hard, log_weight), seed)
    assert result.verdict == "conforms", result.message
    assert result.worst_ratio is not None
    assert result.worst_ratio < 1


def test_the_log_weight_is_the_statements() -> None:
    """impl.attention.log_weight conforms in value and gradient wherever the key is a permitted one."""
    report = check(log_weight, stated, max_examples=60)
    assert report.verdict == "conforms", [c.message for c in report.falsified]


def estimator(surrogate: Callable[..., Tensor]) -> Any:
    """An estimate by the gradient of a surrogate of (log weights (N, m), index (N), rewards (N), all rewards (N, m))."""

    def estimate(
        q: Tensor, k: Tensor, v: Tensor, reward: Reward, generator: Generator, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        q, k = q.detach().requires_grad_(), k.detach().requires_grad_()
        with torch.no_grad():
            a = weights(q, k, mask)
            z, index = looked(v, drawn(a, uniform(a, generator)))
        s = raw(q, k)
        s = s if mask is None else s.masked_fill(~mask, -math.inf)
        found = surrogate(s[:, 0], index[:, 0], reward(z)[:, 0], reward(v), generator)
        first, second = torch.autograd.grad(found.sum(), (q, k))
        return first, second

    return estimate


def picked(x: Tensor, index: Tensor) -> Tensor:
    """The entry of each row at its index."""
    return x.gather(-1, index[:, None])[:, 0]


RIGHT = {
    "the expected reward for a baseline": lambda s, i, r, every, g: (
        (r - (s.softmax(-1) * every).sum(-1).detach()) * picked(s.log_softmax(-1), i)
    ),
    "the exact gradient, without noise": lambda s, i, r, every, g: (s.softmax(-1) * every).sum(-1),
    "weights over detached weights": lambda s, i, r, every, g: (
        r * picked(s.softmax(-1), i) / picked(s.softmax(-1), i).detach()
    ),
}
WRONG = {
    "the weight instead of its logarithm": lambda s, i, r, every, g: r * picked(s.softmax(-1), i),
    "the score without the normaliser": lambda s, i, r, every, g: r * picked(s, i),
    "weighed by the weight once more": lambda s, i, r, every, g: (
        r * picked(s.softmax(-1), i).detach() * picked(s.log_softmax(-1), i)
    ),
    "the reward of another draw": lambda s, i, r, every, g: r.roll(1) * picked(s.log_softmax(-1), i),
    "the sign turned": lambda s, i, r, every, g: -r * picked(s.log_softmax(-1), i),
    "a baseline that looks at the draw": lambda s, i, r, every, g: (
        (r - 0.1 * r) * picked(s.log_softmax(-1), i)
    ),
    "no logarithm of the sum over one key": lambda s, i, r, every, g: (
        r * (picked(s, i) - s[:, :-1].logsumexp(-1))
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_an_unbiased_estimate_conforms(name: str) -> None:
    """An optimal baseline, and other ways to write it, are right."""
    result = check_score_function(estimator(RIGHT[name]))
    assert result.verdict == "conforms", result.message


def test_a_constant_baseline_conforms_where_its_spread_is_declared() -> None:
    """A baseline leaves the mean and changes the spread: what is allowed follows the baseline that is named."""
    estimate = estimator(lambda s, i, r, every, g: (r - 2.5) * picked(s.log_softmax(-1), i))
    assert check_score_function(estimate, baseline=2.5).verdict == "conforms"


@pytest.mark.parametrize("name", WRONG)
def test_a_biased_estimate_is_refused(name: str) -> None:
    """Each common mistake shifts some mean beyond what Bernstein's inequality allows, with the entry and the number."""
    result = check_score_function(estimator(WRONG[name]))
    assert result.verdict == "falsified"
    assert "the mean of" in result.message


def test_a_bias_of_the_planned_size_is_seen() -> None:
    """Adding 0.03 standard deviations to every entry of the estimate is refused at several seeds."""
    for seed in range(3):
        sigma = {
            SITUATIONS[number][0]: components(situation(number, seed)[1]) for number in range(len(SITUATIONS))
        }
        turn = iter(sigma.values())

        def shifted(*given: Any, turn: Any = turn) -> tuple[Tensor, Tensor]:
            q, k = by_log_weight(hard, log_weight)(*given)
            parts = [part.deviation for part in next(turn)]
            extra = DEVIATION * torch.tensor(parts, dtype=q.dtype)
            count = q[0].numel()
            return q + extra[:count].reshape(q[0].shape), k + extra[count:].reshape(k[0].shape)

        assert check_score_function(shifted, seed).verdict == "falsified"


def test_the_sample_is_as_large_as_its_power_asks() -> None:
    """What a right estimate may be off by, and what a shifted one may fall short by, add up to the planned bias."""
    N = sample_size(60)
    assert reach(N, ALPHA / 60, 1.0, 20.0) + reach(N, 1 - POWER, 1.0, 20.0) <= DEVIATION
    largest = [
        part.largest / part.deviation
        for seed in range(8)
        for number in range(len(SITUATIONS))
        for part in components(situation(number, seed)[1])
        if part.deviation > 0
    ]
    assert max(largest) <= 20 or np.quantile(largest, 0.98) <= 20


def test_what_the_statement_says_of_an_estimate_is_its_distribution() -> None:
    """Mean and deviation of the components are those of the terms r_j ∂ log a_j under the weights a, by autograd."""
    _, inputs = situation(2, 3)
    q, k, v = (torch.from_numpy(inputs[name]).requires_grad_() for name in ("q", "k", "v"))
    mask = torch.from_numpy(inputs["mask"])
    a = masked(raw(q, k), mask)[0]
    from verify.scorefunction import reward

    rewards = reward(v).detach()
    terms = torch.stack(
        [
            torch.cat([g.ravel() for g in torch.autograd.grad(r * p.log(), (q, k), retain_graph=True)])
            for r, p in zip(rewards, a, strict=True)
            if p > 0
        ]
    )
    p = a[a > 0].detach()[:, None]
    mean = (p * terms).sum(0)
    spread = (p * (terms - mean) ** 2).sum(0).sqrt()
    parts = components(inputs)
    slack = 1e-6 + np.array([part.slack for part in parts])
    assert (np.abs(mean.numpy() - [part.mean for part in parts]) <= slack).all()
    assert (np.abs(spread.numpy() - [part.deviation for part in parts]) <= slack).all()

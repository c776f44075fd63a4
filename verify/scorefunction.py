"""Whether a score-function estimate of a gradient is unbiased, tested on draws.

For an expected reward E r = Σ_j a_j r_j the estimate is r_I·∂ log a_I with I drawn from the weights a (Williams 1992; Xu et al.
2015, section 4.1). Its exact mean, variance and largest deviation follow from the statement, so that Bernstein's inequality
bounds how far the mean of N independent estimates can be from the gradient: no variance is estimated, no tail is approximated.
Source: Boucheron, Lugosi & Massart 2013, *Concentration inequalities*, theorem 2.10 and corollary 2.11.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from spec.attention import hard as statement
from spec.attention.sampling import log_weight as log_weight_statement
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.evaluate import evaluate
from verify.lawresults import ALPHA, POWER, result
from verify.report import CheckResult

Reals = npt.NDArray[np.float64]
Estimate = Callable[..., tuple[torch.Tensor, torch.Tensor]]
"""``(q, k, v, reward, generator, mask)``: for each member of a batch, with a draw of its own, an estimate of the gradient of its
expected reward with respect to q and to k; ``reward`` maps contexts (... n d_v) to rewards (... n)."""

DEVIATION = 0.03
"""The alternative that is planned for: a bias of so many standard deviations of the estimate, its spread as it should be."""

SITUATIONS = (  # name, keys, width of keys, scale, mask
    ("two keys", 2, 3, 1.0, None),
    ("moderate", 5, 2, 1.0, None),
    ("masked", 5, 3, 1.0, (True, False, True, True, False)),
    ("peaked", 3, 5, 2.0, None),
)


@dataclass(frozen=True)
class Component:
    """What the statement says of one entry of the gradient and its estimate; ``slack`` covers an implementation's rounding."""

    name: str
    mean: float
    deviation: float
    largest: float
    slack: float


def reward(z: torch.Tensor) -> torch.Tensor:
    """A reward of a context that is neither linear nor of mean 0."""
    return 1.5 + torch.sin(z.sum(-1)) + z[..., 0]


def sample_size(tests: int) -> int:
    """How many estimates show a bias of :data:`DEVIATION` standard deviations with probability :data:`POWER`.

    For estimates that never deviate from their mean by more than 20 standard deviations.
    """
    N = 1000
    while reach(N, ALPHA / tests, 1.0, 20.0) + reach(N, 1 - POWER, 1.0, 20.0) > DEVIATION:
        N = N * 5 // 4
    return N


def reach(N: int, level: float, deviation: float, largest: float) -> float:
    """Bernstein's t: the mean of N terms is farther than t from its expectation with probability at most ``level``."""
    tail = math.log(2 / level) / N
    return largest * tail / 3 + math.sqrt((largest * tail / 3) ** 2 + 2 * deviation**2 * tail)


def by_log_weight(
    hard: Callable[..., tuple[torch.Tensor, torch.Tensor]], log_weight: Callable[..., torch.Tensor]
) -> Estimate:
    """The estimate that an implementation gives: the reward times the gradient of the log weight of what was drawn."""

    def estimate(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        reward: Callable[[torch.Tensor], torch.Tensor],
        generator: torch.Generator,
        mask: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        q, k = q.detach().requires_grad_(), k.detach().requires_grad_()
        z, index = hard(q, k, v, generator, mask)
        surrogate = reward(z).detach() * log_weight(q, k, index, mask)
        first, second = torch.autograd.grad(surrogate.sum(), (q, k))
        return first, second

    return estimate


def components(inputs: Mapping[str, Any], baseline: float = 0.0) -> list[Component]:
    """The entries of the gradient with respect to q and k, from the statement, for one query.

    The estimates are those of the reward less ``baseline``.
    """
    (weights,) = evaluate(statement, inputs)
    rewards = reward(torch.from_numpy(inputs["v"])).numpy() - baseline
    exact = pull_back(statement, inputs, rewards[None], ["q", "k"])
    permitted = [j for j in range(len(rewards)) if weights[0, j] > 0]
    terms: dict[str, list[tuple[Reals, Reals]]] = {"q": [], "k": []}
    for j in permitted:
        drawn = {name: inputs[name] for name in ("q", "k", "mask")} | {"index": np.array([j])}
        found = pull_back(log_weight_statement, drawn, np.array([rewards[j]]), ["q", "k"])
        for name in terms:
            terms[name].append(found[name])
    p = weights[0, permitted]
    made = []
    for name, parts in terms.items():
        mean, error = exact[name]
        value, rounding = (np.stack([part[place] for part in parts]) for place in (0, 1))
        spread = np.sqrt(np.tensordot(p, (value - mean) ** 2, 1))
        largest, slack = np.abs(value - mean).max(0), error + rounding.max(0)
        for at in np.ndindex(*mean.shape):
            entry = f"{name}[{', '.join(map(str, at))}]"
            made.append(
                Component(entry, float(mean[at]), float(spread[at]), float(largest[at]), float(slack[at]))
            )
    return made


def situation(number: int, seed: int) -> tuple[str, dict[str, Any]]:
    """The inputs of a situation: one query."""
    name, m, d_k, scale, mask = SITUATIONS[number]
    random = np.random.default_rng([seed, number])
    inputs: dict[str, Any] = {
        "q": scale * random.standard_normal((1, d_k)),
        "k": random.standard_normal((m, d_k)),
        "v": random.standard_normal((m, 3)),
        "mask": None if mask is None else np.array([mask]),
    }
    return name, inputs


def check_score_function(
    estimate: Estimate, seed: int = 0, device: str = "cpu", baseline: float = 0.0
) -> CheckResult:
    """Check that an estimate of the gradient of an expected reward is unbiased.

    ``estimate`` may be any that deviates from its mean no more than (reward − ``baseline``)·∂ log weight does, in the mean
    square and at most. A false alarm has probability at most :data:`verify.lawresults.ALPHA`; a bias of :data:`DEVIATION`
    standard deviations is seen with probability :data:`verify.lawresults.POWER`. The figure is the worst deviation over what
    Bernstein's inequality allows it.
    """
    every = [situation(number, seed) for number in range(len(SITUATIONS))]
    known = [components(inputs, baseline) for _, inputs in every]
    tests = sum(map(len, known))
    N = sample_size(tests)
    worst, said = 0.0, "nothing to test"
    generator = torch.Generator(device=device).manual_seed(seed)
    for (name, inputs), parts in zip(every, known, strict=True):
        q, k, v, mask = (
            None if inputs[x] is None else torch.from_numpy(inputs[x]).to(device)
            for x in ("q", "k", "v", "mask")
        )
        assert q is not None
        assert k is not None
        assert v is not None
        found = estimate(
            q.expand(N, *q.shape), k.expand(N, *k.shape), v.expand(N, *v.shape), reward, generator, mask
        )
        means = np.concatenate([g.detach().mean(0).double().cpu().numpy().ravel() for g in found])
        for part, mean in zip(parts, means, strict=True):
            rounding = N * 2.0**-53 * (abs(part.mean) + part.largest)  # of the mean of N terms, in any order
            allowed = reach(N, ALPHA / tests, part.deviation, part.largest) + part.slack + rounding
            gap = abs(float(mean) - part.mean)
            figure = 0.0 if gap == 0 else gap / allowed if allowed > 0 and math.isfinite(gap) else math.inf
            if figure >= worst:
                worst = figure
                said = (
                    f"{name}: the mean of {N:,} estimates of the gradient at {part.name} is {mean:.6g}, expected "
                    f"{part.mean:.6g} ± {allowed:.2g}"
                )
    message = f"{said} ({tests} tests, false alarm ≤ {ALPHA:g}; a bias of {DEVIATION:g} deviations seen with {POWER})"
    return result("law: score function", N * len(every), worst <= 1, worst, message)


__all__ = [
    "Component",
    "Estimate",
    "by_log_weight",
    "check_score_function",
    "components",
    "reach",
    "reward",
    "sample_size",
    "situation",
]

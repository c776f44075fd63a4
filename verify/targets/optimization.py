"""Optimizers as functions of weights, gradient, moments and step: a module is given its state, and makes one step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Adapted = Callable[..., Any]
State = tuple[Tensor, Tensor, Tensor]


def _copy(*given: Tensor) -> list[Tensor]:
    """Copies of one shape and one layout, as an optimizer's own state has them: fused steps read memory, whatever its shape."""
    return [x.clone(memory_format=torch.contiguous_format) for x in torch.broadcast_tensors(*given)]


def torch_optimizer(name: str, **options: Any) -> Adapted:
    """``torch.optim.AdamW`` or ``Adam`` of copies, with the moments and the number of the step before as its state."""
    kind = getattr(torch.optim, name)

    def adamw(
        theta: Tensor,
        g: Tensor,
        m: Tensor,
        v: Tensor,
        t: int,
        eta: float,
        beta_1: float,
        beta_2: float,
        eps: float,
        w: float,
    ) -> State:
        begun, slope, first, second = _copy(theta.detach(), g.detach(), m.detach(), v.detach())
        weights = torch.nn.Parameter(begun)
        weights.grad = slope
        optimizer = kind([weights], eta, (beta_1, beta_2), eps, w, **options)
        optimizer.state[weights] = {"step": torch.tensor(t - 1.0), "exp_avg": first, "exp_avg_sq": second}
        optimizer.step()
        return begun, first, second

    return adamw


def torch_differentiable() -> Adapted:
    """``torch.optim.adamw.adamw`` with ``differentiable``, of copies through which gradients pass."""
    from torch.optim.adamw import adamw as step

    def adamw(
        theta: Tensor,
        g: Tensor,
        m: Tensor,
        v: Tensor,
        t: int,
        eta: float,
        beta_1: float,
        beta_2: float,
        eps: float,
        w: float,
    ) -> State:
        weights, g, first, second = _copy(theta, g, m, v)
        numbers: Any = {"beta1": beta_1, "beta2": beta_2, "lr": eta, "weight_decay": w, "eps": eps}
        before = [torch.tensor(t - 1.0)]
        how: Any = {"amsgrad": False, "maximize": False, "differentiable": True, "foreach": False}
        step([weights], [g], [first], [second], [], before, **how, **numbers)
        return weights, first, second

    return adamw

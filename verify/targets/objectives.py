"""Losses of PyTorch and of Hugging Face transformers, adapted to the declared inputs: they take one batch and return one mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Adapted = Callable[..., Any]


def by_member(loss: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
    """A loss of each member of a batch: its mean is that of its own targets. The first has two axes of its own."""
    lead = arguments[0].shape[:-2]
    if not lead:
        return loss(*arguments)
    flat = [x.reshape(-1, *x.shape[len(lead) :]) for x in arguments]
    means = [loss(*member) for member in zip(*flat, strict=True)]
    return torch.stack(means).reshape(lead)


def cross_entropy() -> Adapted:
    """``F.cross_entropy`` of each member."""

    def loss(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
        return by_member(lambda a, b: F.cross_entropy(a, b, label_smoothing=epsilon), s, y)

    return loss


def smoothed_targets(y: Tensor, V: int, epsilon: float, like: Tensor) -> Tensor:
    """The Annotated Transformer's: 1 − ε at the target, 0 at padding, ε over all others; nothing where none is asked."""
    asked = (y > 0).unsqueeze(-1)
    q = torch.full((*y.shape, V), epsilon / max(V - 2, 1), dtype=like.dtype, device=like.device)
    q = q.scatter(-1, y.clamp(min=0).unsqueeze(-1), 1 - epsilon)
    q[..., 0] = 0
    return torch.where(asked, q, 0.0)


def kl_div_of_words() -> Adapted:
    """``F.kl_div`` from smoothed targets of each member, summed, over the number of targets; 0 without one."""

    def one(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
        q = smoothed_targets(y, s.shape[-1], epsilon, s).view_as(s)
        return F.kl_div(s.log_softmax(-1), q, reduction="sum") / (y > 0).sum().clamp(min=1)

    return lambda s, y, epsilon: by_member(lambda a, b: one(a, b, epsilon), s, y)


def cross_entropy_of_words() -> Adapted:
    """``F.cross_entropy`` of each member, without smoothing."""
    return lambda s, y: by_member(F.cross_entropy, s, y)


def cross_entropy_module() -> Adapted:
    """``nn.CrossEntropyLoss`` of each member."""

    def loss(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
        return by_member(torch.nn.CrossEntropyLoss(label_smoothing=epsilon), s, y)

    return loss


def linear_cross_entropy(chunked: bool = False) -> Adapted:
    """``F.linear_cross_entropy`` of each member; with ``chunked``, in its parts of the batch."""
    options = torch.nn.LinearCrossEntropyOptions() if chunked else None

    def loss(x: Tensor, W: Tensor, y: Tensor, epsilon: float) -> Tensor:
        def one(rows: Tensor, targets: Tensor) -> Tensor:
            return F.linear_cross_entropy(rows, W, targets, label_smoothing=epsilon, options=options)

        return by_member(one, x, y)

    return loss


def summed_cross_entropy() -> Adapted:
    """``F.cross_entropy`` with reduction by the sum, of each member, negated."""

    def log_probability(s: Tensor, y: Tensor) -> Tensor:
        return -by_member(partial(F.cross_entropy, reduction="sum"), s, y)

    return log_probability


def label_smoother() -> Adapted:
    """transformers' ``LabelSmoother`` of each member: the loss of its ``Trainer`` with ``label_smoothing_factor``."""
    from transformers.trainer_pt_utils import LabelSmoother

    def loss(s: Tensor, y: Tensor, epsilon: float) -> Tensor:
        smoother = LabelSmoother(epsilon=epsilon)
        return by_member(lambda a, b: smoother({"logits": a}, b), s, y)

    return loss


def kl_div() -> Adapted:
    """``F.kl_div`` with the mean over the places, as DistilBERT's training calls it."""

    def one(z: Tensor, u: Tensor, tau: float) -> Tensor:
        log_p, q = torch.log_softmax(z / tau, -1), torch.softmax(u / tau, -1)
        return F.kl_div(log_p, q, reduction="batchmean") * tau**2

    return lambda z, u, tau: by_member(partial(one, tau=tau), z, u)


def cross_entropy_of_probabilities() -> Adapted:
    """``F.cross_entropy`` with the teacher's probabilities for targets."""

    def one(z: Tensor, u: Tensor, tau: float) -> Tensor:
        return F.cross_entropy(z / tau, torch.softmax(u / tau, -1)) * tau**2

    return lambda z, u, tau: by_member(partial(one, tau=tau), z, u)


def inverse_sqrt_schedule() -> Adapted:
    """transformers' ``get_inverse_sqrt_schedule``, its time scale the warm-up, times the largest rate."""
    from transformers import get_inverse_sqrt_schedule

    def rate(step: Tensor, d_model: int, warmup_steps: int) -> Tensor:
        optimizer = torch.optim.SGD([torch.zeros(())], lr=1 / math.sqrt(d_model * warmup_steps))
        schedule = get_inverse_sqrt_schedule(optimizer, warmup_steps, timescale=warmup_steps)
        (factor,), (base,) = schedule.lr_lambdas, schedule.base_lrs
        return step.new_tensor([base * factor(each) for each in step.flatten().tolist()]).reshape(step.shape)

    return rate

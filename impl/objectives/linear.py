"""Cross entropy of the logits x Wᵀ (+ b), without holding the logits: some rows of them at a time, each used and overwritten.

The gradients are computed with the loss, while the rows are at hand: they are as large as x and W, and the logits of a
vocabulary are far larger. Places where nothing is asked are left out from the beginning.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor

from impl import _refuse, _transforms
from impl.objectives.losses import Smoothing, check_targets, cross_entropy, over_all
from impl.recurrent.cells import wide

__all__ = ["linear_cross_entropy"]

BLOCK_BYTES = {
    "cpu": 2**25,
    "cuda": 2**28,
}  # rows enough for the products of matrices to run at their full speed


def linear_cross_entropy(
    x: Float[Tensor, "... T d"],
    W: Float[Tensor, "V d"],
    y: Integer[Tensor, "... T"],
    epsilon: float = 0.0,
    *,
    smoothing: Smoothing = "all",
    b: Float[Tensor, " V"] | None = None,
    block: int | None = None,
) -> Float[Tensor, "..."]:
    """``cross_entropy`` of the logits x Wᵀ, at most ``block`` bytes of them at a time. Statement:
    ``objectives.linear_cross_entropy``. With ``b``, of x Wᵀ + b: some layers have a bias, which the statement has not.

    What is asked beyond a first derivative (a second one, forward mode, transforms of ``torch.func``) holds all logits. Raises
    what ``cross_entropy`` raises, and ValueError for a W that does not fit, TypeError unless x and W share one floating dtype.
    """
    if W.ndim != 2 or x.shape[-1:] != W.shape[1:]:
        raise _refuse.shapes("objectives.linear_cross_entropy", "x (... T d), W (V d)", x=x, W=W)
    if b is not None and b.shape != W.shape[:1]:
        raise _refuse.shapes("objectives.linear_cross_entropy", "W (V d), b (V)", W=W, b=b)
    given = {"x": x, "W": W} if b is None else {"x": x, "W": W, "b": b}
    _refuse.check_floating("objectives.linear_cross_entropy", **given)
    held = BLOCK_BYTES.get(x.device.type, BLOCK_BYTES["cuda"]) if block is None else block
    V, d = W.shape
    lead = check_targets("objectives.linear_cross_entropy", x, y, epsilon, V)
    spread = over_all(epsilon, V, smoothing)
    whole = lead.numel() * y.shape[-1] * V * 4 <= held
    if (
        whole
        or _transforms.in_func()
        or _transforms.in_forward_mode()
        or torch.is_autocast_enabled(x.device.type)
    ):
        return cross_entropy(F.linear(_visible(x, y), W, b), y, epsilon, smoothing=smoothing)
    rows = x.expand(*lead, *x.shape[-2:]).reshape(-1, d)
    ids = y.long().expand(*lead, y.shape[-1]).reshape(-1)
    train = torch.is_grad_enabled() and any(of.requires_grad for of in given.values())
    share = _shares(ids, lead.numel(), wide(x.dtype))
    loss, *_ = _lean(rows, W, ids, share, lead.numel(), spread, held, train, b)
    return loss.to(x.dtype).reshape(lead)  # type: ignore[no-any-return]


def _visible(x: Tensor, y: Tensor) -> Tensor:
    """x, 0 where nothing is asked: what stands there must not reach the gradient of W."""
    return torch.where((y >= 0)[..., None], x, 0.0)


def _shares(y: Tensor, members: int, dtype: torch.dtype) -> Tensor:
    """What each place counts for in the mean of its member of the batch."""
    asked = (y >= 0).reshape(members, -1).to(dtype)
    return (asked / asked.sum(-1, keepdim=True).clamp(min=1)).reshape(-1)


@torch.library.custom_op("attnspec::linear_cross_entropy", mutates_args=())
def _lean(
    x: Tensor,
    W: Tensor,
    y: Tensor,
    share: Tensor,
    members: int,
    epsilon: float,
    block: int,
    train: bool,
    b: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The loss of each member of a batch, whose rows x (N d) follow one another; with ``train`` the gradients of their sum."""
    wider = wide(x.dtype)
    cost = x.new_zeros(len(x), dtype=wider)
    dx, dW = (torch.zeros_like(of, dtype=wider) if train else of.new_empty(0) for of in (x, W))
    db = x.new_empty(0) if b is None or not train else torch.zeros_like(b, dtype=wider)
    for places, s, own in _rows(x, W, b, y, block):
        top = s.amax(-1, keepdim=True)
        ids, weight = y[places, None], share[places, None]
        mean = s.mean(-1, keepdim=True) if epsilon else 0.0
        hit = s.gather(-1, ids)
        total = s.sub_(top).exp_().sum(-1, keepdim=True)
        lost = total.log() + top - (1 - epsilon) * hit - epsilon * mean
        cost[places] = (lost * weight)[:, 0]
        if train:  # softmax less smoothed target
            s.mul_(weight / total)
            if epsilon:
                s.sub_(weight * (epsilon / W.shape[0]))
            s.scatter_add_(-1, ids, -(1 - epsilon) * weight)
            dx[places] = s @ W.to(wider)
            dW.addmm_(s.mT, own)
            if b is not None:
                db += s.sum(0)
    loss = cost.reshape(members, -1).sum(-1)
    if train:
        dx, dW, db = dx.to(x.dtype), dW.to(W.dtype), db.to(W.dtype)
    return loss, dx, dW, db


def _rows(
    x: Tensor, W: Tensor, b: Tensor | None, y: Tensor, block: int
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Places with a target, their logits in one piece of memory after the other, and their rows of x."""
    wider = wide(x.dtype)
    W = W.to(wider)
    b = None if b is None else b.to(wider)
    asked = (y >= 0).nonzero()[:, 0]
    count = max(1, block // (W.shape[0] * wider.itemsize))
    memory = x.new_empty((min(count, len(asked)), W.shape[0]), dtype=wider)
    for places in asked.split(count) if len(asked) else ():
        own = x[places].to(wider)
        out = memory[: len(places)]
        yield places, torch.mm(own, W.mT, out=out) if b is None else torch.addmm(b, own, W.mT, out=out), own


@_lean.register_fake
def _(
    x: Tensor,
    W: Tensor,
    y: Tensor,
    share: Tensor,
    members: int,
    epsilon: float,
    block: int,
    train: bool,
    b: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    dx, dW = (torch.empty_like(of) if train else of.new_empty(0) for of in (x, W))
    db = x.new_empty(0) if b is None or not train else torch.empty_like(b)
    return x.new_empty(members, dtype=wide(x.dtype)), dx, dW, db


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    *tensors, ctx.members, ctx.epsilon, ctx.block, _, b = inputs
    ctx.save_for_backward(*tensors, b, *output[1:])
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, g: Tensor | None, *_: Tensor | None) -> tuple[Any, ...]:
    nothing = (None,) * 6
    if g is None:
        return None, None, *nothing, None
    x, W, y, share, b, dx, dW, db = ctx.saved_tensors
    each = g.repeat_interleave(len(y) // ctx.members)
    if torch.is_grad_enabled():  # this derivative is to be differentiated itself
        dx, dW, db = _plain_gradients(each * share, x, W, y, ctx.epsilon, b)
    elif (g == g[0]).all():
        dx, dW, db = ((of * g[0]).to(x.dtype) for of in (dx, dW, db))
    else:
        _loss, dx, dW, db = _lean(x, W, y, each * share, ctx.members, ctx.epsilon, ctx.block, True, b)
    return dx, dW, *nothing, None if b is None else db


_lean.register_autograd(_backward, setup_context=_remember)


def _plain_gradients(
    weight: Tensor, x: Tensor, W: Tensor, y: Tensor, epsilon: float, b: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    asked = (y >= 0)[:, None]
    x = torch.where(asked, x, 0.0)
    target = torch.zeros((len(y), len(W)), dtype=x.dtype, device=x.device)
    target = target.scatter(-1, torch.where(asked, y[:, None], 0), 1 - epsilon) + epsilon / len(W)
    s = torch.where(asked, weight[:, None].to(x.dtype) * (torch.softmax(F.linear(x, W, b), -1) - target), 0.0)
    return s @ W, s.mT @ x, s.sum(0)

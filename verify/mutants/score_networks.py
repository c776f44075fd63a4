"""Variants of the scores from a small network: ``scores.additive`` and ``scores.location``."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

ADDITIVE, LOCATION = "scores.additive", "scores.location"

# Additive -----------------------------------------------------------------------------------------------------------------


def additive_of(first: Tensor, second: Tensor, v: Tensor) -> Tensor:
    """Σ v·tanh over two projections, (…, n, a) and (…, m, a), right: the material of the variants below."""
    return (first[..., :, None, :] + second[..., None, :, :]).tanh() @ v


@wrong(ADDITIVE)
def key_first(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Concatenates [k; q] instead of [q; k]."""
    d = k.shape[-1]
    return additive_of(q @ W[:, d:].mT, k @ W[:, :d].mT, v)


@wrong(ADDITIVE)
def tanh_after_v(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Takes the hyperbolic tangent of the sum instead of summing hyperbolic tangents."""
    d = q.shape[-1]
    return (((q @ W[:, :d].mT)[..., :, None, :] + (k @ W[:, d:].mT)[..., None, :, :]) @ v).tanh()


@wrong(ADDITIVE)
def tanh_apart(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Takes the hyperbolic tangent of each projection, then adds."""
    d = q.shape[-1]
    return ((q @ W[:, :d].mT).tanh() @ v)[..., :, None] + ((k @ W[:, d:].mT).tanh() @ v)[..., None, :]


@wrong(ADDITIVE)
def without_tanh(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Forgets the hyperbolic tangent: the score is linear."""
    d = q.shape[-1]
    return ((q @ W[:, :d].mT) @ v)[..., :, None] + ((k @ W[:, d:].mT) @ v)[..., None, :]


@wrong(ADDITIVE)
def rectified(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Uses max(0, ·) instead of tanh."""
    d = q.shape[-1]
    return ((q @ W[:, :d].mT)[..., :, None, :] + (k @ W[:, d:].mT)[..., None, :, :]).relu() @ v


@wrong(ADDITIVE)
def logistic(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Uses the logistic function instead of tanh."""
    d = q.shape[-1]
    return ((q @ W[:, :d].mT)[..., :, None, :] + (k @ W[:, d:].mT)[..., None, :, :]).sigmoid() @ v


@wrong(ADDITIVE)
def without_v(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Sums the hidden layer without weights."""
    d = q.shape[-1]
    return additive_of(q @ W[:, :d].mT, k @ W[:, d:].mT, torch.ones_like(v)) + 0 * v.sum()


@wrong(ADDITIVE)
def additive_scaled(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Divides by the root of the hidden width."""
    d = q.shape[-1]
    return additive_of(q @ W[:, :d].mT, k @ W[:, d:].mT, v) / math.sqrt(v.shape[0])


@wrong(ADDITIVE)
def square_transposed(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Transposes W where it is square."""
    d = q.shape[-1]
    W = W.mT if W.shape[0] == W.shape[1] else W
    return additive_of(q @ W[:, :d].mT, k @ W[:, d:].mT, v)


@wrong(ADDITIVE)
def hidden_detached(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Recomputes the hidden layer without a gradient to save memory: only v learns."""
    d = q.shape[-1]
    return additive_of((q @ W[:, :d].mT).detach(), (k @ W[:, d:].mT).detach(), v) + 0 * (
        q.sum((-2, -1), keepdim=True) + k.sum((-2, -1), keepdim=True) + W.sum()
    )


@wrong(ADDITIVE)
def saturated(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Clamps what enters the hyperbolic tangent at ±3 "to avoid saturation"."""
    d = q.shape[-1]
    return ((q @ W[:, :d].mT)[..., :, None, :] + (k @ W[:, d:].mT)[..., None, :, :]).clamp(-3, 3).tanh() @ v


class ByHand(torch.autograd.Function):
    """Additive scores that keep no (…, n, m, a) numbers for their backward pass, which takes tanh again; right."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
        """The scores."""
        ctx.save_for_backward(q, k, W, v)
        d = q.shape[-1]
        return additive_of(q @ W[:, :d].mT, k @ W[:, d:].mT, v)

    @classmethod
    def terms(cls, ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The gradients of q and k, and those of W and v for each member of a batch."""
        q, k, W, v = ctx.saved_tensors
        d = q.shape[-1]
        hidden = ((q @ W[:, :d].mT)[..., :, None, :] + (k @ W[:, d:].mT)[..., None, :, :]).tanh()
        u = g[..., None] * v * (1 - hidden) * (1 + hidden)
        first, second = u.sum(-2), u.sum(-3)
        weights = torch.cat([first.mT @ q, second.mT @ k], -1).reshape(-1, *W.shape)
        return (
            first @ W[:, :d],
            second @ W[:, d:],
            weights,
            (g[..., None] * hidden).sum((-2, -3)).reshape(-1, len(v)),
        )

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients, those of the parameters summed over the batch."""
        of_q, of_k, of_W, of_v = ByHand.terms(ctx, g)
        return of_q, of_k, of_W.sum(0), of_v.sum(0)


class Averaged(ByHand):
    """The same, wrong in a batch."""

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients, those of the parameters averaged over the batch."""
        of_q, of_k, of_W, of_v = ByHand.terms(ctx, g)
        return of_q, of_k, of_W.mean(0), of_v.mean(0)


class Selfish(ByHand):
    """The same, wrong where q needs no gradient."""

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients, or none."""
        return ByHand.backward(ctx, g) if ctx.needs_input_grad[0] else (None,) * 4


@wrong(ADDITIVE)
def averaged_over_the_batch(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """A backward pass by hand that averages the gradients of W and v over the batch."""
    return Averaged.apply(q, k, W, v)  # type: ignore[no-any-return, no-untyped-call]


@wrong(ADDITIVE)
def nothing_without_queries(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """A backward pass by hand that stops where the queries need no gradient."""
    return Selfish.apply(q, k, W, v)  # type: ignore[no-any-return, no-untyped-call]


@right(ADDITIVE)
def backward_by_hand(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """A backward pass by hand, which takes tanh again."""
    return ByHand.apply(q, k, W, v)  # type: ignore[no-any-return, no-untyped-call]


@right(ADDITIVE)
def concatenated(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """Every pair concatenated, as the definition reads."""
    n, m = q.shape[-2], k.shape[-2]
    q = q[..., :, None, :].expand(*q.shape[:-1], m, q.shape[-1])
    k = k[..., None, :, :].expand(*k.shape[:-2], n, *k.shape[-2:])
    return torch.tanh(torch.cat((q, k), -1) @ W.mT) @ v


@right(ADDITIVE)
def split_form(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """The fast form: queries and keys projected once each."""
    d = q.shape[-1]
    return additive_of(q @ W[:, :d].mT, k @ W[:, d:].mT, v)


@right(ADDITIVE)
def query_by_query(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    """A loop over the queries: never a tensor of n × m × a."""
    d = q.shape[-1]
    first, second = q @ W[:, :d].mT, k @ W[:, d:].mT
    rows = [(second + first[..., i : i + 1, :]).tanh() @ v for i in range(q.shape[-2])]
    return torch.stack(rows, -2)


# Location-based -----------------------------------------------------------------------------------------------------------


@wrong(LOCATION)
def over_the_queries(q: Tensor, W: Tensor) -> Tensor:
    """Normalises over the queries."""
    return (q @ W.mT).softmax(-2)


@wrong(LOCATION)
def not_normalised(q: Tensor, W: Tensor) -> Tensor:
    """Returns the raw scores, softmax left to the caller."""
    return q @ W.mT


@wrong(LOCATION)
def location_scaled(q: Tensor, W: Tensor) -> Tensor:
    """Scales by 1/√d_q first."""
    return (q @ W.mT / math.sqrt(q.shape[-1])).softmax(-1)


@wrong(LOCATION)
def location_logs(q: Tensor, W: Tensor) -> Tensor:
    """Returns logarithms of the weights."""
    return (q @ W.mT).log_softmax(-1)


@wrong(LOCATION)
def without_shift(q: Tensor, W: Tensor) -> Tensor:
    """Exponentiates without subtracting the maximum."""
    e = (q @ W.mT).exp()
    return e / e.sum(-1, keepdim=True)


@wrong(LOCATION)
def places_transposed(q: Tensor, W: Tensor) -> Tensor:
    """Transposes a square W."""
    return (q @ (W if W.shape[0] == W.shape[1] else W.mT)).softmax(-1)


@wrong(LOCATION)
def squashed(q: Tensor, W: Tensor) -> Tensor:
    """Gives each place a logistic weight of its own: rows do not sum to 1."""
    return (q @ W.mT).sigmoid()


@wrong(LOCATION)
def location_smoothed(q: Tensor, W: Tensor) -> Tensor:
    """Adds 1e-6 to the denominator."""
    return (q @ W.mT).softmax(-1) / (1 + 1e-6)


@wrong(LOCATION)
def first_query_only(q: Tensor, W: Tensor) -> Tensor:
    """Computes the weights once, from the first query, for all."""
    return (q[..., :1, :] @ W.mT).softmax(-1).expand(*q.shape[:-1], W.shape[0])


@wrong(LOCATION)
def location_detached(q: Tensor, W: Tensor) -> Tensor:
    """No gradient reaches the query."""
    return (q.detach() @ W.mT).softmax(-1)


@right(LOCATION)
def by_linear(q: Tensor, W: Tensor) -> Tensor:
    """A linear layer and a softmax."""
    return F.linear(q, W).softmax(-1)


@right(LOCATION)
def by_log_softmax(q: Tensor, W: Tensor) -> Tensor:
    """The exponential of the log-softmax."""
    return torch.einsum("...ic,jc->...ij", q, W).log_softmax(-1).exp()

"""Variants of the scores from a small network: ``scores.additive`` and ``scores.location``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

ADDITIVE, LOCATION = "scores.additive", "scores.location"

# Additive -----------------------------------------------------------------------------------------------------------------


def projected(q, k, W):
    """Queries and keys, projected once each: (…, n, a) and (…, m, a)."""
    d = q.shape[-1]
    return q @ W[:, :d].mT, k @ W[:, d:].mT


def flowing(first, second):
    """What enters the hidden units for each pair: (…, n, m, a)."""
    return first[..., :, None, :] + second[..., None, :, :]


def additive(score=lambda hidden, v: hidden @ v, squash=torch.tanh, project=projected):
    """Additive scores, right but for what is given."""
    return lambda q, k, W, v: score(squash(flowing(*project(q, k, W))), v)


wrong(
    ADDITIVE, "key_first", "Concatenates [k; q] instead of [q; k].", cause=r"pair (reads|has)|k\S* where q"
)(additive(project=lambda q, k, W: projected(k, q, W)[::-1]))
wrong(
    ADDITIVE,
    "tanh_after_v",
    "Takes the tanh of the sum instead of summing tanhs.",
    cause="tanh is applied to s|tanh of s",
)(additive(lambda flow, v: (flow @ v).tanh(), lambda flow: flow))
wrong(
    ADDITIVE,
    "tanh_apart",
    "Takes the hyperbolic tangent of each projection, then adds.",
    cause=r"tanh.*(each|projection|\bq\b|\bk\b)",
)(additive(squash=lambda z: z, project=lambda *given: [each.tanh() for each in projected(*given)]))
wrong(
    ADDITIVE, "without_tanh", "Forgets the hyperbolic tangent: the score is linear.", cause="no (tanh|activ)"
)(additive(squash=lambda flow: flow))
wrong(ADDITIVE, "rectified", "Uses max(0, ·) instead of tanh.", cause=r"(is|has) ReLU\b")(
    additive(squash=torch.relu)
)
wrong(
    ADDITIVE, "logistic", "Uses the logistic function instead of tanh.", cause="(is a|has|tanh and) sigmoid"
)(additive(squash=torch.sigmoid))
wrong(
    ADDITIVE, "without_v", "Sums the hidden layer without weights.", cause="v is ignored|not multiplied by v"
)(additive(lambda hidden, v: hidden @ torch.ones_like(v) + 0 * v.sum()))
wrong(
    ADDITIVE, "additive_scaled", "Divides by the root of the hidden width.", cause=r"by √\(?a\b|1/√a times"
)(additive(lambda hidden, v: hidden @ v / math.sqrt(v.shape[0])))
wrong(ADDITIVE, "square_transposed", "Transposes W where it is square.", cause=r"axes swapped.*\bW\b")(
    additive(project=lambda q, k, W: projected(q, k, W.mT if W.shape[0] == W.shape[1] else W))
)


@wrong(ADDITIVE, cause="no gradient reaches q|hidden is taken")
def hidden_detached(q, k, W, v):
    """Recomputes the hidden layer without a gradient to save memory: only v learns."""
    unused = 0 * (q.sum((-2, -1), keepdim=True) + k.sum((-2, -1), keepdim=True) + W.sum())
    return flowing(*projected(q, k, W)).detach().tanh() @ v + unused


wrong(
    ADDITIVE,
    "saturated",
    'Clamps what enters the hyperbolic tangent at ±3 "to avoid saturation".',
    cause="clamp|saturat|±3|reaches 3",
)(additive(squash=lambda flow: flow.clamp(-3, 3).tanh()))


class ByHand(torch.autograd.Function):
    """Additive scores that keep no (…, n, m, a) numbers for their backward pass, which takes tanh again; right."""

    @staticmethod
    def forward(ctx, q, k, W, v):
        """The scores."""
        ctx.save_for_backward(q, k, W, v)
        return additive()(q, k, W, v)

    @classmethod
    def terms(cls, ctx, g):
        """The gradients of q and k, and those of W and v for each member of a batch."""
        q, k, W, v = ctx.saved_tensors
        d, hidden = q.shape[-1], flowing(*projected(q, k, W)).tanh()
        u = g[..., None] * v * (1 - hidden) * (1 + hidden)
        first, second = u.sum(-2), u.sum(-3)
        weights = torch.cat([first.mT @ q, second.mT @ k], -1).reshape(-1, *W.shape)
        of_v = (g[..., None] * hidden).sum((-2, -3)).reshape(-1, len(v))
        return first @ W[:, :d], second @ W[:, d:], weights, of_v

    @staticmethod
    def backward(ctx, g):
        """The gradients, those of the parameters summed over the batch."""
        of_q, of_k, of_W, of_v = ByHand.terms(ctx, g)
        return of_q, of_k, of_W.sum(0), of_v.sum(0)


class Averaged(ByHand):
    """The same, wrong in a batch."""

    @staticmethod
    def backward(ctx, g):
        """The gradients, those of the parameters averaged over the batch."""
        of_q, of_k, of_W, of_v = ByHand.terms(ctx, g)
        return of_q, of_k, of_W.mean(0), of_v.mean(0)


class Selfish(ByHand):
    """The same, wrong where q needs no gradient."""

    @staticmethod
    def backward(ctx, g):
        """The gradients, or none."""
        return ByHand.backward(ctx, g) if ctx.needs_input_grad[0] else (None,) * 4


wrong(
    ADDITIVE,
    "averaged_over_the_batch",
    "A backward pass by hand that averages over the batch.",
    cause=r"batch|gradient of (W|v)\b",
)(lambda q, k, W, v: Averaged.apply(q, k, W, v))
wrong(
    ADDITIVE,
    "nothing_without_queries",
    "One that stops where the queries need no gradient.",
    cause="gradient",
)(lambda q, k, W, v: Selfish.apply(q, k, W, v))
right(ADDITIVE, "backward_by_hand", "A backward pass by hand, which takes tanh again.")(
    lambda q, k, W, v: ByHand.apply(q, k, W, v)
)


@right(ADDITIVE)
def concatenated(q, k, W, v):
    """Every pair concatenated, as the definition reads."""
    n, m = q.shape[-2], k.shape[-2]
    q = q[..., :, None, :].expand(*q.shape[:-1], m, q.shape[-1])
    k = k[..., None, :, :].expand(*k.shape[:-2], n, *k.shape[-2:])
    return torch.tanh(torch.cat((q, k), -1) @ W.mT) @ v


right(ADDITIVE, "split_form", "The fast form: queries and keys projected once each.")(additive())


@right(ADDITIVE)
def query_by_query(q, k, W, v):
    """A loop over the queries: never a tensor of n × m × a."""
    first, second = projected(q, k, W)
    return torch.stack([(second + row).tanh() @ v for row in first.split(1, -2)], -2)


# Location-based -----------------------------------------------------------------------------------------------------------


def location(law):
    """Weights that ``law`` makes of the scores."""
    return lambda q, W: law(q @ W.mT)


wrong(LOCATION, "over_the_queries", "Normalises over the queries.", cause=r"wrong axis|over i\b")(
    location(lambda s: s.softmax(-2))
)
wrong(
    LOCATION,
    "not_normalised",
    "Returns the raw scores, softmax left to the caller.",
    cause="not normalised|u is returned|no softmax",
)(location(lambda s: s))
wrong(LOCATION, "location_scaled", "Scales by 1/√d_q first.", cause=r"divided by √\(?d_q")(
    lambda q, W: (q @ W.mT / math.sqrt(q.shape[-1])).softmax(-1)
)
wrong(LOCATION, "location_logs", "Returns logarithms of the weights.", cause=r"logarithm of a\b")(
    location(lambda s: s.log_softmax(-1))
)
wrong(LOCATION, "without_shift", "Exponentiates without subtracting the maximum.", cause="overflow")(
    location(lambda s: s.exp() / s.exp().sum(-1, keepdim=True))
)
wrong(LOCATION, "places_transposed", "Transposes a square W.", cause=r"axes swapped.*\bW\b")(
    lambda q, W: (q @ (W if W.shape[0] == W.shape[1] else W.mT)).softmax(-1)
)
wrong(
    LOCATION,
    "squashed",
    "Gives each place a logistic weight of its own: rows do not sum to 1.",
    cause="is a sigmoid|do not sum to 1",
)(location(torch.sigmoid))
wrong(
    LOCATION, "location_smoothed", "Adds 1e-6 to the denominator.", cause=r"1e-0?6|0\.999999|do not sum to 1"
)(location(lambda s: s.softmax(-1) / (1 + 1e-6)))
wrong(
    LOCATION,
    "first_query_only",
    "Computes the weights once, from the first query, for all.",
    cause="must not read|first (row|query)",
)(lambda q, W: (q[..., :1, :] @ W.mT).softmax(-1).expand(*q.shape[:-1], W.shape[0]))
wrong(LOCATION, "location_detached", "No gradient reaches the query.", cause=r"no gradient reaches q\b")(
    lambda q, W: (q.detach() @ W.mT).softmax(-1)
)
right(LOCATION, "by_linear", "A linear layer and a softmax.")(lambda q, W: F.linear(q, W).softmax(-1))
right(LOCATION, "by_log_softmax", "The exponential of the log-softmax.")(
    lambda q, W: torch.einsum("...ic,jc->...ij", q, W).log_softmax(-1).exp()
)

"""A cause is said where nothing contradicts it: of batches, of statements with one thing altered; else where it fails is."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from tests.mutants.rotary import from_one
from tests.mutants.routing import one_token_more
from tests.verify.explain.explaining import scores, weights, why
from verify import check
from verify.report import Reason

pytestmark = pytest.mark.usefixtures("ungraded")


def heads(x, W):
    """The projections of all heads."""
    return torch.einsum("...nd,hdk->...hnk", x, W)


def mixed(q, k, v, W_o, mask):
    """Attention of all heads, joined."""
    return (weights(scores(q, k), mask) @ v).transpose(-2, -3).flatten(-2) @ W_o


def masks_of_others(x, y, W_q, W_k, W_v, W_o, mask=None):
    """Masks repeated by heads where members and heads are unfolded the other way round."""
    h = W_q.shape[0]
    if mask is not None and x.dim() == 3:
        mask = mask.repeat(h, 1, 1).view(len(mask), h, *mask.shape[-2:])
    elif mask is not None:
        mask = mask.unsqueeze(-3)
    return mixed(heads(x, W_q), heads(y, W_k), heads(y, W_v), W_o, mask)


def mask_of_the_first(q, k, v, mask=None):
    """One mask for a whole batch."""
    if mask is not None and mask.dim() == 3:
        mask = mask[:1].expand_as(mask)
    return weights(scores(q, k), mask) @ v


def over_the_batch(x, gamma, beta, eps):
    """Statistics of batch normalisation."""
    axes = tuple(range(x.dim()))
    variance = x.var(axes, unbiased=False, keepdim=True)
    return gamma * (x - x.mean(axes, keepdim=True)) / (variance + eps).sqrt() + beta


def bent_projections(x, y, W_q, W_k, W_v, W_o, mask=None):
    """An activation on all projections."""
    projected = (heads(x, W_q).relu(), heads(y, W_k).relu(), heads(y, W_v).relu())
    return mixed(*projected, W_o, None if mask is None else mask.unsqueeze(-3))


def bias_outside(x, h, W_x, W_h, b_x, b_h):
    """A gated unit whose reset gate does not reach the bias."""
    d = h.shape[-1]
    u, w = x @ W_x.T + b_x, h @ W_h.T
    r, z = (torch.sigmoid((u + w + b_h)[..., k * d : k * d + d]) for k in (0, 1))
    n = torch.tanh(u[..., 2 * d :] + r * w[..., 2 * d :] + b_h[2 * d :])
    return (1 - z) * n + z * h


def padded(x, gamma, beta, eps):
    """The variance of a row that is padded with zeros."""
    d, mean = x.shape[-1], x.mean(-1, keepdim=True)
    variance = ((F.pad(x, (0, -d % 8)) - mean) ** 2).sum(-1, keepdim=True) / d
    return gamma * (x - mean) / (variance + eps).sqrt() + beta


def lowered(s, y, epsilon):
    """The divergence from smoothed targets, lowered by their entropy once more."""
    asked, V = y >= 0, s.shape[-1]
    targets = F.one_hot(y.clamp(min=0), V).to(s.dtype) * (1 - epsilon) + epsilon / V
    below = torch.special.entr(targets)
    loss = (F.kl_div(torch.log_softmax(s, -1), targets, reduction="none") - below).sum(-1) * asked
    return loss.sum(-1) / asked.sum(-1).clamp(min=1)


def bias_behind(x, W_1, b_1, W_2, b_2):
    """The inner bias added to what the activation has let through."""
    return (torch.relu(x @ W_1) + b_1) @ W_2 + b_2


def bent_twice(x, W_1, b_1, W_2, b_2):
    """An activation behind the last layer, too."""
    return torch.relu(torch.relu(x @ W_1 + b_1) @ W_2 + b_2)


def never_below(q, k, v):
    """A mask whose offset is not let fall below 0: with more queries than keys it is another one."""
    n, m = q.shape[-2], k.shape[-2]
    return weights(scores(q, k), torch.ones(n, m, dtype=torch.bool).tril(max(m - n, 0))) @ v


HEADS, ATTENTION, NORM = "attention.multi_head", "attention.scaled_dot_product", "normalization.layer_norm"


@pytest.mark.parametrize(
    ("formula_id", "fn", "said"),
    [
        (
            HEADS,
            masks_of_others,
            "right alone, wrong in batches: what a member gets depends on mask of the others",
        ),
        (
            ATTENTION,
            mask_of_the_first,
            "right alone, wrong in batches: every member is given mask of the first",
        ),
        (
            NORM,
            over_the_batch,
            "right alone, wrong in batches: what a member gets depends on x of the others",
        ),
        (ATTENTION, lambda q, k, v, mask=None: 0 * (q @ k.mT @ v), "the result is 0 everywhere"),
        (HEADS, bent_projections, "ReLU is applied to q"),
        ("recurrent.gru_cell", bias_outside, "b_h is not added to w, but in v"),
        (NORM, padded, "padding counts: var"),
        ("objectives.cross_entropy", lowered, "the result is off by a term (of y, epsilon and the sizes)"),
        ("feedforward.relu", bias_behind, "b_1 is not added to a, but in h"),
        ("feedforward.relu", bent_twice, "ReLU is applied to y"),
        ("attention.causal", never_below, "the offset m - n is not let fall below 0"),
        ("routing.capacity", one_token_more, "off by one: b[i,j] + 1/2 < C+1 instead of"),
        ("routing.top_k", lambda s, k: s.softmax(-1), "the condition r[i,j] + 1/2 < k is not applied in w"),
        ("positional.rotary", from_one, "off by one: 1 is added to pos"),
        (
            "similarity.cosine",
            lambda x, y: 1 - F.cosine_similarity(x, y, dim=-1, eps=0).nan_to_num(0),
            "1 − s",
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_the_cause_is_told(formula_id, fn, said):
    """What members of a batch get, what a result is made into, and one thing in the statement that is written otherwise."""
    found = why(fn, formula_id)
    assert found.said.startswith(said), found.said
    assert found.reason in (Reason.CAUSE, Reason.CHECK)


def test_what_most_examples_fit_is_no_cause_while_others_contradict_it():
    """Steps counted from 0 and not let fall below 1: most that are drawn are as if the step were 1, and some are not."""

    def rate(step, d_model, warmup_steps):
        t = torch.clamp(step - 1, min=1.0)
        return torch.minimum(t**-0.5, t * warmup_steps**-1.5) / math.sqrt(d_model)

    assert why(rate, "objectives.warmup").reason is not Reason.CAUSE
    said = check(rate, "objectives.warmup", max_examples=24).headline
    assert said.startswith("falsified: the values are wrong at d_model = ")


def test_a_number_that_was_fixed_is_not_accused():
    """That ε is declared to be built in: what ignores it is right to."""

    def norm(x, gamma):
        return gamma * x / (x * x).mean(-1, keepdim=True)

    report = check(norm, "normalization.rms_norm", fixed={"eps": 1e-6}, max_examples=24)
    assert report.verdict == "falsified"
    assert "eps is" not in report.headline


def test_another_number_than_was_fixed_is_named():
    """It is built in, and is another one."""

    def norm(x, gamma):
        return gamma * x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt()

    report = check(norm, "normalization.rms_norm", fixed={"eps": 1e-3}, max_examples=24)
    assert "eps is fixed at 1e-05, and not at 0.001 as is declared" in report.headline


@pytest.mark.parametrize("width", [4, 64])
def test_the_last_block_is_told(width):
    """What is wrong where a last block is not full."""

    def by_blocks(q, k):
        s = scores(q, k)
        full = s.shape[-1] // width * width
        return torch.cat([s[..., :full], s[..., full:] * 2], -1)

    assert why(by_blocks, "scores.scaled_dot").said == f"fails only where m is no multiple of {width}"


def test_gradients_alone_are_said_to_be_wrong():
    """Where no cause is found: values conform."""

    def crooked(q, k):
        s = scores(q, k)
        return s.detach() + (s - s.detach()) * (1 + s.detach() ** 2)

    said = check(crooked, "scores.scaled_dot", max_examples=24).headline
    assert said.startswith("falsified: no value is found wrong, and gradients are at n = ")

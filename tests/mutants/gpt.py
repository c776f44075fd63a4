"""Variants of ``attention.causal_multi_head``. The weights come in its order: W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong
from tests.mutants.attention import raw
from tests.mutants.heads import merged, projected

GPT = "attention.causal_multi_head"


def later(n, like):
    """True where a token stands after the one that asks."""
    return torch.ones(n, n, dtype=torch.bool, device=like.device).triu(1)


def parts(x, *projections):
    """Queries, keys and values of every head, right: (…, h, n, width)."""
    return [
        projected(x, W) + b.unsqueeze(-2) for W, b in zip(projections[::2], projections[1::2], strict=True)
    ]


def mixed(q, k, v, hidden=lambda s: later(s.shape[-1], s)):
    """What the heads gather, right, or with other scores hidden: (…, h, n, d_v)."""
    s = raw(q, k)
    return torch.softmax(s.masked_fill(hidden(s), -math.inf), -1) @ v


def joined(found, W_o, b_o):
    """The heads joined, right."""
    return merged(found) @ W_o + b_o


def causal(mix=mixed, join=joined):
    """Causal multi-head attention, right but for what the heads gather of q, k, v, or for how they are joined."""

    def attention(x, *weights):
        *projections, W_o, b_o = weights
        return join(mix(*parts(x, *projections)), W_o, b_o)

    return attention


def split_without_transposing(each):
    """A part as a view splits it: entries of different tokens share a row."""
    wide = merged(each)
    return wide.reshape(*wide.shape[:-2], each.shape[-3], each.shape[-2], each.shape[-1])


def hidden_by_heads(s):
    """The mask for as many tokens as there are heads; what is missing may be seen."""
    n, h = s.shape[-1], s.shape[-3]
    return F.pad(later(min(n, h), s), (0, max(n - h, 0), 0, max(n - h, 0)))


def hidden_of_the_first(s):
    """The mask, in the first head alone."""
    return later(s.shape[-1], s) & (torch.arange(s.shape[-3]).view(-1, 1, 1) == 0)


wrong(
    GPT,
    "split_by_a_view",
    "Splits the heads by a view: entries of different tokens share a row.",
    cause="split by a view",
)(causal(lambda *three: mixed(*(split_without_transposing(each) for each in three))))
wrong(
    GPT,
    "merged_by_a_view",
    "Merges the heads by a view: rows of different tokens are mixed.",
    cause="merged by a view",
)(causal(join=lambda z, W_o, b_o: z.reshape(*z.shape[:-3], z.shape[-2], -1) @ W_o + b_o))
wrong(
    GPT,
    "mask_over_the_heads",
    "Takes the mask by the number of heads where it should count tokens.",
    cause="look-ahead|h instead of n",
)(causal(lambda q, k, v: mixed(q, k, v, hidden_by_heads)))
wrong(
    GPT,
    "fused_in_another_order",
    "Takes the fused projection apart in the order key, query, value.",
    cause="parameters of (k and q|q and k)|taken in the order",
)(causal(lambda q, k, v: mixed(k, q, v) if q.shape == k.shape else mixed(q, k, v)))
wrong(GPT, "sees_everything", "Built the mask and never used it: an encoder.", cause="look-ahead")(
    causal(lambda q, k, v: torch.softmax(raw(q, k), -1) @ v)
)
wrong(
    GPT, "one_ahead", "A diagonal off by one: each token sees its successor.", cause="too many is|on later"
)(causal(lambda q, k, v: mixed(q, k, v, lambda s: torch.ones_like(s, dtype=torch.bool).triu(2))))
wrong(GPT, "first_head_causal", "The mask reaches the first head only.", cause="look-ahead|first head")(
    causal(lambda q, k, v: mixed(q, k, v, hidden_of_the_first))
)


@wrong(GPT, via=causal, cause="scores are set to a finite")
def masked_before_the_scale(q, k, v):
    """Fills with −1e4 before it scales: large scores let the future in."""
    s = (q @ k.mT).masked_fill(later(q.shape[-2], q), -1e4) / math.sqrt(q.shape[-1])
    return torch.softmax(s, -1) @ v


wrong(
    GPT,
    "masked_after_the_softmax",
    "Zeroes the future after the softmax: weights sum to less than 1.",
    cause="do not sum to 1|sum over hidden",
)(causal(lambda q, k, v: torch.softmax(raw(q, k), -1).tril() @ v))
wrong(GPT, "unscaled", "Forgets the scale.", cause=r"scale is missing|not divided by √\(?d_k")(
    causal(lambda q, k, v: mixed(q * math.sqrt(q.shape[-1]), k, v))
)
wrong(
    GPT,
    "scaled_by_the_model",
    "Scales by the width of the model, not of a head.",
    cause="d_model instead of d_k",
)(
    lambda x, *weights: causal(lambda q, k, v: mixed(q * math.sqrt(q.shape[-1] / x.shape[-1]), k, v))(
        x, *weights
    )
)
wrong(
    GPT,
    "query_bias_left_out",
    "Has no bias for the queries, unlike for the values.",
    cause=r"b_q\S* is (ignored|not added)",
)(altering(causal(), {2: lambda b_q: 0 * b_q}))
wrong(
    GPT,
    "output_bias_in_every_head",
    "Adds the bias of the output once for each head.",
    cause=r"b_o\S* is multiplied|off by a term",
)(causal(join=lambda z, W_o, b_o: joined(z, W_o, z.shape[-3] * b_o)))


@wrong(GPT, via=causal, cause=r"^v\b.*constant|gradient .*\b(W_v|b_v)")
def values_cut_off(q, k, v):
    """Keeps keys and values, and cuts the gradient of all tokens but the last."""
    return mixed(q, k, torch.cat((v[..., :-1, :].detach(), v[..., -1:, :]), -2))


right(GPT, "by_the_kernel", "torch's fused kernel with is_causal.")(
    causal(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))
)


@right(GPT, via=causal)
def token_by_token(q, k, v):
    """One token at a time over the keys and values kept so far, as a decoder does."""
    rows = [
        torch.softmax(raw(q[..., i : i + 1, :], k[..., : i + 1, :]), -1) @ v[..., : i + 1, :]
        for i in range(q.shape[-2])
    ]
    return torch.cat(rows, -2)


right(GPT, "without_the_key_bias", "Leaves the bias of the keys out, which changes nothing.")(
    altering(causal(), {4: lambda b_k: 0 * b_k})
)


@right(GPT)
def fused(x, *weights):
    """One product for queries, keys and values of all heads, as nanoGPT."""
    W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o = weights
    h, widths = W_q.shape[0], [W.shape[0] * W.shape[-1] for W in (W_q, W_k, W_v)]
    W = torch.cat([W.movedim(0, 1).flatten(1) for W in (W_q, W_k, W_v)], -1)
    wide = x @ W + torch.cat([b.flatten() for b in (b_q, b_k, b_v)])
    q, k, v = (each.unflatten(-1, (h, -1)).transpose(-3, -2) for each in wide.split(widths, -1))
    return joined(mixed(q, k, v), W_o, b_o)

"""Variants of ``attention.causal_multi_head``. The weights come in its order: W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong
from verify.mutants.heads import merged, projected

GPT = "attention.causal_multi_head"
Three = tuple[Tensor, Tensor, Tensor]


def later(n: int, like: Tensor) -> Tensor:
    """True where a token stands after the one that asks."""
    return torch.ones(n, n, dtype=torch.bool, device=like.device).triu(1)


def parts(x: Tensor, *projections: Tensor) -> Three:
    """Queries, keys and values of every head, right: (…, h, n, width)."""
    W_q, b_q, W_k, b_k, W_v, b_v = projections
    q, k, v = (projected(x, W) + b.unsqueeze(-2) for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v)))
    return q, k, v


def scores(q: Tensor, k: Tensor) -> Tensor:
    """Scaled scores, with −∞ for what comes later: right."""
    s = q @ k.mT / math.sqrt(q.shape[-1])
    return s.masked_fill(later(s.shape[-1], s), -math.inf)


def mixed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """What the heads gather, right: (…, h, n, d_v)."""
    return torch.softmax(scores(q, k), -1) @ v


def joined(found: Tensor, W_o: Tensor, b_o: Tensor) -> Tensor:
    """The heads joined, right."""
    return merged(found) @ W_o + b_o


@wrong(GPT)
def split_by_a_view(x: Tensor, *weights: Tensor) -> Tensor:
    """Splits the heads by a view without a transpose: entries of different tokens share a row, and see the future."""
    *projections, W_o, b_o = weights
    heads = []
    for each in parts(x, *projections):
        wide = merged(each)
        heads.append(wide.reshape(*wide.shape[:-2], each.shape[-3], each.shape[-2], each.shape[-1]))
    return joined(mixed(*heads), W_o, b_o)


@wrong(GPT)
def merged_by_a_view(x: Tensor, *weights: Tensor) -> Tensor:
    """Merges the heads by a view without the transpose: rows of different tokens are mixed."""
    *projections, W_o, b_o = weights
    found = mixed(*parts(x, *projections))
    return found.reshape(*x.shape[:-1], -1) @ W_o + b_o


@wrong(GPT)
def mask_over_the_heads(x: Tensor, *weights: Tensor) -> Tensor:
    """Takes the mask by the number of heads where it should count tokens, and fills in what is missing with what may be seen."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    s = q @ k.mT / math.sqrt(q.shape[-1])
    n, h = s.shape[-1], s.shape[-3]
    hidden = F.pad(later(min(n, h), s), (0, max(n - h, 0), 0, max(n - h, 0)))
    return joined(torch.softmax(s.masked_fill(hidden, -math.inf), -1) @ v, W_o, b_o)


@wrong(GPT)
def fused_in_another_order(x: Tensor, *weights: Tensor) -> Tensor:
    """Takes the fused projection apart in the order key, query, value."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    return joined(mixed(*((k, q, v) if q.shape == k.shape else (q, k, v))), W_o, b_o)


@wrong(GPT)
def sees_everything(x: Tensor, *weights: Tensor) -> Tensor:
    """Built the mask and never used it: an encoder."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    return joined(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v, W_o, b_o)


@wrong(GPT)
def one_ahead(x: Tensor, *weights: Tensor) -> Tensor:
    """A diagonal off by one: each token sees its successor."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    s = q @ k.mT / math.sqrt(q.shape[-1])
    hidden = torch.ones_like(s, dtype=torch.bool).triu(2)
    return joined(torch.softmax(s.masked_fill(hidden, -math.inf), -1) @ v, W_o, b_o)


@wrong(GPT)
def first_head_causal(x: Tensor, *weights: Tensor) -> Tensor:
    """The mask reaches the first head only."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    s = q @ k.mT / math.sqrt(q.shape[-1])
    first = torch.arange(s.shape[-3]).view(-1, 1, 1) == 0
    return joined(torch.softmax(s.masked_fill(later(s.shape[-1], s) & first, -math.inf), -1) @ v, W_o, b_o)


@wrong(GPT)
def masked_before_the_scale(x: Tensor, *weights: Tensor) -> Tensor:
    """Fills with −1e4 before it scales: the future comes through where scores are large."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    s = (q @ k.mT).masked_fill(later(x.shape[-2], x), -1e4) / math.sqrt(q.shape[-1])
    return joined(torch.softmax(s, -1) @ v, W_o, b_o)


@wrong(GPT)
def masked_after_the_softmax(x: Tensor, *weights: Tensor) -> Tensor:
    """Zeroes the future after the softmax: the weights of the first tokens sum to less than 1."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    a = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1)
    return joined(a.tril() @ v, W_o, b_o)


@wrong(GPT)
def unscaled(x: Tensor, *weights: Tensor) -> Tensor:
    """Forgets the scale."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    return joined(mixed(q * math.sqrt(q.shape[-1]), k, v), W_o, b_o)


@wrong(GPT)
def scaled_by_the_model(x: Tensor, *weights: Tensor) -> Tensor:
    """Scales by the width of the model, not of a head."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    return joined(mixed(q * math.sqrt(q.shape[-1] / x.shape[-1]), k, v), W_o, b_o)


@wrong(GPT)
def query_bias_left_out(x: Tensor, *weights: Tensor) -> Tensor:
    """Has no bias for the queries, unlike for the values."""
    *projections, W_o, b_o = weights
    W_q, b_q, *rest = projections
    return joined(mixed(*parts(x, W_q, 0 * b_q, *rest)), W_o, b_o)


@wrong(GPT)
def output_bias_in_every_head(x: Tensor, *weights: Tensor) -> Tensor:
    """Adds the bias of the output once for each head."""
    *projections, W_o, b_o = weights
    found = mixed(*parts(x, *projections))
    return joined(found, W_o, found.shape[-3] * b_o)


@wrong(GPT)
def values_cut_off(x: Tensor, *weights: Tensor) -> Tensor:
    """Keeps keys and values for the next step, and with them cuts the gradient of all tokens but the last."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    kept = torch.cat((v[..., :-1, :].detach(), v[..., -1:, :]), -2)
    return joined(mixed(q, k, kept), W_o, b_o)


@right(GPT)
def by_the_kernel(x: Tensor, *weights: Tensor) -> Tensor:
    """torch's fused kernel with is_causal."""
    *projections, W_o, b_o = weights
    found = F.scaled_dot_product_attention(*parts(x, *projections), is_causal=True)
    return joined(found, W_o, b_o)


@right(GPT)
def token_by_token(x: Tensor, *weights: Tensor) -> Tensor:
    """One token at a time over the keys and values kept so far, as a decoder does."""
    *projections, W_o, b_o = weights
    q, k, v = parts(x, *projections)
    rows = [
        torch.softmax(q[..., i : i + 1, :] @ k[..., : i + 1, :].mT / math.sqrt(q.shape[-1]), -1)
        @ v[..., : i + 1, :]
        for i in range(x.shape[-2])
    ]
    return joined(torch.cat(rows, -2), W_o, b_o)


@right(GPT)
def without_the_key_bias(x: Tensor, *weights: Tensor) -> Tensor:
    """Leaves the bias of the keys out, which changes nothing."""
    *projections, W_o, b_o = weights
    W_q, b_q, W_k, b_k, *rest = projections
    return joined(mixed(*parts(x, W_q, b_q, W_k, 0 * b_k, *rest)), W_o, b_o)


@right(GPT)
def fused(x: Tensor, *weights: Tensor) -> Tensor:
    """One product for queries, keys and values of all heads, as nanoGPT."""
    *projections, W_o, b_o = weights
    W_q, b_q, W_k, b_k, W_v, b_v = projections
    h, widths = W_q.shape[0], [W.shape[0] * W.shape[-1] for W in (W_q, W_k, W_v)]
    W = torch.cat([W.movedim(0, 1).flatten(1) for W in (W_q, W_k, W_v)], -1)
    wide = x @ W + torch.cat([b.flatten() for b in (b_q, b_k, b_v)])
    q, k, v = (each.unflatten(-1, (h, -1)).transpose(-3, -2) for each in wide.split(widths, -1))
    return joined(mixed(q, k, v), W_o, b_o)

"""Causal multi-head self-attention of peers, adapted to weights and biases for each head."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from verify.targets.flattening import called, flat, hollow, opened
from verify.targets.multihead import rows

Adapted = Callable[..., Any]


def _packed(
    W_q: Tensor, b_q: Tensor, W_k: Tensor, b_k: Tensor, W_v: Tensor, b_v: Tensor
) -> tuple[Tensor, Tensor]:
    """One linear layer that makes queries, keys and values of all heads: weight (3·d_model, d_model) and bias."""
    return torch.cat([rows(W_q), rows(W_k), rows(W_v)]), torch.cat(
        [b_q.flatten(), b_k.flatten(), b_v.flatten()]
    )


def later(n: int, like: Tensor) -> Tensor:
    """True where a token stands after the one that asks."""
    return torch.ones(n, n, dtype=torch.bool, device=like.device).triu(1)


@lru_cache(maxsize=256)
def _torch(width: int, heads: int) -> nn.Module:
    return hollow(lambda: nn.MultiheadAttention(width, heads, batch_first=True), training=True)


def torch_causal(need_weights: bool) -> Adapted:
    """``nn.MultiheadAttention`` with ``is_causal`` and the mask that it asks for beside it."""

    def attend(x: Tensor, *weights: Tensor) -> Tensor:
        *projections, W_o, b_o = weights
        lead, hidden = x.shape[:-2], later(x.shape[-2], x)
        W, b = _packed(*projections)
        given = {"in_proj_weight": W, "in_proj_bias": b, "out_proj.weight": W_o.mT, "out_proj.bias": b_o}
        one, module = flat(x, lead, 2), _torch(x.shape[-1], projections[0].shape[0])
        how = {"attn_mask": hidden, "is_causal": True, "need_weights": need_weights}
        return opened(called(module, given, one, one, one, **how)[0], lead)

    return attend


@lru_cache(maxsize=256)
def _gpt2(width: int, heads: int, backend: str) -> nn.Module:
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    config = GPT2Config(n_embd=width, n_head=heads)
    config._attn_implementation = backend
    return hollow(lambda: GPT2Attention(config))  # type: ignore[no-untyped-call]  # it is not annotated


def gpt2(backend: str) -> Adapted:
    """``GPT2Attention``; eager attention adds finfo.min to the scores of what comes later, as the model around it does."""

    def attend(x: Tensor, *weights: Tensor) -> Tensor:
        *projections, W_o, b_o = weights
        lead, n = x.shape[:-2], x.shape[-2]
        W, b = _packed(*projections)
        given = {"c_attn.weight": W.mT, "c_attn.bias": b, "c_proj.weight": W_o, "c_proj.bias": b_o}
        fill = torch.zeros(n, n, dtype=x.dtype).masked_fill(later(n, x), torch.finfo(x.dtype).min)
        module = _gpt2(x.shape[-1], projections[0].shape[0], backend)
        mask = fill if backend == "eager" else None
        return opened(called(module, given, flat(x, lead, 2), attention_mask=mask)[0], lead)

    return attend


@lru_cache(maxsize=256)
def _xtransformers(width: int, heads: int, d_k: int, d_v: int, flash: bool) -> nn.Module:
    from x_transformers.x_transformers import Attention

    sizes = {"dim_head": d_k, "heads": heads, "value_dim_head": d_v}
    return hollow(lambda: Attention(width, **sizes, causal=True, flash=flash, project_out=True))


def xtransformers(flash: bool) -> Adapted:
    """``Attention`` with ``causal``. It has no biases: x gets one more column, of ones, and b_o is added after it."""

    def attend(x: Tensor, *weights: Tensor) -> Tensor:
        W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o = weights
        lead, (heads, width, d_k) = x.shape[:-2], W_q.shape
        module = _xtransformers(width + 1, heads, d_k, W_v.shape[-1], flash)
        pairs = {"to_q": (W_q, b_q), "to_k": (W_k, b_k), "to_v": (W_v, b_v)}
        given = {
            f"{name}.weight": rows(torch.cat([W, b.unsqueeze(-2)], -2)) for name, (W, b) in pairs.items()
        }
        given["to_out.weight"] = torch.cat([W_o.mT, W_o.new_zeros(1, W_o.shape[0])])
        wide = torch.cat([x, x.new_ones(*x.shape[:-1], 1)], -1)
        return opened(called(module, given, flat(wide, lead, 2))[..., :-1], lead) + b_o

    return attend

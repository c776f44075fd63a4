"""Multi-head attention of peers, with per-head weights, and masks in which True means "may attend"."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, entries, module, rows


def pack_weights(W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor) -> State:
    """The weights of ``nn.MultiheadAttention``; its biases are 0."""
    return {"in_proj_weight": rows(W_q, W_k, W_v), "out_proj.weight": W_o.T, "*bias": 0}


def pack_with_biases(b_q: Tensor, b_k: Tensor, b_v: Tensor, b_o: Tensor, **weights: Tensor) -> State:
    """The same with biases."""
    return {**pack_weights(**weights), "in_proj_bias": entries(b_q, b_k, b_v), "out_proj.bias": b_o}


def _torch(d_model: int, h: int) -> nn.Module:
    return nn.MultiheadAttention(d_model, h, batch_first=True)


def torch_multi_head(training: bool, biased: bool = False) -> Adapter:
    """``nn.MultiheadAttention``: in training it computes weights, in evaluation it goes to the fused kernel."""

    def call(attend: nn.Module, x: Tensor, y: Tensor, mask: Tensor | None) -> Any:
        return attend(x, y, y, attn_mask=mask, need_weights=training)

    return module(
        _torch, pack_with_biases if biased else pack_weights, call, mask="drop heads", train=training
    )


def torch_fast_path() -> Adapter:
    """``nn.MultiheadAttention`` where it calls ``torch._native_multi_head_attention``: self-attention in evaluation.

    Queries and keys are one sequence [x; y] there; the mask lets x look at y alone (what y gets is thrown away).
    """

    def call(attend: nn.Module, x: Tensor, y: Tensor, mask: Tensor | None, n: int) -> Any:
        one = torch.cat((x, y), 1)
        return attend(one, one, one, attn_mask=mask, need_weights=False)[0][:, :n]

    return module(_torch, pack_weights, call, mask="joined drop heads", grad=False)


# transformers ---------------------------------------------------------------------------------------------------------------

MASKS = {"eager": "additive=min b1nm", "sdpa": "b1nm"}
"""Masks as transformers makes them: finfo.min where nothing is seen, or booleans for the fused kernel; for all heads."""


def separate(W_q: Tensor, W_k: Tensor, W_v: Tensor) -> State:
    """The weights of BERT's attention; its biases are 0. The product with W_o is what its output layer begins with."""
    return {"query.weight": rows(W_q), "key.weight": rows(W_k), "value.weight": rows(W_v), "*bias": 0}


def separate_biased(b_q: Tensor, b_k: Tensor, b_v: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> State:
    """The same with biases."""
    biases = {"query.bias": entries(b_q), "key.bias": entries(b_k), "value.bias": entries(b_v)}
    return {**separate(W_q, W_k, W_v), **biases}


def _config(backend: str, width: int, heads: int) -> Any:
    from transformers import BertConfig

    config = BertConfig(hidden_size=width, num_attention_heads=heads)
    config._attn_implementation = backend
    return config


def bert_self(backend: str, biased: bool = False) -> Adapter:
    """``BertSelfAttention`` of the one sequence [x; y]."""
    from transformers.models.bert.modeling_bert import BertSelfAttention

    def build(d_model: int, h: int) -> nn.Module:
        return BertSelfAttention(_config(backend, d_model, h))  # type: ignore[no-untyped-call]

    def call(attend: nn.Module, x: Tensor, y: Tensor, mask: Tensor | None, n: int) -> Any:
        return attend(torch.cat((x, y), 1), attention_mask=mask)[0][:, :n]

    mask = f"joined {MASKS[backend]}"
    if biased:
        return module(build, separate_biased, call, mask=mask, pick=lambda out, W_o, b_o: out @ W_o + b_o)
    return module(build, separate, call, mask=mask, pick=lambda out, W_o: out @ W_o)


def bert_cross(backend: str) -> Adapter:
    """``BertCrossAttention``."""
    from transformers.models.bert.modeling_bert import BertCrossAttention

    def build(d_model: int, h: int) -> nn.Module:
        return BertCrossAttention(_config(backend, d_model, h))  # type: ignore[no-untyped-call]

    def call(attend: nn.Module, x: Tensor, y: Tensor, mask: Tensor | None, W_o: Tensor) -> Any:
        return attend(x, y, attention_mask=mask)[0] @ W_o

    return module(build, separate, call, mask=MASKS[backend])

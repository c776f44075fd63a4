"""Multi-head attention of peers, with per-head weights, and masks in which True means "may attend"."""

from __future__ import annotations

import os
from typing import Any

from torch import nn

from verify.adapt import Adapter, module

# The adapters need no model of a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

PACKED = {
    "in_proj_weight": "cat(rows(W_q), rows(W_k), rows(W_v))",
    "out_proj.weight": "W_o.T",
    "*bias": 0,
}
"""The weights of ``nn.MultiheadAttention``; its biases are 0."""
PACKED_BIASED = {
    **{name: of for name, of in PACKED.items() if name != "*bias"},
    "in_proj_bias": "cat(b_q.flatten(), b_k.flatten(), b_v.flatten())",
    "out_proj.bias": "b_o",
}
"""The same with biases."""


def _torch(d_model: int, h: int) -> nn.Module:
    return nn.MultiheadAttention(d_model, h, batch_first=True)


def torch_multi_head(training: bool, biased: bool = False) -> Adapter:
    """``nn.MultiheadAttention``: in training it computes weights, in evaluation it goes to the fused kernel."""
    call = f"x, y, y, attn_mask=mask, need_weights={training}"
    return module(_torch, PACKED_BIASED if biased else PACKED, call, mask="drop heads", train=training)


def torch_fast_path() -> Adapter:
    """``nn.MultiheadAttention`` where it calls ``torch._native_multi_head_attention``: self-attention in evaluation.

    Queries and keys are one sequence [x; y] there; the mask lets x look at y alone (what y gets is thrown away).
    """
    one = "cat(x, y, dim=1)"
    call = f"{one}, {one}, {one}, attn_mask=mask, need_weights=False"
    return module(_torch, PACKED, call, mask="joined drop heads", pick="out[0][:, :n]", grad=False)


# transformers ---------------------------------------------------------------------------------------------------------------

SEPARATE = {"query.weight": "rows(W_q)", "key.weight": "rows(W_k)", "value.weight": "rows(W_v)", "*bias": 0}
"""The weights of BERT's attention; its biases are 0. The product with W_o is what its output layer begins with."""
SEPARATE_BIASED = {
    **{name: of for name, of in SEPARATE.items() if name != "*bias"},
    "query.bias": "b_q.flatten()",
    "key.bias": "b_k.flatten()",
    "value.bias": "b_v.flatten()",
}
"""The same with biases."""
MASKS = {"eager": "additive=min b1nm", "sdpa": "b1nm"}
"""Masks as transformers makes them: finfo.min where nothing is seen, or booleans for the fused kernel; for all heads."""


def _config(backend: str, width: int, heads: int) -> Any:
    from transformers import BertConfig

    config = BertConfig(hidden_size=width, num_attention_heads=heads)
    config._attn_implementation = backend
    return config


def bert_self(backend: str, biased: bool = False) -> Adapter:
    """``BertSelfAttention`` of the one sequence [x; y]."""
    from transformers.models.bert.modeling_bert import BertSelfAttention

    mask, call = f"joined {MASKS[backend]}", "cat(x, y, dim=1), attention_mask=mask"
    pick = "out[0][:, :n] @ W_o" + (" + b_o" if biased else "")

    def build(d_model: int, h: int) -> nn.Module:
        return BertSelfAttention(_config(backend, d_model, h))  # type: ignore[no-untyped-call]

    return module(build, SEPARATE_BIASED if biased else SEPARATE, call, mask=mask, pick=pick)


def bert_cross(backend: str) -> Adapter:
    """``BertCrossAttention``."""
    from transformers.models.bert.modeling_bert import BertCrossAttention

    mask, call, pick = MASKS[backend], "x, y, attention_mask=mask", "out[0] @ W_o"

    def build(d_model: int, h: int) -> nn.Module:
        return BertCrossAttention(_config(backend, d_model, h))  # type: ignore[no-untyped-call]

    return module(build, SEPARATE, call, mask=mask, pick=pick)

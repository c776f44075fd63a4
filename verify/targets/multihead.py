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


def _torch(d_model: int, h: int) -> nn.Module:
    return nn.MultiheadAttention(d_model, h, batch_first=True)


def torch_multi_head(training: bool) -> Adapter:
    """``nn.MultiheadAttention``: in training it computes weights, in evaluation it goes to the fused kernel."""
    call = f"x, y, y, attn_mask=mask, need_weights={training}"
    return module(_torch, PACKED, call, mask="drop heads", train=training)


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
BERT_LAYER = {
    "*query.weight": "rows(W_q)", "*key.weight": "rows(W_k)", "*value.weight": "rows(W_v)", "*output.dense.weight": "W_o.T",
    "attention*Norm.weight": "gamma_1", "attention*Norm.bias": "beta_1", "attention*bias": 0,
    "intermediate.dense.weight": "W_1.T", "intermediate.dense.bias": "b_1", "output.dense.weight": "W_2.T",
    "output.dense.bias": "b_2", "output.LayerNorm.weight": "gamma_2", "output.LayerNorm.bias": "beta_2",
}  # fmt: skip
"""The weights of a layer of BERT; the biases of its attention are 0."""
MASKS = {"eager": "additive=min b1nm", "sdpa": "b1nm"}
"""Masks as transformers makes them: finfo.min where nothing is seen, or booleans for the fused kernel; for all heads."""


def _config(backend: str, width: int, heads: int, **more: Any) -> Any:
    from transformers import BertConfig

    config = BertConfig(hidden_size=width, num_attention_heads=heads, **more)
    config._attn_implementation = backend
    return config


def bert_self(backend: str) -> Adapter:
    """``BertSelfAttention`` of the one sequence [x; y]."""
    from transformers.models.bert.modeling_bert import BertSelfAttention

    mask, call = f"joined {MASKS[backend]}", "cat(x, y, dim=1), attention_mask=mask"
    pick = "out[0][:, :n] @ W_o"
    return module(
        lambda d_model, h: BertSelfAttention(_config(backend, d_model, h)),
        SEPARATE,
        call,
        mask=mask,
        pick=pick,
    )


def bert_cross(backend: str) -> Adapter:
    """``BertCrossAttention``."""
    from transformers.models.bert.modeling_bert import BertCrossAttention

    mask, call, pick = MASKS[backend], "x, y, attention_mask=mask", "out[0] @ W_o"
    return module(
        lambda d_model, h: BertCrossAttention(_config(backend, d_model, h)),
        SEPARATE,
        call,
        mask=mask,
        pick=pick,
    )


def t5() -> Adapter:
    """``T5Attention`` of x over y, without relative positions; it does not divide by √d_k, so that W_q does."""
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    weights = {
        "q.weight": "rows(W_q) / sqrt(d_k)",
        "k.weight": "rows(W_k)",
        "v.weight": "rows(W_v)",
        "o.weight": "W_o.T",
    }
    return module(
        lambda d_model, h, d_k: T5Attention(T5Config(d_model=d_model, d_kv=d_k, num_heads=h), layer_idx=0),
        weights,
        "x, mask=mask, key_value_states=y",
        mask="additive=min b1nm",
    )


def gpt2_cross() -> Adapter:
    """``GPT2Attention`` of x over y, as a decoder has it for an encoder's states."""
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    weights = {"q_attn.weight": "columns(W_q)", "c_attn.weight": "cat(columns(W_k), columns(W_v), dim=1)"}
    return module(
        lambda d_model, h: GPT2Attention(
            GPT2Config(n_embd=d_model, n_head=h), is_cross_attention=True, layer_idx=0
        ),
        {**weights, "c_proj.weight": "W_o", "*bias": 0},
        "x, encoder_hidden_states=y, encoder_attention_mask=mask",
        mask="additive=min b1nm",
    )


def bert_layer() -> Adapter:
    """``BertLayer`` with ReLU."""
    from transformers.models.bert.modeling_bert import BertLayer

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        sizes = {"intermediate_size": d_ff, "layer_norm_eps": eps, "hidden_act": "relu"}
        return BertLayer(_config("sdpa", d_model, h, **sizes))

    return module(build, BERT_LAYER, "x, attention_mask=mask", mask="b1nm")

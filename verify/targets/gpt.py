"""Causal multi-head self-attention of peers, with per-head weights and biases."""

from __future__ import annotations

from typing import Any

from torch import nn

from verify.adapt import Adapter, module

WEIGHTS, BIASES = "cat(rows(W_q), rows(W_k), rows(W_v))", "cat(b_q.flatten(), b_k.flatten(), b_v.flatten())"
"""One linear layer that makes queries, keys and values of all heads."""


def torch_causal(need_weights: bool) -> Adapter:
    """``nn.MultiheadAttention`` with ``is_causal`` and the mask that it asks for beside it."""
    weights = {
        "in_proj_weight": WEIGHTS,
        "in_proj_bias": BIASES,
        "out_proj.weight": "W_o.T",
        "out_proj.bias": "b_o",
    }
    call = f"x, x, x, attn_mask=~causal(n), is_causal=True, need_weights={need_weights}"
    return module(
        lambda d_model, h: nn.MultiheadAttention(d_model, h, batch_first=True),
        weights,
        call,
        pick="out[0]",
        train=True,
    )


def gpt2(backend: str) -> Adapter:
    """``GPT2Attention``; eager attention adds finfo.min to the scores of what comes later, as the model around it does."""
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    def build(d_model: int, h: int) -> nn.Module:
        config = GPT2Config(n_embd=d_model, n_head=h)
        config._attn_implementation = backend
        made: Any = GPT2Attention
        return made(config)  # type: ignore[no-any-return]  # it is not annotated

    weights = {
        "c_attn.weight": f"{WEIGHTS}.T",
        "c_attn.bias": BIASES,
        "c_proj.weight": "W_o",
        "c_proj.bias": "b_o",
    }
    fill = "x.new_zeros(n, n).masked_fill(~causal(n), lowest(x))"
    own = "x.contiguous()"  # its linear layers view what they are given
    call = f"{own}, attention_mask={fill}" if backend == "eager" else own
    return module(build, weights, call, pick="out[0]")


def xtransformers(flash: bool) -> Adapter:
    """``Attention`` with ``causal``. It has no biases: x gets one more column, of ones, and b_o is added after it."""
    from x_transformers.x_transformers import Attention

    def build(d_model: int, h: int, d_k: int, d_v: int) -> nn.Module:
        sizes = {"dim_head": d_k, "heads": h, "value_dim_head": d_v}
        made: nn.Module = Attention(d_model + 1, **sizes, causal=True, flash=flash, project_out=True)
        return made

    pairs = {"to_q": ("W_q", "b_q"), "to_k": ("W_k", "b_k"), "to_v": ("W_v", "b_v")}
    weights = {
        f"{name}.weight": f"rows(cat({W}, {b}.unsqueeze(-2), dim=-2))" for name, (W, b) in pairs.items()
    }
    weights["to_out.weight"] = "cat(W_o.T, W_o.T[:1] * 0)"
    call = "cat(x, x[..., :1] * 0 + 1, dim=-1)"
    return module(build, weights, call, pick="out[..., :-1] + b_o")

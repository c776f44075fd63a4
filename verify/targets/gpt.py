"""Causal multi-head self-attention of peers, with per-head weights and biases."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, causal, entries, module, rows
from verify.targets.multihead import pack_with_biases


def torch_causal(need_weights: bool) -> Adapter:
    """``nn.MultiheadAttention`` with ``is_causal`` and the mask that it asks for beside it."""

    def build(d_model: int, h: int) -> nn.Module:
        return nn.MultiheadAttention(d_model, h, batch_first=True)

    def call(attend: nn.Module, x: Tensor, n: int) -> Any:
        later = ~causal(n, device=x.device)
        return attend(x, x, x, attn_mask=later, is_causal=True, need_weights=need_weights)

    return module(build, pack_with_biases, call, train=True)


def gpt2(backend: str) -> Adapter:
    """``GPT2Attention``; eager attention adds finfo.min to the scores of what comes later, as the model around it does."""
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    def build(d_model: int, h: int) -> nn.Module:
        config = GPT2Config(n_embd=d_model, n_head=h)
        config._attn_implementation = backend
        made: Any = GPT2Attention
        return made(config)  # type: ignore[no-any-return]  # it is not annotated

    def weights(W_o: Tensor, b_o: Tensor, **w: Tensor) -> State:
        inward = rows(w["W_q"], w["W_k"], w["W_v"]).T, entries(w["b_q"], w["b_k"], w["b_v"])
        outward = {"c_proj.weight": W_o, "c_proj.bias": b_o}
        return {"c_attn.weight": inward[0], "c_attn.bias": inward[1], **outward}

    def call(attend: nn.Module, x: Tensor, n: int) -> Any:
        if backend != "eager":
            return attend(x)
        later = ~causal(n, device=x.device)
        return attend(x, attention_mask=x.new_zeros(n, n).masked_fill(later, torch.finfo(x.dtype).min))

    return module(build, weights, call)


def xtransformers(flash: bool) -> Adapter:
    """``Attention`` with ``causal``. It has no biases: x gets one more column, of ones, and b_o is added after it."""
    from x_transformers.x_transformers import Attention

    def build(d_model: int, h: int, d_k: int, d_v: int) -> nn.Module:
        sizes = {"dim_head": d_k, "heads": h, "value_dim_head": d_v}
        made: nn.Module = Attention(d_model + 1, **sizes, causal=True, flash=flash, project_out=True)
        return made

    def weights(W_o: Tensor, **w: Tensor) -> State:
        made = {"to_out.weight": torch.cat((W_o.T, torch.zeros_like(W_o.T[:1])))}
        for name in "qkv":
            made[f"to_{name}.weight"] = rows(torch.cat((w[f"W_{name}"], w[f"b_{name}"].unsqueeze(-2)), -2))
        return made

    def call(attend: nn.Module, x: Tensor, b_o: Tensor) -> Any:
        ones = torch.ones_like(x[..., :1])
        return attend(torch.cat((x, ones), -1))[..., :-1] + b_o

    return module(build, weights, call)

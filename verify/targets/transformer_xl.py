"""Transformer-XL of pytorch-transformers, with per-head weights: a layer, and the model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, causal, layers, module, rows


def _weights(**w: Tensor) -> State:
    """The parameters of a layer."""
    made = {
        "dec_attn.qkv_net.weight": rows(w["W_q"], w["W_k"], w["W_v"]),
        "dec_attn.r_net.weight": rows(w["W_r"]),
    }
    made |= {"dec_attn.o_net.weight": w["W_o"].T, "dec_attn.r_w_bias": w["u"], "dec_attn.r_r_bias": w["w"]}
    for place, letter in ((0, "1"), (3, "2")):
        made |= {
            f"pos_ff.CoreNet.{place}.weight": w[f"W_{letter}"].T,
            f"pos_ff.CoreNet.{place}.bias": w[f"b_{letter}"],
        }
    for part, letter in (("dec_attn", "1"), ("pos_ff", "2")):
        made |= {
            f"{part}.layer_norm.weight": w[f"gamma_{letter}"],
            f"{part}.layer_norm.bias": w[f"beta_{letter}"],
        }
    return made


def _with_eps(made: nn.Module, eps: float) -> nn.Module:
    """The module with this ε: its normalizations have one of their own, which cannot be chosen."""
    for part in made.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = eps
    return made


def layer() -> Adapter:
    """``RelPartialLearnableDecoderLayer``, given the causal mask as the model around it makes it; R has no batch there."""
    from pytorch_transformers.modeling_transfo_xl import RelPartialLearnableDecoderLayer

    def build(d_model: int, h: int, d_k: int, d_ff: int, eps: float) -> nn.Module:
        return _with_eps(RelPartialLearnableDecoderLayer(h, d_model, d_k, d_ff, 0.0), eps)

    def call(one: nn.Module, x: Tensor, memory: Tensor, R: Tensor, n: int, M: int) -> Any:
        later = ~causal(n, M + n, device=x.device).unsqueeze(-1)
        found = [
            one(x[b, :, None], R[b, :, None], dec_attn_mask=later, mems=memory[b, :, None])[0]
            for b in range(len(x))
        ]
        return torch.cat(found, 1).transpose(0, 1)

    return module(build, _weights, call, mask="none")


def model() -> Adapter:
    """``TransfoXLModel`` without adaptive embeddings, its distances neither clamped nor cut to one length."""
    from pytorch_transformers import TransfoXLConfig, TransfoXLModel

    def build(V: int, d_model: int, h: int, d_k: int, d_ff: int, L: int, M: int, eps: float) -> nn.Module:
        sizes = {
            "d_model": d_model,
            "d_embed": d_model,
            "n_head": h,
            "d_head": d_k,
            "d_inner": d_ff,
            "n_layer": L,
        }
        plain = {"cutoffs": [], "div_val": 1, "clamp_len": -1, "same_length": False, "dropout": 0.0}
        return _with_eps(TransfoXLModel(TransfoXLConfig(V, **sizes, **plain, mem_len=M)), eps)

    def weights(E: Tensor, **letters: Tensor) -> State:
        return {"word_emb.emb_layers.0.weight": E, **layers("layers.{}.", _weights, letters)}

    def call(xl: nn.Module, ids: Tensor, memory: Tensor) -> Any:
        y, kept = xl(ids, mems=[each.transpose(0, 1) for each in memory.unbind(-3)])
        return y, torch.stack([each.transpose(0, 1) for each in kept], -3)

    return module(build, weights, call, mask="none", pick=lambda found: found)

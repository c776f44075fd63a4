"""Decoder layers of transformers, with per-head weights; they are given the causal mask as the models around them make it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, causal, entries, module, rows
from verify.targets.multihead import MASKS

NORMS = ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm")


def layer_weights(**w: Tensor) -> State:
    """The weights of a layer."""
    made: dict[str, Tensor] = {}
    for attend, W, b in (("self_attn", "W", "b"), ("encoder_attn", "C", "c")):
        for letter in "qkv":
            name = f"{attend}.{letter}_proj"
            made |= {f"{name}.weight": rows(w[f"{W}_{letter}"]), f"{name}.bias": entries(w[f"{b}_{letter}"])}
        made |= {f"{attend}.out_proj.weight": w[f"{W}_o"].T, f"{attend}.out_proj.bias": w[f"{b}_o"]}
    for number in "12":
        made |= {f"fc{number}.weight": w[f"W_{number}"].T, f"fc{number}.bias": w[f"b_{number}"]}
    for name, number in zip(NORMS, "123", strict=True):
        made |= {f"{name}.weight": w[f"gamma_{number}"], f"{name}.bias": w[f"beta_{number}"]}
    return made


def layer(model: str, backend: str, key_bias: bool = True) -> Adapter:
    """``BartDecoderLayer``, or that of another ``model``; without ``key_bias`` its keys have none."""
    modeling = import_module(f"transformers.models.{model.lower()}.modeling_{model.lower()}")

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        sizes = {"d_model": d_model, "decoder_attention_heads": h, "decoder_ffn_dim": d_ff}
        config = getattr(modeling, f"{model}Config")(**sizes)
        config._attn_implementation = backend
        made: nn.Module = getattr(modeling, f"{model}DecoderLayer")(config, layer_idx=0)
        for name in NORMS:
            made.get_submodule(name).eps = eps  # type: ignore[assignment]  # a number, and no module
        return made

    def weights(**w: Tensor) -> State:
        made = layer_weights(**w)
        return {name: held for name, held in made.items() if key_bias or not name.endswith("k_proj.bias")}

    def call(decode: nn.Module, y: Tensor, x: Tensor, mask: Tensor | None, m: int) -> Any:
        seen = causal(m, device=y.device)[None, None]
        if backend == "eager":
            seen = y.new_zeros(seen.shape).masked_fill(~seen, torch.finfo(y.dtype).min)
        return decode(y, seen, x, mask)

    return module(build, weights, call, mask=MASKS[backend])

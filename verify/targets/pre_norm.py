"""Layers of transformers that are normalised before their sublayers, with per-head weights; GPT-2's is always given a mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, entries, module, rows
from verify.targets.bert import encoder_layer
from verify.targets.multihead import MASKS

NAMES: dict[str, tuple[str, str, tuple[str, str], tuple[str, str]]] = {
    "vit": (
        "attention.{}_proj",
        "attention.o_proj",
        ("mlp.fc1", "mlp.fc2"),
        ("layernorm_before", "layernorm_after"),
    ),
    "whisper": (
        "self_attn.{}_proj",
        "self_attn.out_proj",
        ("fc1", "fc2"),
        ("self_attn_layer_norm", "final_layer_norm"),
    ),
}
"""What layers call what makes queries, keys and values, the output, the network's two layers, and the normalizations."""


def _config(made: Any, backend: str, **sizes: Any) -> Any:
    config = made(**sizes)
    config._attn_implementation = backend
    return config


def joined(kind: str, w: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a layer of a kind, whose attention has both weights and biases."""
    heads, output, network, norms = NAMES[kind]
    made: dict[str, Tensor] = {}
    for letter in "qkv":
        name = heads.format(letter)
        made |= {f"{name}.weight": rows(w[f"W_{letter}"]), f"{name}.bias": entries(w[f"b_{letter}"])}
    for name, letter in zip((output, *network), ("o", "1", "2"), strict=True):
        made |= {f"{name}.weight": w[f"W_{letter}"].T, f"{name}.bias": w[f"b_{letter}"]}
    for name, letter in zip(norms, ("1", "2"), strict=True):
        made |= {f"{name}.weight": w[f"gamma_{letter}"], f"{name}.bias": w[f"beta_{letter}"]}
    return made


def vit(backend: str) -> Adapter:
    """``ViTLayer``."""
    from transformers import ViTConfig
    from transformers.models.vit.modeling_vit import ViTLayer

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        sizes = {"hidden_size": d_model, "num_attention_heads": h, "intermediate_size": d_ff}
        return ViTLayer(_config(ViTConfig, backend, layer_norm_eps=eps, **sizes))

    return module(
        build,
        lambda **w: joined("vit", w),
        lambda layer, x, mask: layer(x, mask),
        mask=MASKS[backend],
    )


def whisper(backend: str) -> Adapter:
    """``WhisperEncoderLayer``, whose keys have no bias."""
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoderLayer

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        sizes = {"d_model": d_model, "encoder_attention_heads": h, "encoder_ffn_dim": d_ff}
        layer = WhisperEncoderLayer(_config(WhisperConfig, backend, **sizes))
        layer.self_attn_layer_norm.eps = layer.final_layer_norm.eps = eps
        return layer

    def weights(**w: Tensor) -> State:
        made = joined("whisper", w)
        return {name: value for name, value in made.items() if name != "self_attn.k_proj.bias"}

    return module(build, weights, lambda layer, x, mask: layer(x, mask), mask=MASKS[backend])


def esm(backend: str) -> Adapter:
    """``EsmLayer``, without rotary positions."""
    from transformers import EsmConfig
    from transformers.models.esm.modeling_esm import EsmLayer

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        sizes = {"hidden_size": d_model, "num_attention_heads": h, "intermediate_size": d_ff}
        how: Any = {"layer_norm_eps": eps, "position_embedding_type": "absolute", "vocab_size": 33}
        made: Any = EsmLayer
        return made(_config(EsmConfig, backend, **how, **sizes))  # type: ignore[no-any-return]  # it is not annotated

    def weights(**w: Tensor) -> State:
        norms = {"attention.output.LayerNorm": "attention.LayerNorm", "output.LayerNorm": "LayerNorm"}
        made = dict(encoder_layer(**w))
        for bert, own in norms.items():
            made |= {f"{own}.{part}": made.pop(f"{bert}.{part}") for part in ("weight", "bias")}
        return made

    return module(build, weights, lambda layer, x, mask: layer(x, attention_mask=mask), mask=MASKS[backend])


def gpt_block(**w: Tensor) -> State:
    """The weights of a layer of GPT-1 or GPT-2."""
    inward = rows(w["W_q"], w["W_k"], w["W_v"]).T, entries(w["b_q"], w["b_k"], w["b_v"])
    made = {"attn.c_attn.weight": inward[0], "attn.c_attn.bias": inward[1]}
    for name, letter in (("attn.c_proj", "o"), ("mlp.c_fc", "1"), ("mlp.c_proj", "2")):
        made |= {f"{name}.weight": w[f"W_{letter}"], f"{name}.bias": w[f"b_{letter}"]}
    for name in "12":
        made |= {f"ln_{name}.weight": w[f"gamma_{name}"], f"ln_{name}.bias": w[f"beta_{name}"]}
    return made


def gpt2(backend: str) -> Adapter:
    """``GPT2Block``; without a mask its fused attention would be causal, so that all is shown by one."""
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Block

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        sizes = {"n_embd": d_model, "n_head": h, "n_inner": d_ff}
        made: Any = GPT2Block
        return made(_config(GPT2Config, backend, layer_norm_epsilon=eps, **sizes))  # type: ignore[no-any-return]  # it is not annotated

    def call(layer: nn.Module, x: Tensor, mask: Tensor | None, n: int) -> Any:
        shown = torch.ones(1, 1, n, n, dtype=torch.bool, device=x.device) if mask is None else mask
        return layer(x, attention_mask=shown)

    return module(build, gpt_block, call, mask=MASKS[backend])

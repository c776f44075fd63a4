"""Gated networks of transformers, their matrices put in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from verify.adapt import Adapter, State, module


def _make(kind: Callable[..., nn.Module], config: Any) -> nn.Module:
    return kind(config)


def _weights(W_g: Tensor, W_u: Tensor, W_d: Tensor) -> State:
    return {"gate_proj.weight": W_g.T, "up_proj.weight": W_u.T, "down_proj.weight": W_d.T}


def llama(hidden_act: str = "silu") -> Adapter:
    """``LlamaMLP``."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP

    def build(d: int, f: int) -> nn.Module:
        config = LlamaConfig(
            hidden_size=d, intermediate_size=f, num_attention_heads=1, head_dim=2, hidden_act=hidden_act
        )
        return _make(LlamaMLP, config)

    return module(build, _weights, batch=None)


def gemma() -> Adapter:
    """``GemmaMLP``, whose gate is GELU by tanh."""
    from transformers import GemmaConfig
    from transformers.models.gemma.modeling_gemma import GemmaMLP

    def build(d: int, f: int) -> nn.Module:
        config = GemmaConfig(
            hidden_size=d, intermediate_size=f, num_attention_heads=1, hidden_act="gelu_pytorch_tanh"
        )
        return _make(GemmaMLP, config)

    return module(build, _weights, batch=None)


def t5() -> Adapter:
    """``T5DenseGatedActDense`` of T5 1.1: GELU by tanh."""
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5DenseGatedActDense

    def build(d: int, f: int) -> nn.Module:
        return _make(T5DenseGatedActDense, T5Config(d_model=d, d_ff=f, feed_forward_proj="gated-gelu"))

    def weights(W_g: Tensor, W_u: Tensor, W_d: Tensor) -> State:
        return {"wi_0.weight": W_g.T, "wi_1.weight": W_u.T, "wo.weight": W_d.T}

    return module(build, weights, batch=None)

"""Rotary position embeddings of transformers."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, function, module


def transformers_turned(model: str, given: bool = True) -> Adapter:
    """The ``apply_rotary_pos_emb`` of Llama, GPT-NeoX or GPT-J, with the sines and cosines of angles that are ``given``, or else
    are positions times frequencies.
    """
    apply: Callable[..., Any] = import_module(
        f"transformers.models.{model}.modeling_{model}"
    ).apply_rotary_pos_emb

    def by_angles(turn: Callable[..., Any], x: Tensor, phi: Tensor) -> Any:
        if model == "gptj":
            return turn(x.unsqueeze(2), phi.sin(), phi.cos()).squeeze(2)
        one_head, phi = x.unsqueeze(1), phi.repeat(1, 1, 2)
        return turn(one_head, one_head, phi.cos(), phi.sin())[0].squeeze(1)

    def by_positions(turn: Callable[..., Any], x: Tensor, pos: Tensor, theta: Tensor) -> Any:
        return by_angles(turn, x, (pos.unsqueeze(-1) * theta).to(x.dtype))

    return function(apply, by_angles if given else by_positions, batch=1)


def transformers_partial() -> Adapter:
    """The queries of GPT-J's attention as it compares them, turned in a part of their width by tables of our angles."""
    modeling: Any = import_module("transformers.models.gptj.modeling_gptj")

    def build(h: int, r: int) -> nn.Module:
        config = modeling.GPTJConfig(n_embd=2 * h + r, n_head=1, rotary_dim=2 * h)
        made = modeling.GPTJAttention(config, layer_idx=0)
        made.q_proj = made.k_proj = made.v_proj = made.out_proj = nn.Identity()
        made._attn = lambda query, *others: (query, None)
        return cast("nn.Module", made)

    def call(attend: Any, x: Tensor, pos: Tensor, theta: Tensor) -> Any:
        phi = (pos.unsqueeze(-1) * theta).to(x.dtype)
        attend.embed_positions = torch.cat((phi.sin(), phi.cos()), -1)
        return attend(x.unsqueeze(0), position_ids=torch.arange(len(x), device=x.device)[None])[0].squeeze(0)

    return module(build, dict, call, batch=0)


def transformers_module(model: str, kind: str) -> Adapter:
    """The module that makes a model's sines and cosines, with our frequencies in its buffer, and what turns by them."""
    modeling = import_module(f"transformers.models.{model}.modeling_{model}")
    config = getattr(import_module(f"transformers.models.{model}.configuration_{model}"), f"{kind}Config")

    def build(h: int) -> nn.Module:
        made: nn.Module = getattr(modeling, f"{kind}RotaryEmbedding")(
            config(
                hidden_size=2 * h,
                num_attention_heads=1,
                rope_parameters={"rope_type": "default", "rope_theta": 1e4},
            )
        )
        return made

    def call(tables: nn.Module, x: Tensor, pos: Tensor, theta: Tensor) -> Any:
        tables.inv_freq = theta
        cos, sin = tables(x, pos)
        return modeling.apply_rotary_pos_emb(x.unsqueeze(1), x.unsqueeze(1), cos, sin)[0].squeeze(1)

    return module(build, dict, call, grad=False)


def transformers_frequencies(kind: str, **more: object) -> Callable[..., Any]:
    """What makes the frequencies of transformers in longer texts, and by parts what multiplies sines and cosines."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    def made(h: int, base: float, s: float, **numbers: float) -> tuple[Tensor, Tensor]:
        scaled = {"rope_type": kind, "rope_theta": base, "factor": s, **numbers, **more}
        config = LlamaConfig(hidden_size=2 * h, num_attention_heads=1, rope_parameters=scaled)
        twice = 2 * config.max_position_embeddings
        theta, m = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=twice)
        return theta, torch.tensor(m)

    def whole(h: int, base: float, s: float) -> Tensor:
        return made(h, base, s - 1 if kind == "dynamic" else s)[0]

    def by_parts(
        h: int,
        base: float,
        s: float,
        L: float,
        alpha: float,
        beta: float,
    ) -> tuple[Tensor, Tensor]:
        slow, fast = ("beta_slow", "beta_fast") if kind == "yarn" else ("low_freq_factor", "high_freq_factor")
        return made(h, base, s, **{"original_max_position_embeddings": L, slow: alpha, fast: beta})

    return whole if kind in ("linear", "dynamic") else by_parts

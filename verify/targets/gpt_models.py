"""GPT-1 and GPT-2 of transformers, and PyTorch's encoder as a GPT, with per-head weights. Masks say which tokens are words."""

from __future__ import annotations

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify.adapt import Adapter, State, causal, entries, layers, module, rows
from verify.targets.layers import biased_layer
from verify.targets.multihead import MASKS
from verify.targets.pre_norm import gpt_block


def _config(first: bool, **sizes: Any) -> Any:
    from transformers import GPT2Config, OpenAIGPTConfig

    backend = sizes.pop("backend", "eager")
    config = (OpenAIGPTConfig if first else GPT2Config)(**sizes)
    config._attn_implementation = backend
    return config


def gpt2_layer(backend: str) -> Adapter:
    """``GPT2Block``, given the causal mask as the model around it makes it."""
    from transformers.models.gpt2.modeling_gpt2 import GPT2Block

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        sizes = {"n_embd": d_model, "n_head": h, "n_inner": d_ff}
        made: Any = GPT2Block
        return made(_config(False, backend=backend, layer_norm_epsilon=eps, **sizes))  # type: ignore[no-any-return]  # it is not annotated

    def call(layer: nn.Module, x: Tensor, mask: Tensor | None, n: int) -> Any:
        seen = (
            causal(n, device=x.device) if mask is None else causal(n, device=x.device) & mask[:, None, None]
        )
        if backend == "eager":
            hidden: Any = x.new_zeros(seen.shape).masked_fill(~seen, torch.finfo(x.dtype).min)
            return layer(x, attention_mask=hidden)
        return layer(x, attention_mask=None if mask is None else seen)

    return module(build, gpt_block, call, mask="bool")


def gpt1_layer() -> Adapter:
    """``Block`` of GPT-1."""
    from transformers.models.openai.modeling_openai import Block

    def build(n: int, d_model: int, h: int, eps: float) -> nn.Module:
        made: Any = Block
        return made(n, _config(True, n_embd=d_model, n_head=h, layer_norm_epsilon=eps), scale=True)  # type: ignore[no-any-return]  # it is not annotated

    return module(build, gpt_block, lambda layer, x: layer(x)[0], mask="none")


def gpt2_model(backend: str) -> Adapter:
    """``GPT2LMHeadModel``, always given a mask."""
    from transformers import GPT2LMHeadModel

    def build(V: int, N: int, d_model: int, h: int, d_ff: int, L: int, eps: float) -> nn.Module:
        tables = {"vocab_size": V, "n_positions": N, "bos_token_id": None, "eos_token_id": None}
        sizes = {"n_embd": d_model, "n_head": h, "n_inner": d_ff, "n_layer": L}
        made: Any = GPT2LMHeadModel
        return made(_config(False, backend=backend, layer_norm_epsilon=eps, **tables, **sizes))  # type: ignore[no-any-return]  # it is not annotated

    def weights(E: Tensor, P: Tensor, gamma_f: Tensor, beta_f: Tensor, **letters: Tensor) -> State:
        beside = {"wte.weight": E, "wpe.weight": P, "ln_f.weight": gamma_f, "ln_f.bias": beta_f}
        stack = layers("transformer.h.{}.", gpt_block, letters)
        return {**{f"transformer.{name}": value for name, value in beside.items()}, **stack}

    def call(gpt: nn.Module, ids: Tensor, pos: Tensor, mask: Tensor | None) -> Any:
        return gpt(input_ids=ids, position_ids=pos, attention_mask=mask, use_cache=False).logits

    return module(build, weights, call, mask="bool always")


def gpt1_model() -> Adapter:
    """``OpenAIGPTLMHeadModel``."""
    from transformers import OpenAIGPTLMHeadModel

    def build(V: int, N: int, d_model: int, h: int, L: int, eps: float) -> nn.Module:
        sizes = {"vocab_size": V, "n_positions": N, "n_embd": d_model, "n_head": h, "n_layer": L}
        made: Any = OpenAIGPTLMHeadModel
        return made(_config(True, layer_norm_epsilon=eps, **sizes))  # type: ignore[no-any-return]  # it is not annotated

    def weights(E: Tensor, P: Tensor, gamma_f: Tensor, beta_f: Tensor, **letters: Tensor) -> State:
        beside = {"transformer.tokens_embed.weight": E, "transformer.positions_embed.weight": P}
        return {**beside, **layers("transformer.h.{}.", gpt_block, letters)}

    def call(gpt: nn.Module, ids: Tensor, pos: Tensor) -> Any:
        return gpt(input_ids=ids, position_ids=pos).logits

    return module(build, weights, call, mask="none")


def ours(norm: Literal["pre", "post"]) -> Adapter:
    """``impl.gpt.GPT`` without padding."""
    from impl.gpt import GPT, GPTConfig

    def build(V: int, N: int, d_model: int, h: int, d_ff: int, L: int, eps: float) -> nn.Module:
        return GPT(GPTConfig(V, d_model, L, h, d_ff, N, norm, eps=eps))

    def layer(**w: Tensor) -> State:
        made = {"attention.qkv.weight": rows(w["W_q"], w["W_k"], w["W_v"])}
        made |= {"attention.qkv.bias": entries(w["b_q"], w["b_k"], w["b_v"])}
        parts = ("attention.out", "o"), ("feed_forward.expand", "1"), ("feed_forward.contract", "2")
        for name, letter in parts:
            made |= {f"{name}.weight": w[f"W_{letter}"].T, f"{name}.bias": w[f"b_{letter}"]}
        for name, letter in (("attention", "1"), ("feed_forward", "2")):
            norm = f"residual_{name}.norm"
            made |= {f"{norm}.weight": w[f"gamma_{letter}"], f"{norm}.bias": w[f"beta_{letter}"]}
        return made

    def weights(gamma_f: Tensor, beta_f: Tensor, E: Tensor, P: Tensor, **letters: Tensor) -> State:
        last = {"norm.weight": gamma_f, "norm.bias": beta_f} if norm == "pre" else {}
        return {"E": E, "P": P, **layers("layers.{}.", layer, letters), **last}

    return module(build, weights, lambda gpt, ids, pos: gpt(ids, None, pos), mask="none")


def cross(by: str) -> Adapter:
    """``GPT2Attention`` of one sequence to another, its mask passed as the argument ``by``."""
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    def build(d_model: int, h: int) -> nn.Module:
        made: Any = GPT2Attention
        return made(_config(False, backend="sdpa", n_embd=d_model, n_head=h), is_cross_attention=True)  # type: ignore[no-any-return]  # it is not annotated

    def weights(W_o: Tensor, b_o: Tensor, **w: Tensor) -> State:
        made = {"q_attn.weight": rows(w["W_q"]).T, "q_attn.bias": entries(w["b_q"])}
        made |= {"c_attn.weight": rows(w["W_k"], w["W_v"]).T, "c_attn.bias": entries(w["b_k"], w["b_v"])}
        return made | {"c_proj.weight": W_o, "c_proj.bias": b_o}

    def call(attend: nn.Module, x: Tensor, y: Tensor, mask: Tensor | None) -> Any:
        return attend(x, encoder_hidden_states=y, **{by: mask})

    return module(build, weights, call, mask=MASKS["sdpa"])


def torch_encoder(stacked: bool, norm_first: bool = True) -> Adapter:
    """``nn.TransformerEncoderLayer``, or an ``nn.TransformerEncoder`` of such with tables and logits of ours around it, under a
    causal mask and one of padding.
    """

    def layer(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        how: Any = {"layer_norm_eps": eps, "batch_first": True, "norm_first": norm_first}
        return nn.TransformerEncoderLayer(d_model, h, d_ff, 0.0, activation=nn.GELU("tanh"), **how)

    def stack(d_model: int, h: int, d_ff: int, eps: float, L: int) -> nn.Module:
        last = nn.LayerNorm(d_model, eps) if norm_first else None
        return nn.TransformerEncoder(layer(d_model, h, d_ff, eps), L, last, enable_nested_tensor=False)  # type: ignore[arg-type]

    def masks(x: Tensor, mask: Tensor | None) -> dict[str, Any]:
        return {"src_key_padding_mask": None if mask is None else ~mask, "is_causal": True}

    def one(encode: nn.Module, x: Tensor, mask: Tensor | None, n: int) -> Any:
        return encode(x, src_mask=~causal(n, device=x.device), **masks(x, mask))

    def all_(
        encode: nn.Module, ids: Tensor, pos: Tensor, E: Tensor, P: Tensor, mask: Tensor | None, n: int
    ) -> Any:
        x = F.embedding(ids, E) + F.embedding(pos, P)
        y: Tensor = encode(x, mask=~causal(n, device=x.device), **masks(x, mask))
        return y @ E.mT

    def weights(E: Tensor, P: Tensor, gamma_f: Tensor, beta_f: Tensor, **letters: Tensor) -> State:
        last = {"norm.weight": gamma_f, "norm.bias": beta_f} if norm_first else {}
        return {**layers("layers.{}.", biased_layer, letters), **last}

    how: Any = {"mask": "bool", "train": True}
    return module(stack, weights, all_, **how) if stacked else module(layer, biased_layer, one, **how)

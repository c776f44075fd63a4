"""Llama of transformers, with per-head weights. Masks say which tokens are words; the cosines and sines are made from theta."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from verify.adapt import Adapter, State, causal, layers, module, rows


def _config(backend: str, **sizes: Any) -> Any:
    from transformers import LlamaConfig

    config = LlamaConfig(**sizes)
    config._attn_implementation = backend
    return config


def _heads(g: int, r: int, p: int) -> dict[str, int]:
    return {"num_attention_heads": g * r, "num_key_value_heads": g, "head_dim": 2 * p}


def _attention(W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor) -> State:
    made = {f"{name}_proj.weight": rows(W) for name, W in (("q", W_q), ("k", W_k), ("v", W_v))}
    return {**made, "o_proj.weight": W_o.flatten(0, 1).T}


def _layer(
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    gamma_1: Tensor,
    W_g: Tensor,
    W_u: Tensor,
    W_d: Tensor,
    gamma_2: Tensor,
) -> State:
    made = {f"self_attn.{name}": value for name, value in _attention(W_q, W_k, W_v, W_o).items()}
    network = {"mlp.gate_proj.weight": W_g.T, "mlp.up_proj.weight": W_u.T, "mlp.down_proj.weight": W_d.T}
    return {**made, **network, "input_layernorm.weight": gamma_1, "post_attention_layernorm.weight": gamma_2}


def _turns(x: Tensor, pos: Tensor, theta: Tensor) -> tuple[Tensor, Tensor]:
    """The cosines and sines that a layer is given, as the model makes them, in float64."""
    angles = pos.unsqueeze(-1) * theta.detach().double()
    both = torch.cat((angles, angles), -1)
    return both.cos().to(x.dtype), both.sin().to(x.dtype)


def _seen(x: Tensor, mask: Tensor | None, n: int, backend: str) -> Tensor:
    """Which tokens each token sees, as a mask of the backend."""
    seen = causal(n, device=x.device)[None, None]
    if mask is not None:
        seen = seen & mask[:, None, None]
    seen = seen.expand(len(x), 1, n, n)
    if backend == "eager":
        return torch.zeros(seen.shape, dtype=x.dtype, device=x.device).masked_fill(
            ~seen, torch.finfo(x.dtype).min
        )
    return seen


def attention(backend: str) -> Adapter:
    """``LlamaAttention``."""
    from transformers.models.llama.modeling_llama import LlamaAttention

    def build(d_model: int, g: int, r: int, p: int) -> nn.Module:
        made: Any = LlamaAttention
        return made(_config(backend, hidden_size=d_model, **_heads(g, r, p)), 0)  # type: ignore[no-any-return]

    def call(attend: nn.Module, x: Tensor, pos: Tensor, theta: Tensor, mask: Tensor | None, n: int) -> Any:
        return attend(x, _turns(x, pos, theta), _seen(x, mask, n, backend))[0]

    return module(build, _attention, call, mask="bool")


def layer(backend: str) -> Adapter:
    """``LlamaDecoderLayer``."""
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    def build(d_model: int, g: int, r: int, p: int, d_ff: int, eps: float) -> nn.Module:
        made: Any = LlamaDecoderLayer
        sizes = {"hidden_size": d_model, "intermediate_size": d_ff, "rms_norm_eps": eps}
        return made(_config(backend, **sizes, **_heads(g, r, p)), 0)  # type: ignore[no-any-return]

    def call(block: nn.Module, x: Tensor, pos: Tensor, theta: Tensor, mask: Tensor | None, n: int) -> Any:
        seen = _seen(x, mask, n, backend)
        return block(x, attention_mask=seen, position_embeddings=_turns(x, pos, theta))

    return module(build, _layer, call, mask="bool")


class _Turning(nn.Module):
    """``LlamaRotaryEmbedding``, its angles in float64."""

    theta: Tensor | None = None

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """The cosines and sines of positions."""
        assert self.theta is not None
        return _turns(x, position_ids, self.theta)


def model(backend: str) -> Adapter:
    """``LlamaForCausalLM``, always given a mask."""
    from transformers import LlamaForCausalLM

    def build(V: int, d_model: int, g: int, r: int, p: int, d_ff: int, L: int, eps: float) -> nn.Module:
        made: Any = LlamaForCausalLM
        sizes = {"vocab_size": V, "hidden_size": d_model, "intermediate_size": d_ff, "num_hidden_layers": L}
        none: dict[str, Any] = {"bos_token_id": None, "eos_token_id": None, "rms_norm_eps": eps}
        llama: nn.Module = made(_config(backend, **sizes, **none, **_heads(g, r, p)))
        llama.model.rotary_emb = _Turning()  # type: ignore[union-attr]
        return llama

    def weights(theta: Tensor, E: Tensor, gamma_f: Tensor, U: Tensor, **letters: Tensor) -> State:
        beside = {"model.embed_tokens.weight": E, "model.norm.weight": gamma_f, "lm_head.weight": U}
        return {**beside, **layers("model.layers.{}.", _layer, letters)}

    def call(llama: Any, ids: Tensor, pos: Tensor, theta: Tensor, mask: Tensor | None) -> Any:
        llama.model.rotary_emb.theta = theta
        return llama(input_ids=ids, position_ids=pos, attention_mask=mask, use_cache=False).logits

    return module(build, weights, call, mask="bool always")

"""BERT of Hugging Face transformers: its embedding, a layer, the stack, the pooler and the model, with per-head weights."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from verify.adapt import Adapter, State, entries, layers, module, rows
from verify.targets.multihead import MASKS


def embedding(E: Tensor, S: Tensor, P: Tensor, gamma: Tensor, beta: Tensor) -> State:
    """The weights of its embedding."""
    tables = {"word_embeddings.weight": E, "token_type_embeddings.weight": S, "position_embeddings.weight": P}
    return {**tables, "LayerNorm.weight": gamma, "LayerNorm.bias": beta}


def embeddings() -> Adapter:
    """``BertEmbeddings``, without an id of padding, whose row would get no gradient."""
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertEmbeddings

    def build(V: int, K: int, N: int, d: int, eps: float) -> nn.Module:
        sizes: Any = {"vocab_size": V, "type_vocab_size": K, "max_position_embeddings": N, "hidden_size": d}
        made: Any = BertEmbeddings
        return made(BertConfig(**sizes, layer_norm_eps=eps, pad_token_id=None))  # type: ignore[no-any-return]  # not annotated

    return module(build, embedding)


def encoder_layer(**w: Tensor) -> State:
    """The weights of a layer."""
    made: dict[str, Tensor] = {}
    for name in ("query", "key", "value"):
        made[f"attention.self.{name}.weight"] = rows(w[f"W_{name[0]}"])
        made[f"attention.self.{name}.bias"] = entries(w[f"b_{name[0]}"])
    for name, letter in (("attention.output", "o"), ("intermediate", "1"), ("output", "2")):
        made |= {f"{name}.dense.weight": w[f"W_{letter}"].T, f"{name}.dense.bias": w[f"b_{letter}"]}
    for name, letter in (("attention.output", "1"), ("output", "2")):
        norm = f"{name}.LayerNorm"
        made |= {f"{norm}.weight": w[f"gamma_{letter}"], f"{norm}.bias": w[f"beta_{letter}"]}
    return made


def _config(backend: str, act: str, **sizes: Any) -> Any:
    from transformers import BertConfig

    config = BertConfig(hidden_act=act, pad_token_id=None, **sizes)
    config._attn_implementation = backend
    return config


def layer(backend: str, act: str = "gelu") -> Adapter:
    """``BertLayer``."""
    from transformers.models.bert.modeling_bert import BertLayer

    def build(d_model: int, h: int, d_ff: int, eps: float) -> nn.Module:
        sizes = {"hidden_size": d_model, "num_attention_heads": h, "intermediate_size": d_ff}
        made: Any = BertLayer
        return made(_config(backend, act, layer_norm_eps=eps, **sizes))  # type: ignore[no-any-return]  # not annotated

    return module(
        build, encoder_layer, lambda layer, x, mask: layer(x, attention_mask=mask), mask=MASKS[backend]
    )


def model(backend: str) -> Adapter:
    """``BertModel`` without its pooler, given which tokens are words."""
    from transformers import BertModel

    def build(V: int, K: int, N: int, d_model: int, h: int, d_ff: int, L: int, eps: float) -> nn.Module:
        tables = {"vocab_size": V, "type_vocab_size": K, "max_position_embeddings": N}
        sizes = {"hidden_size": d_model, "num_attention_heads": h, "intermediate_size": d_ff}
        config = _config(backend, "gelu", layer_norm_eps=eps, num_hidden_layers=L, **tables, **sizes)
        made: Any = BertModel
        return made(config, add_pooling_layer=False)  # type: ignore[no-any-return]  # it is not annotated

    def weights(E: Tensor, S: Tensor, P: Tensor, gamma_0: Tensor, beta_0: Tensor, **letters: Tensor) -> State:
        below = embedding(E, S, P, gamma_0, beta_0)
        stack = layers("encoder.layer.{}.", encoder_layer, letters)
        return {**{f"embeddings.{name}": value for name, value in below.items()}, **stack}

    def call(bert: nn.Module, ids: Tensor, seg: Tensor, pos: Tensor, mask: Tensor | None) -> Any:
        found = bert(input_ids=ids, token_type_ids=seg, position_ids=pos, attention_mask=mask)
        return found.last_hidden_state

    return module(build, weights, call, mask="bool")


def pooler() -> Adapter:
    """``BertPooler``."""
    from transformers.models.bert.modeling_bert import BertPooler

    def build(d_model: int) -> nn.Module:
        made: Any = BertPooler
        return made(_config("eager", "gelu", hidden_size=d_model))  # type: ignore[no-any-return]  # it is not annotated

    return module(build, lambda W, b: {"dense.weight": W.T, "dense.bias": b})

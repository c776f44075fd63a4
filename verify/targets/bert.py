"""BERT of Hugging Face transformers: its embedding, a layer, the stack, the pooler and the model, with per-head weights."""

from __future__ import annotations

import os
import re
from typing import Any

from torch import nn

from verify.adapt import Adapter, module
from verify.targets.multihead import MASKS

# The adapters need no model of a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

EMBEDDING = {
    "word_embeddings.weight": "E",
    "token_type_embeddings.weight": "S",
    "position_embeddings.weight": "P",
    "LayerNorm.weight": "gamma",
    "LayerNorm.bias": "beta",
}


def embeddings() -> Adapter:
    """``BertEmbeddings``, without an id of padding, whose row would get no gradient."""
    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertEmbeddings

    def build(V: int, K: int, N: int, d: int, eps: float) -> nn.Module:
        sizes: Any = {"vocab_size": V, "type_vocab_size": K, "max_position_embeddings": N, "hidden_size": d}
        made: Any = BertEmbeddings
        return made(BertConfig(**sizes, layer_norm_eps=eps, pad_token_id=None))  # type: ignore[no-any-return]  # not annotated

    return module(build, EMBEDDING, "ids, seg, pos")


ATTENTION = {
    "attention.self.query.weight": "rows(W_q)",
    "attention.self.query.bias": "b_q.flatten()",
    "attention.self.key.weight": "rows(W_k)",
    "attention.self.key.bias": "b_k.flatten()",
    "attention.self.value.weight": "rows(W_v)",
    "attention.self.value.bias": "b_v.flatten()",
    "attention.output.dense.weight": "W_o.T",
    "attention.output.dense.bias": "b_o",
    "attention.output.LayerNorm.weight": "gamma_1",
    "attention.output.LayerNorm.bias": "beta_1",
}
NETWORK = {
    "intermediate.dense.weight": "W_1.T",
    "intermediate.dense.bias": "b_1",
    "output.dense.weight": "W_2.T",
    "output.dense.bias": "b_2",
    "output.LayerNorm.weight": "gamma_2",
    "output.LayerNorm.bias": "beta_2",
}
LAYER = {**ATTENTION, **NETWORK}
"""The weights of a layer."""


def _stacked(prefix: str) -> dict[str, str]:
    """Those of a stack: each letter has an axis of layers."""
    return {f"{prefix}{{l}}.{name}": re.sub(r"\b(\w+_\w)\b", r"\1[l]", what) for name, what in LAYER.items()}


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

    return module(build, LAYER, "x, attention_mask=mask", mask=MASKS[backend])


def model(backend: str) -> Adapter:
    """``BertModel`` without its pooler, given which tokens are words."""
    from transformers import BertModel

    def build(V: int, K: int, N: int, d_model: int, h: int, d_ff: int, L: int, eps: float) -> nn.Module:
        tables = {"vocab_size": V, "type_vocab_size": K, "max_position_embeddings": N}
        sizes = {"hidden_size": d_model, "num_attention_heads": h, "intermediate_size": d_ff}
        config = _config(backend, "gelu", layer_norm_eps=eps, num_hidden_layers=L, **tables, **sizes)
        made: Any = BertModel
        return made(config, add_pooling_layer=False)  # type: ignore[no-any-return]  # it is not annotated

    below = {
        f"embeddings.{name}": re.sub(r"^(gamma|beta)$", r"\1_0", what) for name, what in EMBEDDING.items()
    }
    call = "input_ids=ids, token_type_ids=seg, position_ids=pos, attention_mask=mask"
    pick = "out.last_hidden_state"
    return module(build, {**below, **_stacked("encoder.layer.")}, call, mask="bool", pick=pick)


def pooler() -> Adapter:
    """``BertPooler``."""
    from transformers.models.bert.modeling_bert import BertPooler

    def build(d_model: int) -> nn.Module:
        made: Any = BertPooler
        return made(_config("eager", "gelu", hidden_size=d_model))  # type: ignore[no-any-return]  # it is not annotated

    return module(build, {"dense.weight": "W.T", "dense.bias": "b"}, "x")

"""BERT of Hugging Face transformers: its embedding, a layer, the stack, the pooler and the model, with per-head weights."""

from __future__ import annotations

import os
from typing import Any

from torch import nn

from verify.adapt import Adapter, module

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
        sizes = {"vocab_size": V, "type_vocab_size": K, "max_position_embeddings": N, "hidden_size": d}
        made: Any = BertEmbeddings
        return made(BertConfig(**sizes, layer_norm_eps=eps, pad_token_id=None))  # type: ignore[no-any-return]  # not annotated

    return module(build, EMBEDDING, "ids, seg, pos")

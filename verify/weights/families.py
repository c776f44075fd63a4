"""The kinds of models that a checkpoint may hold: what states each, and which of its tensors are which letters.

The names are Hugging Face's; how a tensor of theirs becomes one of the statement's is said once for each. ``impl`` has
its own way to read checkpoints: their agreement is to mean something.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from verify.properties.judge import Reals
from verify.weights.checkpoint import Checkpoint, Family, Shaping, Step


def _heads(weight: Reals, h: int) -> Reals:
    """From (h·d_k d_model), for products from the left, to a matrix for each head (h d_model d_k)."""
    return weight.reshape(h, -1, weight.shape[-1]).transpose(0, 2, 1)


def _head_bias(bias: Reals, h: int) -> Reals:
    return bias.reshape(h, -1)


def _transpose(weight: Reals, h: int) -> Reals:
    return weight.T


def _same(value: Reals, h: int) -> Reals:
    return value


def _third(place: int, shaped: Shaping, packed: Reals, h: int) -> Reals:
    """Of what queries, keys and values have side by side in the last axis, the part of one."""
    return shaped(np.split(packed, 3, axis=-1)[place].T, h)


def _bert_step(checkpoint: Checkpoint, read: dict[str, Any], seen: Reals, layer: int) -> Step:
    eps = {"eps": checkpoint.eps}
    if layer == 0:
        return Step("embedding.bert", {**read, **checkpoint.embedding, **eps})
    return Step("bert.layer", {"x": seen[layer - 1], **checkpoint.layer(layer - 1), **eps})


def _bert_whole(checkpoint: Checkpoint, read: dict[str, Any]) -> dict[str, Any]:
    # The encoder's layers have normalizations 1 and 2; that of its embedding is 0.
    embedding = {
        f"{name}_0" if name in ("gamma", "beta") else name: value
        for name, value in checkpoint.embedding.items()
    }
    return {**read, **embedding, **checkpoint.layers, "eps": checkpoint.eps}


def _gpt_step(checkpoint: Checkpoint, read: dict[str, Any], seen: Reals, layer: int) -> Step:
    """The embedding and the last layer, behind which is a normalization, are a model of one layer, which reads a table of what
    the layer was given.
    """
    if 0 < layer < checkpoint.depth:
        return Step("gpt.layer", {"x": seen[layer - 1], **checkpoint.layer(layer - 1), "eps": checkpoint.eps})
    number = max(0, layer - 1)
    whole = _gpt_whole(checkpoint, read)
    whole |= {name: value[number : number + 1] for name, value in checkpoint.layers.items()}
    if layer == 0:
        return Step("gpt.model", whole, ("H",), 0)
    x = seen[layer - 1]
    places = {"ids": np.arange(len(x)), "E": x, "pos": np.zeros(len(x), dtype=int), "P": np.zeros_like(x[:1])}
    return Step("gpt.model", {**whole, **places}, ("y",))


def _gpt_whole(checkpoint: Checkpoint, read: dict[str, Any]) -> dict[str, Any]:
    return {**read, **checkpoint.embedding, **checkpoint.layers, "eps": checkpoint.eps}


BERT = Family(
    kind="bert",
    stated_by="bert.encoder",
    prefix="bert.",
    tables={
        "E": "embeddings.word_embeddings.weight",
        "S": "embeddings.token_type_embeddings.weight",
        "P": "embeddings.position_embeddings.weight",
        "gamma": "embeddings.LayerNorm.weight",
        "beta": "embeddings.LayerNorm.bias",
    },
    rows={"E": "vocab_size", "S": "type_vocab_size", "P": "max_position_embeddings"},
    within="encoder.layer",
    layer={
        "W_q": ("attention.self.query.weight", _heads),
        "b_q": ("attention.self.query.bias", _head_bias),
        "W_k": ("attention.self.key.weight", _heads),
        "b_k": ("attention.self.key.bias", _head_bias),
        "W_v": ("attention.self.value.weight", _heads),
        "b_v": ("attention.self.value.bias", _head_bias),
        "W_o": ("attention.output.dense.weight", _transpose),
        "b_o": ("attention.output.dense.bias", _same),
        "gamma_1": ("attention.output.LayerNorm.weight", _same),
        "beta_1": ("attention.output.LayerNorm.bias", _same),
        "W_1": ("intermediate.dense.weight", _transpose),
        "b_1": ("intermediate.dense.bias", _same),
        "W_2": ("output.dense.weight", _transpose),
        "b_2": ("output.dense.bias", _same),
        "gamma_2": ("output.LayerNorm.weight", _same),
        "beta_2": ("output.LayerNorm.bias", _same),
    },
    sizes=("num_attention_heads", "num_hidden_layers", "hidden_size", "intermediate_size"),
    eps=("layer_norm_eps", 1e-12),
    activation=("hidden_act", "gelu"),
    stated={"is_decoder": False, "add_cross_attention": False, "position_embedding_type": "absolute"},
    conventions={},
    step=_bert_step,
    whole=_bert_whole,
    layers=("H",),
    reads=("ids", "seg", "pos"),
)
GPT = Family(
    kind="gpt2",
    stated_by="gpt.model",
    prefix="transformer.",
    tables={"E": "wte.weight", "P": "wpe.weight", "gamma_f": "ln_f.weight", "beta_f": "ln_f.bias"},
    rows={"E": "vocab_size", "P": "n_positions"},
    within="h",
    layer={
        **{f"W_{part}": ("attn.c_attn.weight", partial(_third, k, _heads)) for k, part in enumerate("qkv")},
        **{f"b_{part}": ("attn.c_attn.bias", partial(_third, k, _head_bias)) for k, part in enumerate("qkv")},
        "W_o": ("attn.c_proj.weight", _same),
        "b_o": ("attn.c_proj.bias", _same),
        "gamma_1": ("ln_1.weight", _same),
        "beta_1": ("ln_1.bias", _same),
        "W_1": ("mlp.c_fc.weight", _same),
        "b_1": ("mlp.c_fc.bias", _same),
        "W_2": ("mlp.c_proj.weight", _same),
        "b_2": ("mlp.c_proj.bias", _same),
        "gamma_2": ("ln_2.weight", _same),
        "beta_2": ("ln_2.bias", _same),
    },
    sizes=("n_head", "n_layer", "n_embd", "n_inner"),
    eps=("layer_norm_epsilon", 1e-5),
    activation=("activation_function", "gelu_new"),
    stated={
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
    conventions={"norm": "pre"},
    step=_gpt_step,
    whole=_gpt_whole,
    layers=("H", "y"),
    reads=("ids", "pos"),
)
FAMILIES = {family.kind: family for family in (BERT, GPT)}
"""By the model type of a configuration."""

"""Parameters of a ``BertEncoder`` as arguments of the functions that the statements name."""

from typing import Any

import torch
from torch import Tensor

from impl.bert.functions import LayerWeights
from impl.bert.model import BertEncoder

__all__ = ["to_encoder", "to_pooler"]


def to_encoder(encoder: BertEncoder) -> dict[str, Any]:
    """The weights of ``impl.bert.encoder`` by the names of its arguments.

    ValueError for an encoder that the statement is not of: without segments, or with narrower tables.
    """
    embeddings, h = encoder.embeddings, encoder.config.heads
    if embeddings.S is None or embeddings.widen is not None:
        raise ValueError(
            f"bert.encoder: expected segments, and tables as wide as layers; got {encoder.config}"
        )
    layers = [dict(layer.named_parameters()) for layer in encoder.in_order()]
    stacked = {name: torch.stack([layer[name] for layer in layers]) for name in layers[0]}
    W, b = (stacked[f"qkv.{kind}"].unflatten(1, (3, h, -1)).unbind(1) for kind in ("weight", "bias"))
    found = [x for part, bias in zip(W, b, strict=True) for x in (part.mT, bias)]
    for name in ("out", "norm_attention", "expand", "contract", "norm_output"):
        weight = stacked[f"{name}.weight"]
        found += [weight if "norm" in name else weight.mT, stacked[f"{name}.bias"]]
    tables = {"E": embeddings.E, "S": embeddings.S, "P": embeddings.P}
    norm = {"gamma_0": embeddings.norm.weight, "beta_0": embeddings.norm.bias}
    plain = {name: x.detach() for name, x in (tables | norm).items()}
    return {**plain, "weights": LayerWeights(*(x.detach() for x in found))}


def to_pooler(encoder: BertEncoder) -> dict[str, Tensor]:
    """The weights of ``bert.pooler``. ValueError where there is none."""
    if encoder.pooler is None:
        raise ValueError("bert.pooler: expected an encoder with a pooler")
    dense = encoder.pooler.dense
    return {"W": dense.weight.mT.detach(), "b": dense.bias.detach()}

"""Parameters of a ``BertEncoder`` as the statements' letters."""

import torch
from torch import Tensor

from impl.bert.model import BertEncoder

__all__ = ["to_encoder", "to_pooler"]


def to_encoder(encoder: BertEncoder) -> dict[str, Tensor]:
    """The weights of ``bert.encoder`` by its letters, the layers in front, head by head where the statement has heads.

    ValueError for an encoder that the statement is not of: without segments, or with narrower tables.
    """
    embeddings, h = encoder.embeddings, encoder.config.heads
    if embeddings.S is None or embeddings.widen is not None:
        raise ValueError(
            f"bert.encoder: expected segments, and tables as wide as layers; got {encoder.config}"
        )
    layers = [dict(layer.named_parameters()) for layer in encoder.in_order()]
    stacked = {name: torch.stack([layer[name] for layer in layers]) for name in layers[0]}
    found: dict[str, Tensor] = {"E": embeddings.E, "S": embeddings.S, "P": embeddings.P}
    found |= {"gamma_0": embeddings.norm.weight, "beta_0": embeddings.norm.bias}
    W, b = (stacked[f"qkv.{kind}"].unflatten(1, (3, h, -1)).unbind(1) for kind in ("weight", "bias"))
    for letter, part, bias in zip("qkv", W, b, strict=True):
        found |= {f"W_{letter}": part.mT, f"b_{letter}": bias}
    names = {"o": "out", "1": "expand", "2": "contract"}
    for letter, name in names.items():
        found |= {f"W_{letter}": stacked[f"{name}.weight"].mT, f"b_{letter}": stacked[f"{name}.bias"]}
    for letter, name in {"1": "norm_attention", "2": "norm_output"}.items():
        found |= {f"gamma_{letter}": stacked[f"{name}.weight"], f"beta_{letter}": stacked[f"{name}.bias"]}
    return {name: x.detach() for name, x in found.items()}


def to_pooler(encoder: BertEncoder) -> dict[str, Tensor]:
    """The weights of ``bert.pooler``. ValueError where there is none."""
    if encoder.pooler is None:
        raise ValueError("bert.pooler: expected an encoder with a pooler")
    dense = encoder.pooler.dense
    return {"W": dense.weight.mT.detach(), "b": dense.bias.detach()}

"""Parameters of a ``ViT`` as arguments of the functions that the statements name."""

from typing import Any

import torch

from impl.bert import LayerWeights
from impl.vision.model import ViT

__all__ = ["to_classifier"]


def to_classifier(model: ViT) -> dict[str, Any]:
    """The weights of ``impl.vision.classifier`` by the names of its arguments; without W_h and b_h where there is no head."""
    h, config = model.config.heads, model.config
    layers = [dict(layer.named_parameters()) for layer in model.encoder.layers]
    stacked = {name: torch.stack([layer[name] for layer in layers]) for name in layers[0]}
    W, b = (
        stacked[f"self_attention.qkv.{kind}"].unflatten(1, (3, h, -1)).unbind(1)
        for kind in ("weight", "bias")
    )
    found = [x for part, bias in zip(W, b, strict=True) for x in (part.mT, bias)]
    for name in (
        "self_attention.out",
        "residual_self.norm",
        "feed_forward.expand",
        "feed_forward.contract",
        "residual_feed_forward.norm",
    ):
        weight = stacked[f"{name}.weight"]
        found += [weight if "norm" in name else weight.mT, stacked[f"{name}.bias"]]
    kernel = model.patches.weight.mT.unflatten(0, (config.channels, config.patch, config.patch))
    below = {"W": kernel, "b": model.patches.bias, "cls": model.cls, "P": model.P}
    last = {"gamma_0": model.encoder.norm.weight, "beta_0": model.encoder.norm.bias}
    head = {} if model.head is None else {"W_h": model.head.weight.mT, "b_h": model.head.bias}
    plain = {name: x.detach() for name, x in (below | last | head).items()}
    return {**plain, "weights": LayerWeights(*(x.detach() for x in found))}

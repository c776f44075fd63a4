"""What BERT's formulas share: the parameters of a layer, alone or in a stack."""

from spec.normalization.layer_norm import OURS
from spec.transformer.parts import d_k, d_model, d_v, h, network, normalization
from spec.vocabulary import *

ZERO = {"fully_masked": "zero", **OURS, "gain": "gamma"}
"""The conventions under which theorems are stated: every row gathers something that is defined, and has a variance."""


def attention(*layers: Node) -> tuple[Tensor, ...]:
    """Weights and biases of one multi-head attention, in a stack for each of so many ``layers``."""
    each_ = "for each layer and head" if layers else "for each head"
    return (
        parameter("W_q", *layers, h, d_model, d_k, meaning=f"{each_}, what makes the queries of the tokens"),
        parameter("b_q", *layers, h, d_k, meaning="their bias"),
        parameter("W_k", *layers, h, d_model, d_k, meaning=f"{each_}, what makes the keys"),
        parameter("b_k", *layers, h, d_k, meaning="their bias, which changes nothing"),
        parameter("W_v", *layers, h, d_model, d_v, meaning=f"{each_}, what makes the values"),
        parameter("b_v", *layers, h, d_v, meaning="their bias"),
        parameter("W_o", *layers, h * d_v, d_model, meaning="joins what the heads found"),
        parameter("b_o", *layers, d_model, meaning="its bias"),
    )


def weights(*layers: Node) -> tuple[Tensor, ...]:
    """All parameters of a layer, in the order of its inputs; in a stack for each of so many ``layers``."""
    return (
        *attention(*layers),
        *normalization(1, "attention", *layers),
        *network(1, *layers),
        *normalization(2, "feed-forward network", *layers),
    )

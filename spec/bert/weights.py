"""What BERT's formulas share: the parameters of a layer, alone or in a stack, and of an attention with biases."""

from spec.normalization.layer_norm import OURS
from spec.transformer import parts
from spec.transformer.parts import d_k, d_model, d_v, h, network, normalization
from spec.vocabulary import *

ZERO = {"fully_masked": "zero", **OURS, "gain": "gamma"}
"""The conventions under which theorems are stated: every row gathers something that is defined, and has a variance."""


def attention(
    *layers: Node, W: str = "W", b: str = "b", of: str = "tokens", asked: str = "", where: str = ""
) -> tuple[Tensor, ...]:
    """Weights and biases of one multi-head attention ``of`` a sequence that asks another, or itself; in a stack for each of so
    many ``layers``. ``W`` and ``b`` are their letters; ``where`` it is, in a model that has several.
    """
    W_q, W_k, W_v, W_o = parts.attention(
        f"{W}_q", f"{W}_k", f"{W}_v", f"{W}_o", of, *layers, asked=asked, where=where
    )
    return (
        W_q,
        parameter(f"{b}_q", *layers, h, d_k, meaning="their bias"),
        W_k,
        parameter(f"{b}_k", *layers, h, d_k, meaning="their bias, which changes nothing"),
        W_v,
        parameter(f"{b}_v", *layers, h, d_v, meaning="their bias"),
        W_o,
        parameter(f"{b}_o", *layers, d_model, meaning="its bias"),
    )


def weights(*layers: Node) -> tuple[Tensor, ...]:
    """All parameters of a layer, in the order of its inputs; in a stack for each of so many ``layers``."""
    return (
        *attention(*layers),
        *normalization(1, "attention", *layers),
        *network(1, *layers),
        *normalization(2, "feed-forward network", *layers),
    )

"""What XLNet's formulas share: the texts and the order of the tokens, and the parameters of a layer, alone or in a stack."""

from spec.attention.masks import FULLY_MASKED
from spec.normalization.layer_norm import OURS, layer_norm
from spec.transformer.parts import d_k, d_model, d_v, h, n, network, normalization
from spec.vocabulary import *

seg = data("seg", n, domain="integer", below=n, meaning="which text each token belongs to, by any numbers")
order = data(
    "order",
    n,
    domain="integer",
    below=n,
    meaning="at which place of the order each token comes. The paper's z lists the tokens instead: zₜ is the one at place t",
)

CONVENTIONS = (FULLY_MASKED, *layer_norm.conventions)
ZERO = {"fully_masked": "zero", **OURS, "gain": "gamma"}
"""The conventions under which theorems are stated: who sees nothing gathers nothing, and every row has a variance."""


def heads(*layers: Node) -> tuple[Tensor, ...]:
    """The parameters of the attention, in the order of its inputs; in a stack for each of so many ``layers``."""
    each_ = "for each layer and head" if layers else "for each head"
    return (
        parameter("W_q", *layers, h, d_model, d_k, meaning=f"{each_}, what makes the queries"),
        parameter("W_k", *layers, h, d_model, d_k, meaning=f"{each_}, what makes the keys of the tokens"),
        parameter("W_v", *layers, h, d_model, d_v, meaning=f"{each_}, what makes the values"),
        parameter("W_r", *layers, h, d_model, d_k, meaning=f"{each_}, what makes the keys of the distances"),
        parameter("u", *layers, h, d_k, meaning="bias of content: what every query looks for in a token"),
        parameter("w", *layers, h, d_k, meaning="bias of position: what every query looks for in a distance"),
        parameter("f", *layers, h, d_k, meaning="bias of text: what every query looks for in a text"),
        parameter("S", *layers, h, 2, d_k, meaning="the keys of a query's own text, and of every other text"),
        parameter("W_o", *layers, h * d_v, d_model, meaning="joins what the heads found"),
    )


def weights(*layers: Node) -> tuple[Tensor, ...]:
    """All parameters of a layer, in the order of its inputs; in a stack for each of so many ``layers``."""
    return (
        *heads(*layers),
        *normalization(1, "attention", *layers),
        *network(1, *layers),
        *normalization(2, "feed-forward network", *layers),
    )

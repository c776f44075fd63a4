"""What the formulas of Transformer-XL share: sizes, and the parameters of a layer, alone or in a stack."""

from spec.attention.masks import FULLY_MASKED
from spec.normalization.layer_norm import OURS, layer_norm
from spec.transformer import parts
from spec.transformer.parts import d_k, d_model, h, network, normalization
from spec.vocabulary import *

(M,) = sizes("M")
MEMORY = {M: "rows of the memory: tokens of the segments before that are remembered"}
GRADIENT = Convention(
    "gradient",
    {
        "stopped": "no gradient reaches the memory, as the paper has it",
        "passed": "one does, unless whoever keeps the memory detaches it",
    },
    default="stopped",
)
CONVENTIONS = (GRADIENT, FULLY_MASKED, *layer_norm.conventions)
STOPPED = {"gradient": "stopped", "fully_masked": "zero"}
ZERO = {**STOPPED, **OURS, "gain": "gamma"}
"""The conventions under which theorems are stated: every row gathers something that is defined, and has a variance."""


def weights(*layers: Node) -> tuple[Tensor, ...]:
    """All parameters of a layer, in the order of its inputs; in a stack for each of so many ``layers``."""
    each_ = "for each layer and head" if layers else "for each head"
    W_q, W_k, W_v, W_o = parts.attention("W_q", "W_k", "W_v", "W_o", "tokens", *layers)
    return (
        W_q,
        W_k,
        W_v,
        parameter(
            "W_r", *layers, h, d_model, d_k, meaning=f"{each_}, what makes a distance comparable with queries"
        ),
        W_o,
        parameter(
            "u", *layers, h, d_k, meaning=f"{each_}, bias of content: what every query looks for in a key"
        ),
        parameter(
            "w",
            *layers,
            h,
            d_k,
            meaning=f"{each_}, bias of position: what every query looks for in a distance",
        ),
        *normalization(1, "attention", *layers),
        *network(1, *layers),
        *normalization(2, "feed-forward network", *layers),
    )

"""What Llama's formulas share: sizes, the parameters of a layer, alone or in a stack, and the conventions."""

from dataclasses import replace

from spec.attention.masks import FULLY_MASKED
from spec.feedforward.gated import gated
from spec.normalization.rms_norm import INSIDE, rms_norm
from spec.positional.rotary import LONGEST
from spec.positional.turned import PAIRS
from spec.vocabulary import *

n, d_model, g, r, p, d_v, d_ff, L, V = sizes("n d_model g r p d_v d_ff L V")
i, j, l, t, a, b, c, e, u = indices(i=n, j=n, l=d_model, t=g * r, a=g, b=r, c=2 * p, e=d_v, u=p)
WIDTHS = {
    d_model: "width of a token",
    g: "groups: heads of keys and values",
    r: "heads of queries in each group",
    p: "pairs that are turned: half the width of queries and keys",
    d_v: "width of values",
}
INNER = {d_ff: "inner units of the feed-forward network"}

pos = data("pos", n, domain="integer", below=LONGEST, meaning="where each token stands: 0, 1, 2, … in a text")
theta = parameter(
    "theta",
    p,
    meaning="frequency of each pair: the angle that one position adds; not learned, so that no gradient reaches it",
)
mask = optional_mask("mask", n, meaning="which tokens are words, and not padding")

ATTENDING = (replace(PAIRS, default="halves"), FULLY_MASKED)
CONVENTIONS = (*ATTENDING, *gated.conventions, *rms_norm.conventions)
SEEN = {"fully_masked": "zero"}
ZERO = {**SEEN, **INSIDE}
"""The conventions under which theorems are stated: every row gathers something that is defined."""


def attention(*layers: Node) -> tuple[Tensor, ...]:
    """The weights of one attention, in a stack for each of so many ``layers``."""
    each_ = "for each layer and " if layers else "for each "
    return (
        parameter("W_q", *layers, g * r, d_model, 2 * p, meaning=f"{each_}head, what makes the queries"),
        parameter("W_k", *layers, g, d_model, 2 * p, meaning=f"{each_}group, what makes the keys"),
        parameter("W_v", *layers, g, d_model, d_v, meaning=f"{each_}group, what makes the values"),
        parameter(
            "W_o",
            *layers,
            g * r,
            d_v,
            d_model,
            meaning=f"{each_}head, what it adds to a token of what it found",
        ),
    )


def weights(*layers: Node) -> tuple[Tensor, ...]:
    """All parameters of a layer, in the order of its inputs; in a stack for each of so many ``layers``."""
    return (
        *attention(*layers),
        parameter("gamma_1", *layers, d_model, meaning="gain of the normalization before attention"),
        parameter("W_g", *layers, d_model, d_ff, meaning="gate of the network: what its units open for"),
        parameter("W_u", *layers, d_model, d_ff, meaning="up: what they have to say about a row"),
        parameter("W_d", *layers, d_ff, d_model, meaning="down: what each unit adds where it is active"),
        parameter("gamma_2", *layers, d_model, meaning="gain of the normalization before the network"),
    )

"""What the formulas of the Transformer share: sizes, and where the normalization stands."""

from spec.normalization.layer_norm import BIASED, OURS
from spec.vocabulary import *

n, m, d_model, d_k, d_v, d_ff, h, L, V = sizes("n m d_model d_k d_v d_ff h L V")
WIDTHS = {
    h: "heads",
    d_model: "width of a token",
    d_k: "width of queries and keys",
    d_v: "width of values",
    d_ff: "inner units of the feed-forward network",
}

NORM = Convention(
    "norm",
    {
        "post": "after each sum: layer_norm(x + sublayer(x))",
        "pre": "before each sublayer: x + sublayer(layer_norm(x))",
    },
    default="post",
)
ZERO = {"fully_masked": "zero", **BIASED}
"""The conventions under which theorems are stated: every row gathers something that is defined, and has a variance."""
STACKED = {**ZERO, **OURS, "gain": "gamma"}
"""Those under which theorems about stacks are stated: what holds of their layers holds under others."""


def attention(
    q: str, k: str, v: str, o: str, of: str, *layers: Node, asked: str = "", where: str = ""
) -> tuple[Tensor, ...]:
    """The weights of one multi-head attention ``of`` a sequence that asks another, or itself; in a stack for each of so many
    ``layers``. ``where`` it is, in a model that has several.
    """
    each_ = "for each layer and head" if layers else "for each head"
    each_ = f"{where}: {each_}" if where else each_
    return (
        parameter(q, *layers, h, d_model, d_k, meaning=f"{each_}, what makes the queries of the {of}"),
        parameter(k, *layers, h, d_model, d_k, meaning=f"{each_}, what makes the keys of the {asked or of}"),
        parameter(
            v, *layers, h, d_model, d_v, meaning=f"{each_}, what makes the values of the {asked or of}"
        ),
        parameter(
            o,
            *layers,
            h * d_v,
            d_model,
            meaning=f"{where}: joins what its heads found" if where else "joins what its heads found",
        ),
    )


def network(first: int, *layers: Node, of: str = "") -> tuple[Tensor, ...]:
    """The weights of one feed-forward network, ``of`` what, in a stack for each of so many ``layers``."""
    inner, outer, whose = first, first + 1, f" of the {of}" if of else ""
    return (
        parameter(
            f"W_{inner}", *layers, d_model, d_ff, meaning=f"inner layer of the feed-forward network{whose}"
        ),
        parameter(f"b_{inner}", *layers, d_ff, meaning="its bias"),
        parameter(
            f"W_{outer}", *layers, d_ff, d_model, meaning=f"outer layer of the feed-forward network{whose}"
        ),
        parameter(f"b_{outer}", *layers, d_model, meaning="its bias"),
    )


def normalization(number: int, beside: str, *layers: Node) -> tuple[Tensor, Tensor]:
    """Gain and bias of one layer normalization, in a stack for each of so many ``layers``."""
    return (
        parameter(
            f"gamma_{number}", *layers, d_model, meaning=f"gain of the normalization beside the {beside}"
        ),
        parameter(f"beta_{number}", *layers, d_model, meaning="its bias"),
    )


def epsilon() -> Tensor:
    """The ε that all normalizations share."""
    return number(
        "eps", "positive", meaning="a small number that keeps the divisors of all normalizations away from 0"
    )

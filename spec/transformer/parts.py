"""What the formulas of the Transformer share: sizes, and where the normalization stands."""

from spec.vocabulary import *

n, m, d_model, d_k, d_v, d_ff, h, L, V = sizes("n m d_model d_k d_v d_ff h L V")
WIDTHS = {
    d_model: "width of a token",
    h: "heads",
    d_k: "width of queries and keys",
    d_v: "width of values",
    d_ff: "inner units of the feed-forward network",
}

NORM = Convention(
    "norm",
    {
        "post": "after the sum: layer_norm(x + sublayer(x))",
        "pre": "before the sublayer: x + sublayer(layer_norm(x))",
    },
    default="post",
)

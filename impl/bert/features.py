"""Features from BERT: its layers, combined in the six ways that were compared on names of persons and places.

Letters are the statement's: H holds what the embedding (row 0) and the layers (rows 1 to L) say of n tokens. Source: Devlin et
al. 2019, "BERT", section 5.3, table 7.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse

__all__ = ["Features", "features"]


class Features(NamedTuple):
    """Six choices of a vector for each token; all of width d, but for the last, which is four times as wide."""

    first: Float[Tensor, "... n d"]
    last: Float[Tensor, "... n d"]
    sum_all: Float[Tensor, "... n d"]
    second_to_last: Float[Tensor, "... n d"]
    sum_last_four: Float[Tensor, "... n d"]
    concat_last_four: Float[Tensor, "... n 4*d"]


def features(
    H: Float[Tensor, "... layers n d"], *, first: Literal["embedding", "layer_1"] = "embedding"
) -> Features:
    """What the embedding and at least four layers say of each token, combined. Statement: ``bert.features``.

    All six are tensors of their own; the sums leave the embedding out. ``first="layer_1"`` takes the lowest layer for the first,
    in the place of the embedding. ValueError for fewer than four layers above the embedding and
    for another first, TypeError unless H is floating.
    """
    if H.dim() < 3 or H.shape[-3] < 5:
        raise _refuse.shapes("bert.features", "H (... L+1 n d) with L >= 4", H=H)
    _refuse.check_floating("bert.features", H=H)
    if first not in ("embedding", "layer_1"):
        raise ValueError(f"bert.features: first is 'embedding' or 'layer_1'; got {first!r}")
    four = H[..., -4:, :, :]
    return Features(
        first=H[..., 0 if first == "embedding" else 1, :, :].clone(),
        last=H[..., -1, :, :].clone(),
        sum_all=H[..., 1:, :, :].sum(-3),
        second_to_last=H[..., -2, :, :].clone(),
        sum_last_four=four.sum(-3),
        concat_last_four=torch.cat(four.unbind(-3), -1),
    )

"""Features from BERT: its layers, combined in the six ways that were compared on names of persons and places.

Letters are the statement's: H holds what the embedding (row 0) and the layers (rows 1 to L) say of n tokens. Source: Devlin et
al. 2019, "BERT", section 5.3, table 7.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

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
    H: Float[Tensor, "... layers n d"] | Sequence[Float[Tensor, "... n d"]],
    *,
    first: Literal["embedding", "layer_1"] = "embedding",
) -> Features:
    """What the embedding and at least four layers say of each token, combined. Statement: ``bert.features``.

    All six are tensors of their own; the sums leave the embedding out. ``first="layer_1"`` takes the lowest layer for the first,
    instead of the embedding. ``H`` is a tensor, or a tuple or list of the layers' tensors (... n d), the embedding first, as
    libraries return hidden states. ValueError for fewer than four layers above the embedding, for layers of different shapes and
    for another first, TypeError unless H is floating, of one dtype.
    """
    if not isinstance(H, Tensor):
        H = _stack_layers(H)
    if H.dim() < 3 or H.shape[-3] < 5:
        raise _refuse.shapes("bert.features", "H (... L+1 n d) with L >= 4", H=H)
    _refuse.check_floating("bert.features", H=H)
    four = H[..., -4:, :, :]
    return Features(
        first=H[..., 0 if first == "embedding" else 1, :, :].clone(),
        last=H[..., -1, :, :].clone(),
        sum_all=H[..., 1:, :, :].sum(-3),
        second_to_last=H[..., -2, :, :].clone(),
        sum_last_four=four.sum(-3),
        concat_last_four=torch.cat(four.unbind(-3), -1),
    )


def _stack_layers(layers: Any) -> Tensor:
    """Layers one by one as one tensor."""
    if not isinstance(layers, tuple | list) or not all(isinstance(x, Tensor) for x in layers):
        got = type(layers).__name__
        if isinstance(layers, tuple | list):
            got += f" of {', '.join(dict.fromkeys(type(x).__name__ for x in layers))}"
        raise TypeError(f"bert.features: expected H, a tensor, or a tuple or list of tensors; got {got}")
    named = {f"H[{place}]": x for place, x in enumerate(layers)}
    if len({x.shape for x in layers}) != 1 or layers[0].dim() < 2:
        raise _refuse.shapes("bert.features", "layers (... n d) of one shape", **named)
    _refuse.check_floating("bert.features", **named)
    return torch.stack(tuple(layers), -3)

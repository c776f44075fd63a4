"""Heads: sequences in parts, one beside the other, each of which attends by itself."""

from torch import Tensor

from impl.attention._checks import Backend
from impl.attention.weights import scaled_dot_product, weighted


def split_heads(x: Tensor, h: int) -> Tensor:
    """(... n h·d), one head beside the other, as (... h n d)."""
    return x.unflatten(-1, (h, x.shape[-1] // h)).transpose(-3, -2)  # type: ignore[no-any-return]


def attend_heads(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, return_weights: bool, backend: Backend
) -> tuple[Tensor, Tensor | None]:
    """The heads' contexts, one beside the other (... n h·d_v), and where asked for their weights (... h n m)."""
    if mask is not None and mask.dim() > 2:
        mask = mask.unsqueeze(-3)
    z, a = (
        weighted(q, k, v, mask)
        if return_weights
        else (scaled_dot_product(q, k, v, mask, backend=backend), None)
    )
    return z.transpose(-3, -2).flatten(-2), a

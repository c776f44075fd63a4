"""Grouped-query attention: several heads of queries share one head of keys and values."""

from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl.attention._checks import Backend, check_lead, check_mask, check_qkv
from impl.attention.weights import scaled_dot_product

__all__ = ["grouped_query"]


def grouped_query(
    q: Float[Tensor, "... h n d_k"],
    k: Float[Tensor, "... g m d_k"],
    v: Float[Tensor, "... g m d_v"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... h n d_v"]:
    """Of h = g·r heads, head t attends to the keys and values of group ⌊t/r⌋, scaled by 1/√d_k; a row with no permitted key is
    0. Statement: ``attention.grouped_query``.

    One group is multi-query attention, as many as heads are multi-head attention. The mask is one for all heads: its leading
    dimensions are those before the heads. Keys and values are read where they lie, never repeated. ValueError for shapes that do
    not fit, TypeError unless q, k and v share one floating dtype and the mask is boolean. Source: Ainslie et al. 2023, "GQA",
    section 2.2; Shazeer 2019 for one group.
    """
    rows, mask = split_groups("attention.grouped_query", q, k, v, mask)
    z: Tensor = scaled_dot_product(rows, k, v, mask, backend=backend)
    return z.unflatten(-2, (-1, q.shape[-2])).flatten(-4, -3)


def split_groups(
    formula: str, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """The queries of a group as rows of one head (... g r·n d_k), and the mask repeated for each; refuse what does not fit."""
    check_qkv(formula, q, k, v)
    if (
        min(q.dim(), k.dim(), v.dim()) < 3
        or k.shape[-3] != v.shape[-3]
        or not k.shape[-3]
        or q.shape[-3] % k.shape[-3]
    ):
        expected = "q (... g*r n d_k), k (... g m d_k), v (... g m d_v)"
        raise _refuse.shapes(formula, expected, q=q, k=k, v=v)
    (n, m), g = (q.shape[-2], k.shape[-2]), k.shape[-3]
    if mask is not None:
        check_mask(formula, mask, n, m)
        check_lead(formula, q[..., 0, :, :], k[..., 0, :, :], v[..., 0, :, :], mask)
        if mask.shape[-2] != 1:
            mask = (
                mask.unsqueeze(-3)
                .expand(*mask.shape[:-2], q.shape[-3] // g, n, mask.shape[-1])
                .flatten(-3, -2)
            )
        mask = mask.unsqueeze(-3)
    return q.unflatten(-3, (g, -1)).flatten(-3, -2), mask

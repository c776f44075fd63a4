"""Attention over blocks of keys, joined."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl.attention._checks import check_mask
from impl.attention.weights import masked_log_sum_exp, masked_softmax

__all__ = ["merge"]


def merge(
    z: Float[Tensor, "... b n d_v"],
    L: Float[Tensor, "... b n"],
    mask: Bool[Tensor, "... #b #n"] | None = None,
) -> tuple[Float[Tensor, "... n d_v"], Float[Tensor, "... n"]]:
    """Join what attention to each of b blocks of keys has found: z_all = Σ_t exp(L_t − L_all)·z_t with L_all = log Σ_t exp(L_t),
    over the blocks that hold a key that the query may attend to. Statement: ``attention.merge``.

    ``L`` holds natural log-sum-exps; a block that has −∞ there counts as masked, and what ``z`` holds in it, NaN included, is not
    read. Returns (z_all, L_all); without any such block z_all is 0 and L_all −∞. z may be of another floating dtype than L; sums
    are float32 at least. ValueError for shapes that do not fit, TypeError unless z and L are floating and the mask is boolean.
    Source: Milakov & Gimelshein 2018, section 3.1; Dao et al. 2022, "FlashAttention", section 3.1.
    """
    if z.dim() < 3 or L.dim() < 2 or L.shape[-2:] != z.shape[-3:-1] or not L.shape[-2]:
        raise _refuse.shapes("attention.merge", "z (... b n d_v), L (... b n), b >= 1", z=z, L=L)
    for name, given in (("z", z), ("L", L)):
        if not given.is_floating_point():
            raise _refuse.dtypes("attention.merge", f"a floating {name}", **{name: given})
    lead = _refuse.check_lead("attention.merge", L=L, z=z[..., 0, :, :])
    there = ~L.isneginf()
    if mask is not None:
        check_mask("attention.merge", mask, L.shape[-2], L.shape[-1], lead)
        there = there & mask
    wide = torch.promote_types(torch.promote_types(z.dtype, L.dtype), torch.float32)
    scores, seen = L.mT.to(wide), there.mT
    shares = masked_softmax(scores, seen).mT.unsqueeze(-1)
    z_all = (shares * torch.where(there.unsqueeze(-1), z, 0.0)).sum(-3)
    return z_all.to(z.dtype), masked_log_sum_exp(scores, seen).to(L.dtype).expand(*lead, -1)

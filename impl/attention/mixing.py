"""Attention under any score: the mean of the values under the softmax of the scores."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from impl import _refuse
from impl.attention._checks import check_mask
from impl.attention.masks import blank, unsafe
from impl.attention.weights import masked_softmax, scaled_dot_product
from impl.scores import ScaledDot, Score

__all__ = ["attend", "Attention"]


def attend(
    s: Float[Tensor, "... n m"],
    v: Float[Tensor, "... m d_v"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
) -> Float[Tensor, "... n d_v"]:
    """z = softmax(s, mask) v: the values' mean under given scores, 0 for a query without a key.

    What stands in a value that no query may attend to, NaN and Inf included, reaches neither output nor gradient; what
    stands in q and k there has to be kept from s by whoever computes it (``Attention`` does). In 16 bits the weights are
    float32, and z is rounded once. ValueError for shapes that do not fit, TypeError unless s and v share one floating
    dtype and the mask is boolean.
    """
    _refuse.check_floating("attention.attend", s=s, v=v)
    if min(s.dim(), v.dim()) < 2 or s.shape[-1] != v.shape[-2]:
        raise _refuse.shapes("attention.attend", "s (... n m), v (... m d_v)", s=s, v=v)
    lead = _refuse.check_lead("attention.attend", s=s, v=v)
    if mask is not None:
        check_mask("attention.attend", mask, s.shape[-2], s.shape[-1], lead)
    if s.dtype.itemsize == 2:
        return attend(s.float(), v.float(), mask).to(v.dtype)
    a = masked_softmax(s, mask)
    if mask is not None and unsafe(v):
        v = torch.where(mask.any(-2).unsqueeze(-1), v, 0.0)
    return a @ v


class Attention(nn.Module):
    """Attention with any score of ``impl.scores``: ``Attention(Additive(d_q, d_k, a))(q, k, v, mask)``.

    With ``ScaledDot``, which is what it has unless told otherwise, it is ``attention.scaled_dot_product``.
    """

    def __init__(self, score: Score | None = None) -> None:
        super().__init__()
        self.score = ScaledDot() if score is None else score

    def forward(
        self,
        q: Float[Tensor, "... n d_q"],
        k: Float[Tensor, "... m d_k"],
        v: Float[Tensor, "... m d_v"],
        mask: Bool[Tensor, "... #n #m"] | None = None,
        *,
        return_weights: bool = False,
    ) -> Float[Tensor, "... n d_v"] | tuple[Float[Tensor, "... n d_v"], Float[Tensor, "... n m"]]:
        """The mean of the values under the weights; with ``return_weights=True`` these too. Slots hidden from all their
        partners are blanked first, as everywhere in ``impl.attention``. Errors are those of the score and of ``attend``.
        """
        if type(self.score) is ScaledDot and not return_weights:
            return scaled_dot_product(q, k, v, mask)
        if min(q.dim(), k.dim()) < 2:
            raise _refuse.shapes("attention", "q (... n d_q), k (... m d_k)", q=q, k=k)
        if mask is not None:
            check_mask("attention", mask, q.shape[-2], k.shape[-2])
            if unsafe(q, k, v):
                q, k, v = blank(q, k, v, mask)
        s = self.score(q, k)
        return (attend(s, v, mask), masked_softmax(s, mask)) if return_weights else attend(s, v, mask)

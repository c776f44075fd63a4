"""Attention by relative positions: scores of distances, put in their places by a shift, are a bias of the kernel's."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl.attention._checks import Backend, check_mask, check_qkv
from impl.attention.masks import blank, unsafe
from impl.attention.weights import scaled_dot_product

__all__ = ["relative", "shift_distances"]

FORMULA = "attention.relative"


def relative(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    r: Float[Tensor, "... n+m-1 d_k"],
    u: Float[Tensor, "... d_k"],
    w: Float[Tensor, "... d_k"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """z = softmax(((q + u) kᵀ + D) / √d_k) v over the permitted keys, where D[i, j] = (q_i + w)·r_{j − i + n − 1}; a row with
    none is 0. Statement: ``attention.relative``.

    Query i stands beside key i + (m − n); r has a row for each distance, from the key farthest behind the last query to the one
    farthest ahead of the first. Leading dimensions of u and w, such as heads, broadcast with the others. In 16 bits all is
    computed in float32, z rounded once. ValueError for shapes that do not fit, TypeError unless all but the mask share one
    floating dtype and the mask is boolean. Source: Dai et al. 2019, section 3.3 and appendix B.
    """
    check_qkv(FORMULA, q, k, v)
    n, m, d_k = q.shape[-2], k.shape[-2], q.shape[-1]
    if r.dim() < 2 or r.shape[-2:] != (n + m - 1, d_k) or not u.shape[-1:] == w.shape[-1:] == (d_k,):
        expected = "q (... n d_k), k (... m d_k), r (... n+m-1 d_k), u (... d_k), w (... d_k)"
        raise _refuse.shapes(FORMULA, expected, q=q, k=k, r=r, u=u, w=w)
    _refuse.check_floating(FORMULA, q=q, k=k, v=v, r=r, u=u, w=w)
    u, w = u.unsqueeze(-2), w.unsqueeze(-2)
    lead = _refuse.check_lead(FORMULA, q=q, k=k, v=v, r=r, u=u, w=w)
    if mask is not None:
        check_mask(FORMULA, mask, n, m, lead)
    return attend(q, k, v, r, u, w, mask, backend)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    r: Tensor,
    u: Tensor,
    w: Tensor,
    mask: Tensor | None,
    backend: Backend = "auto",
    more: Tensor | None = None,
) -> Tensor:
    """``relative`` of what was checked before, u and w as (... 1 d_k); what is ``more`` is added to the scores. Of r the rows for
    distances ahead may be missing, where the mask hides those.
    """
    if q.dtype.itemsize == 2:
        dtype, more = q.dtype, None if more is None else more.float()
        q, k, v, r, u, w = (x.float() for x in (q, k, v, r, u, w))
        return attend(q, k, v, r, u, w, mask, backend, more).to(dtype)
    n, m, d_k = q.shape[-2], k.shape[-2], q.shape[-1]
    if mask is not None and unsafe(q, k, v, r):
        q, k, v = blank(q, k, v, mask)
        r = blank_distances(r, mask.expand(*mask.shape[:-2], n, m))
    bias = shift_distances((q + w) @ r.mT / math.sqrt(d_k), m)
    bias = bias if more is None else bias + more
    if mask is not None:
        bias = torch.where(mask, bias, 0.0)
    z: Tensor = scaled_dot_product(q + u, k, v, mask, bias=bias, backend=backend)
    return z


def shift_distances(x: Float[Tensor, "... n p"], m: int) -> Float[Tensor, "... n {m}"]:
    """Entry j − i + n − 1 of row i as its entry j, for j below m: from a column for each distance to one for each key.

    With p = m columns, of distances behind alone, entries j > i + (m − n) are what stands beyond: a 0, then the row of the next
    query. Hide them by the causal mask. ValueError for fewer columns than m.
    """
    if m < 0 or x.dim() < 2 or (x.shape[-1] < m and x.shape[-2]):
        raise _refuse.shapes(FORMULA, f"distances (... n p), p >= {m} >= 0", x=x)
    n, p = x.shape[-2:]
    if not n:
        return x.new_zeros(*x.shape[:-1], m)
    # One column more makes a step down the rows of the flat array a step of p + 1: read in steps of p, each row begins one
    # entry earlier than the one above it.
    flat = F.pad(x, (0, 1)).flatten(-2)
    shifted: Tensor = flat[..., n - 1 : n - 1 + n * p].unflatten(-1, (n, p))[..., :m]
    return shifted


def blank_distances(r: Tensor, mask: Tensor) -> Tensor:
    """r with 0 in the rows of distances at which no query may attend to a key."""
    n, m = mask.shape[-2:]
    step = torch.arange(n, device=r.device).unsqueeze(-1)
    place = torch.arange(m, device=r.device) - step + n - 1
    asked = mask.new_zeros(*mask.shape[:-2], n + m - 1, dtype=torch.int64)
    asked = asked.scatter_add(-1, place.flatten().expand(*mask.shape[:-2], -1), mask.flatten(-2).long()) > 0
    return torch.where(asked[..., : r.shape[-2]].unsqueeze(-1), r, 0.0)

"""Hard attention: a query looks at one key, drawn from its attention weights."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Generator, Tensor

from impl import _refuse
from impl._refuse import broadcast_shapes
from impl.attention._checks import check_lead, check_mask, check_qkv
from impl.attention.masks import blank, unsafe
from impl.attention.weights import masked_softmax
from impl.scores import scaled_dot

__all__ = ["hard", "log_weight"]


def hard(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    generator: Generator,
    mask: Bool[Tensor, "... #n #m"] | None = None,
) -> tuple[Float[Tensor, "... n d_v"], Int64[Tensor, "... n"]]:
    """For each query draw a key from softmax(q kᵀ / √d_k) over the permitted keys, and take its value.
    Statement: ``attention.hard``.

    Returns (z, index): z[i] = v[index[i]]; a query that may attend to nothing gets index −1 and z 0 (one whose weights are
    NaN: index −1 and z NaN). Queries, and the members of a batch, draw independently. One uniform number for each query is
    looked up in the weights' running sum, in float64: a weight is met to about 2⁻⁵². Equal seeds give equal results on
    one kind of device.

    z passes its gradient on to v alone, since an index has none. For the expectation of a loss f, the score-function
    estimator (Williams 1992; Xu et al. 2015, section 4.1) is unbiased for q, k and v: ::

        z, index = hard(q, k, v, generator, mask)
        loss = f(z)                                                     # (...), one number for each member of the batch
        surrogate = loss + loss.detach() * log_weight(q, k, index, mask).sum(-1)
        surrogate.sum().backward()

    ValueError for shapes or a generator's device that do not fit, TypeError unless q, k and v share one floating dtype and
    the mask is boolean. Source: Xu et al. 2015, "Show, Attend and Tell", section 4.1.
    """
    check_qkv("attention.hard", q, k, v)
    if generator.device.type != q.device.type:
        raise ValueError(
            f"attention.hard: expected a generator on the inputs' device {q.device}; got one on {generator.device}"
        )
    if mask is not None:
        check_mask("attention.hard", mask, q.shape[-2], k.shape[-2])
    with torch.no_grad():
        shape = (*check_lead("attention.hard", q, k, v, mask), q.shape[-2])
        index, known = _draw_keys(q, k, mask, shape, generator)
    if not k.shape[-2]:
        return v.new_zeros(*index.shape, v.shape[-1]), index
    at = index.clamp(min=0).unsqueeze(-1)
    z = torch.take_along_dim(v.expand(*index.shape[:-1], *v.shape[-2:]), at, -2)
    z = torch.where(index.unsqueeze(-1) < 0, 0.0, z)
    return torch.where(known.unsqueeze(-1), z, torch.nan), index


def log_weight(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    index: Int64[Tensor, "... n"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
) -> Float[Tensor, "... n"]:
    """log a[i, index[i]]: the log-probability of what ``hard`` drew, differentiable in q and k; 0 where the index is −1.

    In 16 bits it is computed in float32 and rounded once. Errors are those of ``hard``, and TypeError for an index that is
    not int64. Indices are not looked at: beyond −1 … m − 1, or of a key that is not permitted (−Inf), they are the caller's.
    """
    if q.dtype.itemsize == 2:
        return log_weight(q.float(), k.float(), index, mask).to(q.dtype)
    if min(q.dim(), k.dim()) < 2 or q.shape[-1] != k.shape[-1]:
        raise _refuse.shapes("attention.hard", "q (... n d_k), k (... m d_k)", q=q, k=k)
    _refuse.check_floating("attention.hard", q=q, k=k)
    if index.dtype != torch.int64:
        raise _refuse.dtypes("attention.hard", "an int64 index", index=index)
    if index.dim() < 1 or index.shape[-1] != q.shape[-2]:
        raise _refuse.shapes("attention.hard", "index (... n), q (... n d_k)", index=index, q=q)
    lead = _refuse.check_lead("attention.hard", {"index": index}, q=q, k=k)
    if mask is not None:
        check_mask("attention.hard", mask, q.shape[-2], k.shape[-2], lead)
    if mask is not None and unsafe(q, k):
        q, k, _ = blank(q, k, k, mask)
    if not k.shape[-2]:
        return q.new_zeros(index.shape)
    s = scaled_dot(q, k)
    if mask is not None:
        s = torch.where(mask | ~mask.any(-1, keepdim=True), s, -torch.inf)
    lead = broadcast_shapes(s.shape[:-1], index.shape)
    at = index.clamp(min=0).expand(lead).unsqueeze(-1)
    chosen = torch.log_softmax(s, -1).expand(*lead, s.shape[-1]).gather(-1, at).squeeze(-1)
    return torch.where(index < 0, 0.0, chosen)


def _draw_keys(
    q: Tensor, k: Tensor, mask: Tensor | None, shape: tuple[int, ...], generator: Generator
) -> tuple[Tensor, Tensor]:
    """For each query the key drawn, −1 where there is none; and whether its weights are numbers."""
    if not k.shape[-2]:
        return torch.full(shape, -1, device=q.device), torch.ones(shape, dtype=torch.bool, device=q.device)
    with torch.autocast(q.device.type, enabled=False):
        s = scaled_dot(q.float(), k.float()) if q.dtype.itemsize < 8 else scaled_dot(q, k)
    total = masked_softmax(s.double(), mask).cumsum(-1)
    if mask is not None:
        # A key that is not permitted has no share, however the running sum was rounded.
        total = torch.where(mask, total, 0.0)
    whole = total.amax(-1)
    u = torch.rand(shape, generator=generator, dtype=torch.float64, device=q.device) * whole
    index = (total > u.unsqueeze(-1)).max(-1).indices  # the first
    return torch.where(whole > 0, index, -1), ~whole.isnan().expand(shape)

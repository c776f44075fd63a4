"""Attention with projections: queries, keys and values made from one sequence or two, in one head or several.

Letters are the statements': sequences x of n and y of m entries of d_model numbers each; h heads. What stands in x where a
query may attend to nothing, or in y where no query may attend, NaN and Inf included, reaches neither output nor gradient: it
is blanked before the projections, whose gradients would meet it otherwise.
"""

from typing import Literal, overload

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl.attention._checks import Backend, check_mask
from impl.attention.masks import blank_sequences
from impl.attention.weights import attend_with_weights, causal, scaled_dot_product

__all__ = ["self_", "cross", "multi_head", "biased_multi_head", "causal_multi_head"]

_X, _XY = "x (... n d_model)", "x (... n d_model), y (... m d_model)"
_ONE = "W_q (d_model d_k), W_k (d_model d_k), W_v (d_model d_v)"
_ALL = "W_q (h d_model d_k), W_k (h d_model d_k), W_v (h d_model d_v), W_o (h*d_v d_model)"
_WITH_BIASES = f"{_ALL}, b_q (h d_k), b_k (h d_k), b_v (h d_v), b_o (d_model)"
_SELF, _CROSS, _HEADS = Axes(f"{_X}, {_ONE}"), Axes(f"{_XY}, {_ONE}"), Axes(f"{_XY}, {_ALL}")
_CAUSAL, _BIASED = Axes(f"{_WITH_BIASES}, {_X}"), Axes(f"{_WITH_BIASES}, {_XY}")


def self_(
    x: Float[Tensor, "... n d_model"],
    W_q: Float[Tensor, "d_model d_k"],
    W_k: Float[Tensor, "d_model d_k"],
    W_v: Float[Tensor, "d_model d_v"],
    mask: Bool[Tensor, "... #n #n"] | None = None,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """Attention of a sequence to itself: ``scaled_dot_product(x W_q, x W_k, x W_v, mask)``. Statement: ``attention.self``.

    ValueError for shapes that do not fit, TypeError unless x and the weights share one floating dtype and the mask is
    boolean. Source: Vaswani et al. 2017, section 3.2.
    """
    _check("attention.self", _SELF, mask, x=x, W_q=W_q, W_k=W_k, W_v=W_v)
    return _attend(x, x, W_q, W_k, W_v, mask, backend)


def cross(
    x: Float[Tensor, "... n d_model"],
    y: Float[Tensor, "... m d_model"],
    W_q: Float[Tensor, "d_model d_k"],
    W_k: Float[Tensor, "d_model d_k"],
    W_v: Float[Tensor, "d_model d_v"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """Attention of one sequence to another: ``scaled_dot_product(x W_q, y W_k, y W_v, mask)``. Statement: ``attention.cross``.

    ValueError for shapes that do not fit, TypeError unless the sequences and the weights share one floating dtype and the mask
    is boolean. Source: Vaswani et al. 2017, section 3.2.3.
    """
    _check("attention.cross", _CROSS, mask, x=x, y=y, W_q=W_q, W_k=W_k, W_v=W_v)
    return _attend(x, y, W_q, W_k, W_v, mask, backend)


@overload
def multi_head(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
    *,
    return_weights: Literal[False] = False,
    backend: Backend = "auto",
) -> Tensor: ...
@overload
def multi_head(
    x: Tensor,
    y: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    mask: Tensor | None = None,
    *,
    return_weights: Literal[True],
    backend: Backend = "auto",
) -> tuple[Tensor, Tensor]: ...
def multi_head(
    x: Float[Tensor, "... n d_model"],
    y: Float[Tensor, "... m d_model"],
    W_q: Float[Tensor, "h d_model d_k"],
    W_k: Float[Tensor, "h d_model d_k"],
    W_v: Float[Tensor, "h d_model d_v"],
    W_o: Float[Tensor, "h*d_v d_model"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    return_weights: bool = False,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_model"] | tuple[Float[Tensor, "... n d_model"], Float[Tensor, "... h n m"]]:
    """[head_1 … head_h] W_o with head_t = ``cross(x, y, W_q[t], W_k[t], W_v[t], mask)``; all heads are projected by one
    product. Statement: ``attention.multi_head``.

    The mask holds for every head. A query that may attend to nothing gets 0. ``return_weights=True`` returns (z, a) with the
    weights a of every head: h·n·m numbers for each sequence, which otherwise never exist (and as many again for the
    gradient). ``MultiHeadAttention`` holds the weights packed, and may have biases.

    ValueError for shapes that do not fit, TypeError unless the sequences and the weights share one floating dtype and the mask
    is boolean. Source: Vaswani et al. 2017, section 3.2.2.
    """
    given = {"W_q": W_q, "W_k": W_k, "W_v": W_v, "W_o": W_o}
    _check("attention.multi_head", _HEADS, mask, x=x, y=y, **given)
    x, y = blank_sequences(x, y, mask)
    h = W_q.shape[0]
    q, k, v = (split_heads(of @ W.transpose(0, 1).flatten(1), h) for of, W in ((x, W_q), (y, W_k), (y, W_v)))
    concat, a = attend_heads(q, k, v, mask, return_weights, backend)
    z = concat @ W_o
    return z if a is None else (z, a)


def biased_multi_head(
    x: Float[Tensor, "... n d_model"],
    y: Float[Tensor, "... m d_model"],
    W_q: Float[Tensor, "h d_model d_k"],
    b_q: Float[Tensor, "h d_k"],
    W_k: Float[Tensor, "h d_model d_k"],
    b_k: Float[Tensor, "h d_k"],
    W_v: Float[Tensor, "h d_model d_v"],
    b_v: Float[Tensor, "h d_v"],
    W_o: Float[Tensor, "h*d_v d_model"],
    b_o: Float[Tensor, " d_model"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_model"]:
    """[head_1 … head_h] W_o + b_o, where head_t is the attention of the queries x W_q[t] + b_q[t] to the keys y W_k[t] + b_k[t]
    and the values y W_v[t] + b_v[t]; all heads are projected by one product. Statement: ``attention.biased_multi_head``.

    The mask holds for every head; a query that may attend to nothing gets b_o. ``MultiHeadAttention`` holds the weights packed,
    as one linear layer. ValueError for shapes that do not fit, TypeError unless the sequences and the weights share one floating
    dtype and the mask is boolean. Source: Vaswani et al. 2017, section 3.2.2; Devlin et al. 2019, section 3.
    """
    given = {"W_q": W_q, "b_q": b_q, "W_k": W_k, "b_k": b_k, "W_v": W_v, "b_v": b_v, "W_o": W_o, "b_o": b_o}
    _check("attention.biased_multi_head", _BIASED, mask, x=x, y=y, **given)
    x, y = blank_sequences(x, y, mask)
    projections = ((x, W_q, b_q), (y, W_k, b_k), (y, W_v, b_v))
    q, k, v = (_project_heads(of, W, b) for of, W, b in projections)
    return F.linear(attend_heads(q, k, v, mask, False, backend)[0], W_o.mT, b_o)


def causal_multi_head(
    x: Float[Tensor, "... n d_model"],
    W_q: Float[Tensor, "h d_model d_k"],
    b_q: Float[Tensor, "h d_k"],
    W_k: Float[Tensor, "h d_model d_k"],
    b_k: Float[Tensor, "h d_k"],
    W_v: Float[Tensor, "h d_model d_v"],
    b_v: Float[Tensor, "h d_v"],
    W_o: Float[Tensor, "h*d_v d_model"],
    b_o: Float[Tensor, " d_model"],
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_model"]:
    """[head_1 … head_h] W_o + b_o, where head_t is the causal attention of the queries x W_q[t] + b_q[t], the keys
    x W_k[t] + b_k[t] and the values x W_v[t] + b_v[t]; all heads are projected by one product. Statement:
    ``attention.causal_multi_head``.

    No row depends on a row of x after it. ``MultiHeadAttention`` holds the weights packed, as one linear layer, and is
    called with ``causal=True``. ValueError for shapes that do not fit, TypeError unless x and the weights share one floating
    dtype. Source: Vaswani et al. 2017, sections 3.2.2 and 3.2.3.
    """
    given = {"W_q": W_q, "b_q": b_q, "W_k": W_k, "b_k": b_k, "W_v": W_v, "b_v": b_v, "W_o": W_o, "b_o": b_o}
    _check("attention.causal_multi_head", _CAUSAL, None, x=x, **given)
    q, k, v = (_project_heads(x, W, b) for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v)))
    z = causal(q, k, v, backend=backend)
    return beside(z) @ W_o + b_o


def split_heads(x: Tensor, h: int) -> Tensor:
    """(... n h·d), one head beside the other, as (... h n d)."""
    return x.unflatten(-1, (h, x.shape[-1] // h)).transpose(-3, -2)  # type: ignore[no-any-return]


def attend_heads(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    return_weights: bool,
    backend: Backend,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor | None]:
    """The heads' contexts, one beside the other (... n h·d_v), and where asked for their weights (... h n m)."""
    if mask is not None and mask.dim() > 2:
        mask = mask.unsqueeze(-3)
    if return_weights:
        z, a = attend_with_weights(q, k, v, mask, bias, dropout)
        return beside(z), a
    return beside(scaled_dot_product(q, k, v, mask, bias=bias, dropout=dropout, backend=backend)), None


def beside(z: Tensor) -> Tensor:
    """(... h n d), one head beside the other, as (... n h·d)."""
    return z.transpose(-3, -2).flatten(-2)


def _project_heads(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """x W[t] + b[t] for every head t by one product: (... h n width)."""
    return split_heads(F.linear(x, W.transpose(0, 1).flatten(1).mT, b.flatten()), W.shape[0])


def _attend(
    x: Tensor, y: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, mask: Tensor | None, backend: Backend
) -> Tensor:
    x, y = blank_sequences(x, y, mask)
    return scaled_dot_product(x @ W_q, y @ W_k, y @ W_v, mask, backend=backend)


def _check(formula: str, axes: Axes, mask: Tensor | None, **given: Tensor) -> None:
    """Refuse sequences and weights without these axes or of other types, and a mask that does not fit."""
    axes.fit(formula, **given)
    x, y = given["x"], given.get("y", given["x"])
    lead = _refuse.check_lead(formula, x=x, y=y)
    if mask is not None:
        check_mask(formula, mask, x.shape[-2], y.shape[-2], lead)

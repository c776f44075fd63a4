"""Transformer-XL as functions of its weights, with the statements' inputs in their order and the weights in named tuples.

Letters are the statements': n tokens of d_model entries each, M rows of memory; h heads; L layers, whose parameters are stacked
in front; a vocabulary of V tokens. Leading dimensions of tokens, memories and masks are batches and broadcast.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl._weights import with_axes
from impl.attention._checks import check_mask
from impl.attention.masks import blank_sequences, causal_mask
from impl.attention.projections import beside, split_heads
from impl.attention.relative import attend, blank_distances
from impl.embedding import token
from impl.feedforward import relu
from impl.normalization import add_norm
from impl.positional import sinusoidal

__all__ = ["AttentionWeights", "LayerWeights", "attention", "layer", "model"]

Gradient = Literal["stopped", "passed"]
Layout = Literal["concatenated", "interleaved"]


class AttentionWeights(NamedTuple):
    """The weights of attention with a memory; or of L layers, each with an axis L in front."""

    W_q: Float[Tensor, "*L h d_model d_k"]
    W_k: Float[Tensor, "*L h d_model d_k"]
    W_v: Float[Tensor, "*L h d_model d_v"]
    W_r: Float[Tensor, "*L h d_model d_k"]
    W_o: Float[Tensor, "*L h*d_v d_model"]
    u: Float[Tensor, "*L h d_k"]
    w: Float[Tensor, "*L h d_k"]


class LayerWeights(NamedTuple):
    """The weights of a layer; or of L layers, each with an axis L in front."""

    W_q: Float[Tensor, "*L h d_model d_k"]
    W_k: Float[Tensor, "*L h d_model d_k"]
    W_v: Float[Tensor, "*L h d_model d_v"]
    W_r: Float[Tensor, "*L h d_model d_k"]
    W_o: Float[Tensor, "*L h*d_v d_model"]
    u: Float[Tensor, "*L h d_k"]
    w: Float[Tensor, "*L h d_k"]
    gamma_1: Float[Tensor, "*L d_model"]
    beta_1: Float[Tensor, "*L d_model"]
    W_1: Float[Tensor, "*L d_model d_ff"]
    b_1: Float[Tensor, "*L d_ff"]
    W_2: Float[Tensor, "*L d_ff d_model"]
    b_2: Float[Tensor, "*L d_model"]
    gamma_2: Float[Tensor, "*L d_model"]
    beta_2: Float[Tensor, "*L d_model"]


_AXES = with_axes("x (... n d_model), memory (... M d_model), R (... M+n d_model)", AttentionWeights)


def attention(
    x: Float[Tensor, "... n d_model"],
    memory: Float[Tensor, "... M d_model"],
    R: Float[Tensor, "... M+n d_model"],
    weights: AttentionWeights,
    mask: Bool[Tensor, "... #n #M+n"] | None = None,
    *,
    gradient: Gradient = "stopped",
) -> Float[Tensor, "... n d_model"]:
    """[head_1 … head_h] W_o, where head_t is the attention by relative positions of the tokens' queries to the keys and values of
    memory and tokens, up to each one's own place. Statement: ``transformer_xl.attention``.

    R has a row for each distance, from M + n − 1 down to 0. The memory may have no rows. ``gradient="passed"`` lets the gradient
    into it. A token that may attend to nothing gets 0. ValueError for shapes that do not fit, TypeError unless all but the mask
    share one floating dtype and the mask is boolean. Source: Dai et al. 2019, section 3.3.
    """
    formula = "transformer_xl.attention"
    W_q, W_k, W_v, W_r, W_o, u, w = weights
    _AXES.fit(formula, x=x, memory=memory, R=R, **weights._asdict())
    lead = _refuse.check_lead(formula, x=x, memory=memory, R=R)
    n, m, h = x.shape[-2], R.shape[-2], len(W_q)
    if mask is not None:
        check_mask(formula, mask, n, m, lead)
    x_all = _join(memory.detach() if gradient == "stopped" else memory, x)
    seen = causal_mask(n, m, device=x.device)
    if mask is not None:
        seen = seen & mask
        x, x_all = blank_sequences(x, x_all, seen)
        R = blank_distances(R, seen)
    q, k, v, r = (
        split_heads(of @ W.transpose(0, 1).flatten(1), h)
        for of, W in ((x, W_q), (x_all, W_k), (x_all, W_v), (R, W_r))
    )
    seen = seen.unsqueeze(-3) if seen.dim() > 2 else seen
    return beside(attend(q, k, v, r, u.unsqueeze(-2), w.unsqueeze(-2), seen)) @ W_o


def layer(
    x: Float[Tensor, "... n d_model"],
    memory: Float[Tensor, "... M d_model"],
    R: Float[Tensor, "... M+n d_model"],
    weights: LayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n #M+n"] | None = None,
    *,
    gradient: Gradient = "stopped",
) -> Float[Tensor, "... n d_model"]:
    """``attention`` with a memory, then ``feedforward.relu``, each within ``add_norm``. Statement: ``transformer_xl.layer``.

    The memory is what this layer read before x, the oldest row first. Errors are those of the parts. Source: Dai et al. 2019,
    section 3.3.
    """
    gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2 = weights[7:]
    z = attention(x, memory, R, AttentionWeights(*weights[:7]), mask, gradient=gradient)
    s = add_norm(x, z, gamma_1, beta_1, eps)
    return add_norm(s, relu(s, W_1, b_1, W_2, b_2), gamma_2, beta_2, eps)


def model(
    ids: Integer[Tensor, "... n"],
    memory: Float[Tensor, "... L M d_model"],
    E: Float[Tensor, "V d_model"],
    weights: LayerWeights,
    eps: float,
    mask: Bool[Tensor, "... #n #M+n"] | None = None,
    *,
    rows: int | None = None,
    gradient: Gradient = "stopped",
    layout: Layout = "concatenated",
) -> tuple[Float[Tensor, "... n d_model"], Float[Tensor, "... L _ d_model"]]:
    """The last hidden states of a segment, and the memory for the one that follows: √d_model·E[ids], and L layers, each ``layer``
    with weights and a memory of its own. Statement: ``transformer_xl.model``.

    The memory that is returned has the last M rows that each layer read, or the last ``rows``, as far as there are so many: begin
    with ``E.new_empty(L, 0, d_model)``. No gradient leaves through it. ``layout`` is that of ``impl.positional.sinusoidal``.
    ValueError unless all parameters of layers have as many of them as the memory has, and for shapes that do not fit; else errors
    are those of the parts. Source: Dai et al. 2019, sections 3.2 and 3.3.
    """
    formula = "transformer_xl.model"
    layers = list(_refuse.layers(formula, weights))
    _refuse.check_floating(formula, E=E, memory=memory)
    if (
        memory.dim() < 3
        or memory.shape[-3] != len(layers)
        or memory.shape[-1:] != E.shape[-1:]
        or not ids.dim()
        or not layers
    ):
        expected = f"ids (... n), memory (... L M d_model), E (V d_model) with L = {max(len(layers), 1)}"
        raise _refuse.shapes(formula, expected, ids=ids, memory=memory, E=E)
    _refuse.check_lead(formula, {"ids": ids}, memory=memory[..., 0, :, :])
    M, d = memory.shape[-2:]
    rows = M if rows is None else rows
    if rows < 0:
        raise ValueError(f"{formula}: expected rows >= 0; got {rows}")
    m = M + ids.shape[-1]
    R = sinusoidal(m, d, layout=layout, dtype=E.dtype, device=E.device).flip(0)
    x, kept = d**0.5 * token(ids, E), []
    for own, before in zip(layers, memory.unbind(-3), strict=True):
        read = _join(before, x)
        kept.append(read[..., max(m - rows, 0) :, :].detach())
        x = layer(x, before, R, own, eps, mask, gradient=gradient)
    return x, torch.stack(kept, -3)


def _join(memory: Tensor, x: Tensor) -> Tensor:
    """Memory and tokens, one behind the other, in every batch that either has."""
    lead = _refuse.broadcast_shapes(memory.shape[:-2], x.shape[:-2])
    return torch.cat([part.expand(*lead, *part.shape[-2:]) for part in (memory, x)], -2)

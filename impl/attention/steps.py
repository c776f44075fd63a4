"""One step of a decoder with attention: from the state s, the last word and the annotations h to the next state.

Letters are the statements': m annotations of e entries (one for each word of the source), a state of d entries, an embedding
y of p entries, V words in the vocabulary. α are the alignment's weights, c is the context, the mean of the annotations under α.
Every data input may bring leading dimensions, which broadcast; the parameters have none.

A mask is boolean, (... m), and True means "may attend". Where nothing may be attended to, α and c are 0. What stands in a masked
annotation, NaN and Inf included, reaches neither output nor gradient. 16-bit inputs are computed in float32, then rounded.

``impl.seq2seq`` runs whole sequences of such steps: a model that is trained and decodes.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl.attention.weights import masked_softmax
from impl.scores import additive_of_halves, dot

__all__ = ["bahdanau_step", "luong_step"]

_BAHDANAU = Axes("s (... d), y (... p), h (... m e), W (a d+e), v (a), W_s (d d), W_y (d p), W_c (d e)")
_LUONG = Axes("s (... d), y (... p), h (... m d), W_s (d d), W_y (d p), W_c (d 2*d), W_o (V d)")


def bahdanau_step(
    s: Float[Tensor, "... d"],
    y: Float[Tensor, "... p"],
    h: Float[Tensor, "... m e"],
    W: Float[Tensor, "a d+e"],
    v: Float[Tensor, " a"],
    W_s: Float[Tensor, "d d"],
    W_y: Float[Tensor, "d p"],
    W_c: Float[Tensor, "d e"],
    mask: Bool[Tensor, "... #m"] | None = None,
) -> tuple[Float[Tensor, "... d"], Float[Tensor, "... e"], Float[Tensor, "... m"]]:
    """Attend with the old state, then move: e_j = vᵀ tanh(W [s; h_j]), α = softmax(e) over the permitted annotations,
    c = Σ_j α_j h_j, s' = tanh(W_s s + W_y y + W_c c). Statement: ``attention.bahdanau_step``.

    Returns (s', c, α). ValueError for shapes that do not fit, TypeError unless all share one floating dtype and the mask
    is boolean. Source: Bahdanau, Cho & Bengio 2015, "Neural Machine Translation by Jointly Learning to Align and
    Translate", sections 3.1 and A.1.2.
    """
    _BAHDANAU.fit("attention.bahdanau_step", s=s, y=y, h=h, W=W, v=v, W_s=W_s, W_y=W_y, W_c=W_c)
    lead = _lead("attention.bahdanau_step", s, y, h, mask)
    dtype = s.dtype
    if dtype.itemsize == 2:
        s, y, h, W, v, W_s, W_y, W_c = (x.float() for x in (s, y, h, W, v, W_s, W_y, W_c))
    d, h = s.shape[-1], _visible(h, mask)
    query, keys = F.linear(s, W[:, :d]), F.linear(h, W[:, d:])  # W [s; h_j] = W_q s + W_k h_j
    c, alpha = context(additive_of_halves(query.unsqueeze(-2), keys, v), h, mask)
    c, alpha = c.squeeze(-2), alpha.squeeze(-2)
    s_next = torch.tanh(F.linear(s, W_s) + F.linear(y, W_y) + F.linear(c, W_c))
    return (
        s_next.expand(*lead, -1).to(dtype),
        c.expand(*lead, -1).to(dtype),
        alpha.expand(*lead, -1).to(dtype),
    )


def luong_step(
    s: Float[Tensor, "... d"],
    y: Float[Tensor, "... p"],
    h: Float[Tensor, "... m d"],
    W_s: Float[Tensor, "d d"],
    W_y: Float[Tensor, "d p"],
    W_c: Float[Tensor, "d 2*d"],
    W_o: Float[Tensor, "V d"],
    mask: Bool[Tensor, "... #m"] | None = None,
) -> tuple[Float[Tensor, "... d"], Float[Tensor, "... d"], Float[Tensor, "... V"], Float[Tensor, "... m"]]:
    """Move, then attend with the new state: s' = tanh(W_s s + W_y y), e_j = s'·h_j, α = softmax(e) over the permitted
    annotations, c = Σ_j α_j h_j, h̃ = tanh(W_c [c; s']), and the next word's probabilities softmax(W_o h̃).
    Statement: ``attention.luong_step``.

    Returns (s', h̃, probabilities, α). ValueError for shapes that do not fit, TypeError unless all share one floating
    dtype and the mask is boolean. Source: Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural
    Machine Translation", section 3 (the score *dot*); the step in words is Alammar 2018, "Visualizing A Neural Machine
    Translation Model", with a tanh as its feed-forward network.
    """
    _LUONG.fit("attention.luong_step", s=s, y=y, h=h, W_s=W_s, W_y=W_y, W_c=W_c, W_o=W_o)
    lead = _lead("attention.luong_step", s, y, h, mask)
    dtype = s.dtype
    if dtype.itemsize == 2:
        s, y, h, W_s, W_y, W_c, W_o = (x.float() for x in (s, y, h, W_s, W_y, W_c, W_o))
    s_next = torch.tanh(F.linear(s, W_s) + F.linear(y, W_y))
    h = _visible(h, mask)
    c, alpha = context(dot(s_next.unsqueeze(-2), h), h, mask)
    s_next, c, alpha = (x.expand(*lead, x.shape[-1]) for x in (s_next, c.squeeze(-2), alpha.squeeze(-2)))
    attentional = torch.tanh(F.linear(torch.cat((c, s_next), -1), W_c))
    probabilities = torch.softmax(F.linear(attentional, W_o), -1)
    return s_next.to(dtype), attentional.to(dtype), probabilities.to(dtype), alpha.to(dtype)


def _visible(h: Float[Tensor, "... m e"], mask: Bool[Tensor, "... #m"] | None) -> Float[Tensor, "... m e"]:
    """The annotations with 0 in the masked ones: 0 · 0 is 0 where 0 · NaN is NaN."""
    return h if mask is None else torch.where(mask.unsqueeze(-1), h, 0.0)


def context(
    e: Float[Tensor, "... n m"], h: Float[Tensor, "... m e"], mask: Bool[Tensor, "... #m"] | None
) -> tuple[Float[Tensor, "... n e"], Float[Tensor, "... n m"]]:
    """(c, α) by the scores e of n states: α their softmax over the permitted annotations, c the mean of h under it."""
    alpha = masked_softmax(e, None if mask is None else mask.unsqueeze(-2))
    return alpha @ h, alpha


def _lead(formula: str, s: Tensor, y: Tensor, h: Tensor, mask: Tensor | None) -> torch.Size:
    """The leading dimensions that all data broadcast to."""
    lead = _refuse.check_lead(formula, {"s": s, "y": y}, h=h)
    if mask is not None:
        if mask.dtype != torch.bool:
            raise _refuse.dtypes(formula, "a boolean mask, True = may attend", mask=mask)
        if mask.dim() < 1 or mask.shape[-1] not in (1, h.shape[-2]):
            raise _refuse.shapes(
                formula, f"a mask that broadcasts to (... m) = (... {h.shape[-2]})", mask=mask
            )
        _refuse.check_belonging(formula, lead, 1, mask=mask)
    return lead

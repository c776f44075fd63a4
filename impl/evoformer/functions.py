"""The parts of an Evoformer block as functions of their weights, and the block."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl._weights import with_axes
from impl.attention import scaled_dot_product
from impl.attention.projections import beside, split_heads
from impl.evoformer.weights import (
    BlockWeights,
    ColumnAttentionWeights,
    OuterProductMeanWeights,
    RowAttentionWeights,
    TransitionWeights,
    TriangleAttentionWeights,
    TriangleMultiplicationWeights,
)
from impl.feedforward import relu
from impl.normalization import layer_norm

_ALIGNMENT, _PAIRS = "m (... n_seq n_res c_m)", "z (... n_res n_res c_z)"
_GATED = Axes("q (... n d_k), k (... m d_k), v (... m d_v), b (... n m), g (... n d_v)")
_ROW, _COLUMN = (
    with_axes(f"{_ALIGNMENT}, {_PAIRS}", RowAttentionWeights),
    with_axes(_ALIGNMENT, ColumnAttentionWeights),
)
_OUTER, _TRANSITION = (
    with_axes(_ALIGNMENT, OuterProductMeanWeights),
    with_axes("x (... d)", TransitionWeights),
)
_MULTIPLICATION = with_axes(_PAIRS, TriangleMultiplicationWeights)
_ATTENTION = with_axes(_PAIRS, TriangleAttentionWeights)


def _fit(axes: Axes, formula: str, kind: type, weights: Any, **data: Tensor) -> dict[str, int]:
    """The size of each axis of data and weights; refuse weights that are not of the ``kind``, and what does not fit."""
    if not isinstance(weights, kind):
        raise _refuse.kind(formula, "weights", kind.__name__, weights)
    return axes.fit(formula, **data, **weights._asdict())  # type: ignore[attr-defined]


def gated_attention(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    b: Float[Tensor, "... n m"],
    g: Float[Tensor, "... n d_v"],
    mask: Bool[Tensor, "... #n #m"] | None = None,
) -> Float[Tensor, "... n d_v"]:
    """z = g ⊙ softmax(q kᵀ / √d_k + b) v over the permitted keys; a row with none is 0. Statement:
    ``evoformer.gated_attention``.

    ValueError for shapes that do not fit, TypeError unless all share one floating dtype and the mask is boolean. Source:
    Jumper et al. 2021, supplement, algorithm 7.
    """
    _GATED.fit("evoformer.gated_attention", q=q, k=k, v=v, b=b, g=g)
    _refuse.check_lead("evoformer.gated_attention", q=q, k=k, v=v, b=b, g=g)
    return g * scaled_dot_product(q, k, v, mask, bias=b)


def row_attention(
    m: Float[Tensor, "... n_seq n_res c_m"],
    z: Float[Tensor, "... n_res n_res c_z"],
    weights: RowAttentionWeights,
    eps: float,
    mask: Bool[Tensor, "... #n_seq #n_res"] | None = None,
) -> Float[Tensor, "... n_seq n_res c_m"]:
    """What each residue of each sequence gathers from the others of its sequence, with a bias from the pairs. Statement:
    ``evoformer.row_attention``.

    The mask says which entries of the alignment are attended to. ValueError for shapes that do not fit, TypeError unless data
    and weights share one floating dtype and the mask is boolean. Source: Jumper et al. 2021, supplement, algorithm 7.
    """
    _fit(_ROW, "evoformer.row_attention", RowAttentionWeights, weights, m=m, z=z)
    _check_mask("evoformer.row_attention", mask, m)
    gamma_m, beta_m, gamma_z, beta_z, W_b, *heads = weights
    bias = layer_norm(z, gamma_z, beta_z, eps) @ W_b
    return _attend(layer_norm(m, gamma_m, beta_m, eps), bias, heads, mask)


def column_attention(
    m: Float[Tensor, "... n_seq n_res c_m"],
    weights: ColumnAttentionWeights,
    eps: float,
    mask: Bool[Tensor, "... #n_seq #n_res"] | None = None,
) -> Float[Tensor, "... n_seq n_res c_m"]:
    """What each residue of each sequence gathers from its counterparts in the others. Statement:
    ``evoformer.column_attention``.

    The mask says which entries of the alignment are attended to. ValueError for shapes that do not fit, TypeError unless data
    and weights share one floating dtype and the mask is boolean. Source: Jumper et al. 2021, supplement, algorithm 8.
    """
    _fit(_COLUMN, "evoformer.column_attention", ColumnAttentionWeights, weights, m=m)
    _check_mask("evoformer.column_attention", mask, m)
    gamma, beta, *heads = weights
    x = layer_norm(m, gamma, beta, eps).transpose(-3, -2)
    return _attend(x, None, heads, None if mask is None else mask.mT).transpose(-3, -2)


def transition(x: Float[Tensor, "... d"], weights: TransitionWeights, eps: float) -> Float[Tensor, "... d"]:
    """u = max(0, y W_1 + b_1) W_2 + b_2 with y the normalised row x. Statement: ``evoformer.transition``.

    ValueError for shapes that do not fit, TypeError unless all share one floating dtype. Source: Jumper et al. 2021,
    supplement, algorithms 9 and 15.
    """
    _fit(_TRANSITION, "evoformer.transition", TransitionWeights, weights, x=x)
    gamma, beta, *network = weights
    return relu(layer_norm(x, gamma, beta, eps), *network)


def outer_product_mean(
    m: Float[Tensor, "... n_seq n_res c_m"], weights: OuterProductMeanWeights, eps: float
) -> Float[Tensor, "... n_res n_res c_z"]:
    """For each pair of residues the mean over the sequences of outer products of what they hold, times W_o. Statement:
    ``evoformer.outer_product_mean``.

    ValueError for shapes that do not fit, and where there is no sequence, TypeError unless m and weights share one floating
    dtype. Source: Jumper et al. 2021, supplement, algorithm 10.
    """
    sizes = _fit(_OUTER, "evoformer.outer_product_mean", OuterProductMeanWeights, weights, m=m)
    if sizes["n_seq"] == 0:
        raise _refuse.shapes("evoformer.outer_product_mean", "at least one sequence to take a mean of", m=m)
    gamma, beta, W_a, b_a, W_b, b_b, W_o, b_o = weights
    x = layer_norm(m, gamma, beta, eps)
    a, b = F.linear(x, W_a.mT, b_a).flatten(-2), F.linear(x, W_b.mT, b_b).flatten(-2)
    pair = (sizes["n_res"], sizes["c"])
    o = (a.mT @ (b / sizes["n_seq"])).unflatten(-1, pair).unflatten(-3, pair)  # (... i e j f)
    return F.linear(o.transpose(-3, -2).flatten(-2), W_o.flatten(0, 1).mT, b_o)


def triangle_multiplication(
    z: Float[Tensor, "... n_res n_res c_z"],
    weights: TriangleMultiplicationWeights,
    eps: float,
    incoming: bool,
    mask: Bool[Tensor, "... #n_res #n_res"] | None = None,
) -> Float[Tensor, "... n_res n_res c_z"]:
    """What pair (i, j) learns from Σ_k a_ik ⊙ b_jk, the edges that go out of i and j, or from Σ_k a_ki ⊙ b_kj, those that
    come in. Statement: ``evoformer.triangle_multiplication``.

    The mask says which pairs are edges. ValueError for shapes that do not fit, TypeError unless z and the weights share one
    floating dtype, the mask is boolean and ``incoming`` True or False. Source: Jumper et al. 2021, supplement, algorithms 11 and
    12.
    """
    _check_choice("evoformer.triangle_multiplication", "incoming", incoming)
    _fit(_MULTIPLICATION, "evoformer.triangle_multiplication", TriangleMultiplicationWeights, weights, z=z)
    _check_mask("evoformer.triangle_multiplication", mask, z)
    w = weights
    x = layer_norm(z, w.gamma_z, w.beta_z, eps)
    inward = torch.cat((w.W_a, w.W_b, w.W_ag, w.W_bg), 1), torch.cat((w.b_a, w.b_b, w.b_ag, w.b_bg))
    edges = F.glu(F.linear(x, inward[0].mT, inward[1]))
    if mask is not None:
        edges = torch.where(mask.unsqueeze(-1), edges, 0.0)
    a, b = edges.movedim(-1, -3).chunk(2, -3)  # (... c n_res n_res)
    o = (a.mT @ b if incoming else a @ b.mT).movedim(-3, -1)
    update = F.linear(layer_norm(o, w.gamma_o, w.beta_o, eps), w.W_o.mT, w.b_o)
    return F.linear(x, w.W_g.mT, w.b_g).sigmoid() * update


def triangle_attention(
    z: Float[Tensor, "... n_res n_res c_z"],
    weights: TriangleAttentionWeights,
    eps: float,
    ending: bool,
    mask: Bool[Tensor, "... #n_res #n_res"] | None = None,
) -> Float[Tensor, "... n_res n_res c_z"]:
    """What pair (i, j) gathers from the pairs (i, k) that start where it starts, or from the pairs (k, j) that end where it
    ends, with a bias from the third side. Statement: ``evoformer.triangle_attention``.

    The mask says which pairs are attended to. ValueError for shapes that do not fit, TypeError unless z and the weights share
    one floating dtype, the mask is boolean and ``ending`` True or False. Source: Jumper et al. 2021, supplement, algorithms 13
    and 14.
    """
    _check_choice("evoformer.triangle_attention", "ending", ending)
    _fit(_ATTENTION, "evoformer.triangle_attention", TriangleAttentionWeights, weights, z=z)
    _check_mask("evoformer.triangle_attention", mask, z)
    gamma, beta, W_b, *heads = weights
    x = layer_norm(z, gamma, beta, eps)
    if ending:  # around the ending residue it is the same of the transposed pairs
        x, mask = x.transpose(-3, -2), None if mask is None else mask.mT
    u = _attend(x, x @ W_b, heads, mask)
    return u.transpose(-3, -2) if ending else u


def block(
    m: Float[Tensor, "... n_seq n_res c_m"],
    z: Float[Tensor, "... n_res n_res c_z"],
    weights: BlockWeights,
    eps: float,
    mask: Bool[Tensor, "... #n_res"] | None = None,
) -> tuple[Float[Tensor, "... n_seq n_res c_m"], Float[Tensor, "... n_res n_res c_z"]]:
    """The alignment and the pairs after nine updates, each added to what it was made for. Statement: ``evoformer.block``.

    The mask says which residues take part: padding does not. Errors are those of the parts. In training AlphaFold drops whole
    rows or columns of some updates; here none is. Source: Jumper et al. 2021, supplement, algorithm 6.
    """
    if not isinstance(weights, BlockWeights):
        raise _refuse.kind("evoformer.block", "weights", "BlockWeights", weights)
    residues = pairs = None
    _check_mask("evoformer.block", mask, m, 1)
    if mask is not None:
        residues, pairs = mask.unsqueeze(-2), mask.unsqueeze(-1) & mask.unsqueeze(-2)
    m = m + row_attention(m, z, weights.row, eps, residues)
    m = m + column_attention(m, weights.column, eps)
    m = m + transition(m, weights.alignment, eps)
    z = z + outer_product_mean(m, weights.outer, eps)
    z = z + triangle_multiplication(z, weights.outgoing, eps, False, pairs)
    z = z + triangle_multiplication(z, weights.incoming, eps, True, pairs)
    z = z + triangle_attention(z, weights.starting, eps, False, pairs)
    z = z + triangle_attention(z, weights.ending, eps, True, pairs)
    z = z + transition(z, weights.pairs, eps)
    return m, z


def _attend(x: Tensor, bias: Tensor | None, heads: list[Tensor], mask: Tensor | None) -> Tensor:
    """Gated attention within each row of x (... rows n d), in h heads; ``bias`` (... n n h) is that of all rows, ``mask``
    (... rows n) says what is attended to.
    """
    W_q, W_k, W_v, W_g, b_g, W_o, b_o = heads
    h = W_q.shape[0]
    q, k, v = (split_heads(x @ W.transpose(0, 1).flatten(1), h) for W in (W_q, W_k, W_v))  # (... rows h n c)
    if bias is not None:
        bias = bias.movedim(-1, -3).unsqueeze(-4)
    found = scaled_dot_product(q, k, v, None if mask is None else mask[..., None, None, :], bias=bias)
    gates = F.linear(x, W_g.transpose(0, 1).flatten(1).mT, b_g.flatten()).sigmoid()
    return F.linear(gates * beside(found), W_o.mT, b_o)


def _check_choice(formula: str, name: str, given: object) -> None:
    """Refuse what is neither True nor False: every word is true in Python."""
    if not isinstance(given, bool):
        raise _refuse.kind(formula, name, "True or False", given)


def _check_mask(formula: str, mask: Tensor | None, data: Tensor, axes: int = 2) -> None:
    """Refuse a mask that is not boolean, or not of so many axes before the last of the data (... _ _ c)."""
    if mask is None:
        return
    if mask.dtype != torch.bool:
        raise _refuse.dtypes(formula, "a boolean mask, True = takes part", mask=mask)
    own = data.shape[-1 - axes : -1]
    if mask.dim() < axes or any(
        size not in (1, whole) for size, whole in zip(mask.shape[-axes:], own, strict=False)
    ):
        expected = f"a mask that broadcasts to (... {' '.join(map(str, own))})"
        raise _refuse.shapes(formula, expected, mask=mask)
    _refuse.check_belonging(formula, data.shape[:-3], axes, mask=mask)

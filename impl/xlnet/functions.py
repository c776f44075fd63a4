"""XLNet as functions of its weights, with the statements' inputs in their order and the weights of a layer in a tuple.

Letters are the statements': n tokens of d_model entries each; h heads; L layers, whose parameters are stacked in front; a
vocabulary of V tokens. Leading dimensions of tokens are batches and broadcast. ``R`` has a row for each of the 2·n − 1 distances,
from the farthest behind to the farthest ahead; ``order`` the place of each token in the order, ``seg`` which text it is of.
"""

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from impl import _refuse
from impl._axes import Axes
from impl._labels import IGNORED
from impl._weights import with_axes
from impl.attention._checks import Backend, check_mask
from impl.attention.masks import blank, unsafe
from impl.attention.relative import attend
from impl.embedding import rows
from impl.feedforward import gelu
from impl.normalization import add_norm
from impl.objectives import mlm
from impl.positional import sinusoidal

__all__ = ["LayerWeights", "attention", "objective", "two_stream"]


class LayerWeights(NamedTuple):
    """The weights of a layer; or of L layers, each with an axis L in front."""

    W_q: Float[Tensor, "*L h d_model d_k"]
    W_k: Float[Tensor, "*L h d_model d_k"]
    W_v: Float[Tensor, "*L h d_model d_v"]
    W_r: Float[Tensor, "*L h d_model d_k"]
    u: Float[Tensor, "*L h d_k"]
    w: Float[Tensor, "*L h d_k"]
    f: Float[Tensor, "*L h d_k"]
    S: Float[Tensor, "*L h 2 d_k"]
    W_o: Float[Tensor, "*L h*d_v d_model"]
    gamma_1: Float[Tensor, "*L d_model"]
    beta_1: Float[Tensor, "*L d_model"]
    W_1: Float[Tensor, "*L d_model d_ff"]
    b_1: Float[Tensor, "*L d_ff"]
    W_2: Float[Tensor, "*L d_ff d_model"]
    b_2: Float[Tensor, "*L d_model"]
    gamma_2: Float[Tensor, "*L d_model"]
    beta_2: Float[Tensor, "*L d_model"]


_HEAD = Axes(
    "q (... n d_k), k (... n d_k), v (... n d_v), r (... p d_k), u (... d_k), w (... d_k), f (... d_k), S (... 2 d_k)"
)
_LAYER = with_axes("x (... n d_model), g (... n d_model), R (... p d_model)", LayerWeights)


def attention(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... n d_k"],
    v: Float[Tensor, "... n d_v"],
    r: Float[Tensor, "... 2*n-1 d_k"],
    seg: Integer[Tensor, "... n"],
    u: Float[Tensor, "... d_k"],
    w: Float[Tensor, "... d_k"],
    f: Float[Tensor, "... d_k"],
    S: Float[Tensor, "... 2 d_k"],
    mask: Bool[Tensor, "... #n #n"] | None = None,
    *,
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """z = softmax(((q + u) kᵀ + D + T) / √d_k) v over the permitted tokens; a row with none is 0. Statement: ``xlnet.attention``.

    D[i, j] = (q_i + w)·r_{j − i + n − 1}; T[i, j] = (q_i + f)·S_0 for tokens of one text, (q_i + f)·S_1 for others.
    Leading dimensions of the parameters, such as heads, broadcast with the others. In 16 bits all is computed in float32, z
    rounded once. ValueError for shapes that do not fit, TypeError unless all but seg and the mask share one floating dtype,
    seg is of integers and the mask is boolean. Source: Yang et al. 2019, sections 2.4 and 2.5.
    """
    formula = "xlnet.attention"
    n = _HEAD.fit(formula, q=q, k=k, v=v, r=r, u=u, w=w, f=f, S=S)["n"]
    if r.shape[-2] != 2 * n - 1:
        raise _refuse.shapes(formula, "q (... n d_k), r (... 2*n-1 d_k)", q=q, r=r)
    _refuse.check_integers(formula, "integer seg", seg=seg)
    if seg.dim() < 1 or seg.shape[-1] != n:
        raise _refuse.shapes(formula, f"seg (... n) = (... {n})", seg=seg)
    vectors = {"seg": seg, "u": u, "w": w, "f": f}
    lead = _refuse.check_lead(formula, vectors, q=q, k=k, v=v, r=r, S=S)
    if mask is not None:
        check_mask(formula, mask, n, n, lead)
    dtype, q = q.dtype, q.expand(*lead, *q.shape[-2:])
    if dtype.itemsize == 2:
        q, k, v, r, u, w, f, S = (x.float() for x in (q, k, v, r, u, w, f, S))
    u, w, f = u.unsqueeze(-2), w.unsqueeze(-2), f.unsqueeze(-2)
    if mask is not None and unsafe(q, k, v):
        q, k, v = blank(q, k, v, mask)
    own, other = ((q + f) @ S.mT / math.sqrt(q.shape[-1])).split(1, -1)
    texts = torch.where(seg.unsqueeze(-1) == seg.unsqueeze(-2), own, other)
    return attend(q, k, v, r, u, w, mask, backend, texts).to(dtype)


def two_stream(
    x: Float[Tensor, "... n d_model"],
    g: Float[Tensor, "... n d_model"],
    R: Float[Tensor, "... 2*n-1 d_model"],
    seg: Integer[Tensor, "... n"],
    order: Integer[Tensor, "... n"],
    weights: LayerWeights,
    eps: float,
) -> tuple[Float[Tensor, "... n d_model"], Float[Tensor, "... n d_model"]]:
    """Content rows x and query rows g after a layer of XLNet. Statement: ``xlnet.two_stream``.

    Both attend to the content, x to tokens before its own in the order and to itself, g to those before it alone; then
    ``feedforward.gelu``; each within ``add_norm``.
    XLNet's ε is 1e-12. ValueError for shapes that do not fit, TypeError unless seg and order are of integers; else errors are
    those of the parts. Source: Yang et al. 2019, section 2.3 and appendix A.2.
    """
    formula = "xlnet.two_stream"
    W_q, W_k, W_v, W_r, u, w, f, S, W_o, gamma_1, beta_1, W_1, b_1, W_2, b_2, gamma_2, beta_2 = weights
    n = _LAYER.fit(formula, x=x, g=g, R=R, **weights._asdict())["n"]
    if R.shape[-2] != 2 * n - 1:
        raise _refuse.shapes(formula, "x (... n d_model), R (... 2*n-1 d_model)", x=x, R=R)
    _refuse.check_integers(formula, "integer seg and order", seg=seg, order=order)
    if not seg.shape[-1:] == order.shape[-1:] == (n,):
        raise _refuse.shapes(formula, f"seg (... n), order (... n) with n = {n}", seg=seg, order=order)
    lead = _refuse.check_lead(formula, {"seg": seg, "order": order}, x=x, g=g, R=R)
    x, g = (rows.expand(*lead, *rows.shape[-2:]) for rows in (x, g))
    before = (order.unsqueeze(-2) < order.unsqueeze(-1)).unsqueeze(-3)
    up_to = before | torch.eye(n, dtype=torch.bool, device=order.device)
    k, v, r = _project(x, W_k), _project(x, W_v), _project(R, W_r)
    seg = seg.unsqueeze(-2)

    def stream(asking: Tensor, seen: Tensor) -> Tensor:
        z = attention(_project(asking, W_q), k, v, r, seg, u, w, f, S, seen)
        s = add_norm(asking, z.transpose(-3, -2).flatten(-2) @ W_o, gamma_1, beta_1, eps)
        return add_norm(s, gelu(s, W_1, b_1, W_2, b_2), gamma_2, beta_2, eps)

    return stream(x, up_to), stream(g, before)


def objective(
    ids: Integer[Tensor, "... n"],
    seg: Integer[Tensor, "... n"],
    order: Integer[Tensor, "... n"],
    c: int,
    E: Float[Tensor, "V d_model"],
    g_0: Float[Tensor, " d_model"],
    weights: LayerWeights,
    b_V: Float[Tensor, " V"],
    eps: float,
    *,
    prediction: Literal["partial", "full"] = "partial",
) -> tuple[Float[Tensor, "... n V"], Float[Tensor, "..."]]:
    """At each place the logits of its token, given those before it in the order, and the mean of −log p over the tokens that are
    predicted: those at place c of the order or later, or with ``prediction="full"`` all of them. Statement: ``xlnet.objective``.

    L layers, each ``two_stream`` with weights of its own, over E[ids] and, for queries, g_0; logits are the query rows' products
    with every row of E, and b_V. The loss is 0 where no token is predicted. ValueError unless all parameters of layers have as
    many of them, and for shapes that do not fit; else errors are those of the parts. Source: Yang et al. 2019, sections 2.2
    and 2.3.
    """
    formula = "xlnet.objective"
    _refuse.check_floating(formula, E=E, g_0=g_0, b_V=b_V)
    if not ids.dim() or g_0.shape != E.shape[1:] or b_V.shape != E.shape[:1]:
        expected = "ids (... n), E (V d_model), g_0 (d_model), b_V (V)"
        raise _refuse.shapes(formula, expected, ids=ids, E=E, g_0=g_0, b_V=b_V)
    x = rows(formula, "E (V d_model)", ids=ids, E=E)
    g = g_0.expand(x.shape)
    R = distances(x.shape[-2], E)
    for own in _refuse.layers(formula, weights):
        x, g = two_stream(x, g, R, seg, order, own, eps)
    logits = F.linear(g, E, b_V)
    labels = ids if prediction == "full" else torch.where(order >= c, ids, IGNORED)
    return logits, mlm(logits, labels.expand(logits.shape[:-1]))


def distances(n: int, like: Float[Tensor, "... d_model"]) -> Float[Tensor, "{2*n-1} d_model"]:
    """The encodings of the distances n − 1 … 1 − n between n places: ⌈d/2⌉ sines, then ⌊d/2⌋ cosines, of the width, device and
    dtype of ``like``.
    """
    sines = -(-like.shape[-1] // 2)
    ahead = sinusoidal(n, like.shape[-1], layout="concatenated", dtype=like.dtype, device=like.device)
    behind = torch.cat((-ahead[:, :sines], ahead[:, sines:]), -1)  # −distance: sines are odd, cosines even
    return torch.cat((ahead.flip(0), behind[1:]))


def _project(rows: Tensor, W: Tensor) -> Tensor:
    """The rows times the matrix of each head: (... h n width)."""
    return rows.unsqueeze(-3) @ W

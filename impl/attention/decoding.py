"""Causal multi-head self-attention: what each layer of a GPT computes, its projections with biases."""

from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl.attention._checks import Backend, check_backend
from impl.attention._heads import split_heads
from impl.attention.causality import causal

__all__ = ["causal_multi_head"]


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

    No row depends on a row of x after it. ``MultiHeadAttention`` holds the weights packed, as one linear layer, and takes
    the mask of ``causal_mask``. ValueError for shapes that do not fit, TypeError unless x and the weights share one floating
    dtype. Source: Vaswani et al. 2017, sections 3.2.2 and 3.2.3.
    """
    given = {"W_q": W_q, "b_q": b_q, "W_k": W_k, "b_k": b_k, "W_v": W_v, "b_v": b_v, "W_o": W_o, "b_o": b_o}
    _check(x, **given)
    check_backend("attention.causal_multi_head", backend)
    h = W_q.shape[0]
    projected = (
        x @ W.transpose(0, 1).flatten(1) + b.flatten() for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v))
    )
    z = causal(*(split_heads(each, h) for each in projected), backend=backend)
    return z.transpose(-3, -2).flatten(-2) @ W_o + b_o


def _check(
    x: Tensor,
    *,
    W_q: Tensor,
    b_q: Tensor,
    W_k: Tensor,
    b_k: Tensor,
    W_v: Tensor,
    b_v: Tensor,
    W_o: Tensor,
    b_o: Tensor,
) -> None:
    formula = "attention.causal_multi_head"
    h, d_model, d_k = W_q.shape if W_q.dim() == 3 else (0, 0, 0)
    d_v = W_v.shape[-1] if W_v.dim() else 0
    expected = {
        "W_q": (h, d_model, d_k),
        "b_q": (h, d_k),
        "W_k": (h, d_model, d_k),
        "b_k": (h, d_k),
        "W_v": (h, d_model, d_v),
        "b_v": (h, d_v),
        "W_o": (h * d_v, d_model),
        "b_o": (d_model,),
    }
    given = {"W_q": W_q, "b_q": b_q, "W_k": W_k, "b_k": b_k, "W_v": W_v, "b_v": b_v, "W_o": W_o, "b_o": b_o}
    if W_q.dim() != 3 or any(each.shape != expected[name] for name, each in given.items()):
        said = "W_q, W_k (h d_model d_k), b_q, b_k (h d_k), W_v (h d_model d_v), b_v (h d_v), W_o (h*d_v d_model), b_o (d_model)"
        raise _refuse.shapes(formula, said, **given)
    if x.dim() < 2 or x.shape[-1] != d_model:
        raise _refuse.shapes(formula, f"x (... n d_model) with d_model = {d_model}", x=x)
    _refuse.check_floating(formula, x=x, **given)

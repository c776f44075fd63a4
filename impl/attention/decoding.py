"""Causal multi-head self-attention: what each layer of a GPT computes, its projections with biases."""

from jaxtyping import Float
from torch import Tensor

from impl.attention._checks import Backend, check_backend
from impl.attention._heads import split_heads
from impl.attention.biased import check_biased
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
    check_biased("attention.causal_multi_head", x, **given)
    check_backend("attention.causal_multi_head", backend)
    h = W_q.shape[0]
    projected = (
        x @ W.transpose(0, 1).flatten(1) + b.flatten() for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v))
    )
    z = causal(*(split_heads(each, h) for each in projected), backend=backend)
    return z.transpose(-3, -2).flatten(-2) @ W_o + b_o

"""Scores of queries against keys, one number for every pair.

Letters are the statements': n queries and m keys, all of d_k entries. Source of both: Vaswani et al. 2017, "Attention Is All
You Need", section 3.2.1. A float16 or bfloat16 score is computed in float32 and rounded once.
"""

import math

from jaxtyping import Float
from torch import Tensor, float32

from impl import _refuse

__all__ = ["dot", "scaled_dot"]


def dot(q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"]) -> Float[Tensor, "... n m"]:
    """s[i,j] = Σ_c q[i,c] k[j,c]. Statement: ``scores.dot``.

    Leading dimensions broadcast. ValueError for shapes that do not fit, TypeError unless q and k share one floating
    dtype, which is also the result's.
    """
    _check("scores.dot", q, k)
    return q @ k.mT


def scaled_dot(q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"]) -> Float[Tensor, "... n m"]:
    """s[i,j] = Σ_c q[i,c] k[j,c] / √d_k: the dot product, at unit variance for unit-variance entries.
    Statement: ``scores.scaled_dot``.

    Leading dimensions broadcast. ValueError for shapes that do not fit, TypeError unless q and k share one floating
    dtype, which is also the result's.
    """
    _check("scores.scaled_dot", q, k)
    if q.dtype.itemsize == 2:  # dividing a product already rounded to 16 bits would round twice
        return (q.to(float32) @ k.mT.to(float32) / math.sqrt(q.shape[-1])).to(q.dtype)
    return q @ k.mT / math.sqrt(q.shape[-1])


def _check(formula: str, q: Tensor, k: Tensor) -> None:
    qs, ks = q.shape, k.shape
    if len(qs) < 2 or len(ks) < 2 or qs[-1] != ks[-1]:
        raise _refuse.shapes(formula, "q (... n d_k), k (... m d_k)", q=q, k=k)
    if qs[:-2] != ks[:-2]:
        _refuse.check_lead(formula, q=q, k=k)
    if q.dtype != k.dtype or not q.is_floating_point():
        _refuse.check_floating(formula, q=q, k=k)

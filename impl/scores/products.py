"""Scores that are inner products: plain, scaled, through a matrix, and of normalised vectors."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse

__all__ = ["dot", "scaled_dot", "general", "cosine"]


def dot(q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"]) -> Float[Tensor, "... n m"]:
    """s[i,j] = Σ_c q[i,c] k[j,c]. Statement: ``scores.dot``.

    Leading dimensions broadcast. ValueError for shapes that do not fit, TypeError unless q and k share one floating
    dtype, which is also the result's. Source: Luong, Pham & Manning 2015, equation 8.
    """
    _check("scores.dot", q, k)
    return q @ k.mT


def scaled_dot(q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"]) -> Float[Tensor, "... n m"]:
    """s[i,j] = Σ_c q[i,c] k[j,c] / √d_k: the dot product, at unit variance for unit-variance entries.
    Statement: ``scores.scaled_dot``.

    Leading dimensions broadcast. ValueError for shapes that do not fit, TypeError unless q and k share one floating
    dtype, which is also the result's. Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.2.1.
    """
    _check("scores.scaled_dot", q, k)
    if q.dtype.itemsize == 2:
        return scaled_dot(q.float(), k.float()).to(q.dtype)
    return (q / math.sqrt(q.shape[-1])) @ k.mT  # n · d_k divisions, not n · m


def general(
    q: Float[Tensor, "... n d_q"], k: Float[Tensor, "... m d_k"], W: Float[Tensor, "d_q d_k"]
) -> Float[Tensor, "... n m"]:
    """s[i,j] = q[i]ᵀ W k[j]: queries and keys of different widths meet through a matrix. Statement: ``scores.general``.

    Leading dimensions of q and k broadcast. ValueError for shapes that do not fit, TypeError unless all share one
    floating dtype, which is also the result's. Source: Luong, Pham & Manning 2015, equation 8.
    """
    if min(q.dim(), k.dim(), W.dim()) < 2 or W.shape != (q.shape[-1], k.shape[-1]):
        raise _refuse.shapes("scores.general", "q (... n d_q), k (... m d_k), W (d_q d_k)", q=q, k=k, W=W)
    _refuse.check_lead("scores.general", q=q, k=k)
    _refuse.check_floating("scores.general", q=q, k=k, W=W)
    if q.dtype.itemsize == 2:
        return general(q.float(), k.float(), W.float()).to(q.dtype)
    return q @ W @ k.mT


def cosine(q: Float[Tensor, "... n d_k"], k: Float[Tensor, "... m d_k"]) -> Float[Tensor, "... n m"]:
    """s[i,j] = q[i]·k[j] / (‖q[i]‖ ‖k[j]‖), in [−1, 1] up to rounding; 0 with gradient 0 where either is a zero vector.
    Statement: ``scores.cosine``.

    Leading dimensions broadcast. ValueError for shapes that do not fit, TypeError unless q and k share one floating
    dtype, which is also the result's. Source: Graves, Wayne & Danihelka 2014, "Neural Turing Machines", equation 6.
    """
    _check("scores.cosine", q, k)
    if q.dtype.itemsize == 2:
        return cosine(q.float(), k.float()).to(q.dtype)
    return _unit(q) @ _unit(k).mT


def _unit(x: Tensor) -> Tensor:
    """x divided by its length along the last dimension; 0 stays 0, and derivatives of every order are 0 there."""
    if x.shape[-1] == 0:
        return x
    largest = x.detach().abs().amax(-1, keepdim=True)
    zero = largest == 0
    # Divided by its largest entry first, its squares can neither overflow nor vanish.
    x = torch.where(zero, 1.0, x / torch.where(zero, 1.0, largest))
    return torch.where(zero, 0.0, x / torch.linalg.vector_norm(x, dim=-1, keepdim=True))


def _check(formula: str, q: Tensor, k: Tensor) -> None:
    qs, ks = q.shape, k.shape
    if len(qs) < 2 or len(ks) < 2 or qs[-1] != ks[-1]:
        raise _refuse.shapes(formula, "q (... n d_k), k (... m d_k)", q=q, k=k)
    if qs[:-2] != ks[:-2]:
        _refuse.check_lead(formula, q=q, k=k)
    if q.dtype != k.dtype or not q.is_floating_point():
        _refuse.check_floating(formula, q=q, k=k)

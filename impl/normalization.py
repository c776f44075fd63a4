"""Normalisation of a vector's entries.

Letters are the statements': x has d entries, γ and β are the gain and the bias of each, ε keeps the root away from 0. Layer
normalisation goes to torch's kernel (``F.layer_norm``), which holds 16-bit statistics in float32 and is compiled, batched and
differentiated (any order, either mode) by torch itself.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse

__all__ = ["layer_norm"]


def layer_norm(
    x: Float[Tensor, "... d"], gamma: Float[Tensor, " d"], beta: Float[Tensor, " d"], eps: float
) -> Float[Tensor, "... d"]:
    """y = γ ⊙ (x − μ) / √(σ² + ε) + β, with μ the mean and σ² the biased variance of x's last dimension.
    Statement: ``normalization.layer_norm``.

    ValueError for shapes that do not fit and for ε that is not a number above 0, TypeError unless x, γ and β share one
    floating dtype (γ and β may be float32 beside a 16-bit x, where torch's kernel takes that). The result has x's dtype.
    Source: Ba, Kiros & Hinton 2016, "Layer Normalization", equation 4.
    """
    shape = gamma.shape
    if len(shape) != 1 or beta.shape != shape or x.shape[-1:] != shape:
        raise _refuse.shapes(
            "normalization.layer_norm", "x (... d), gamma (d), beta (d)", x=x, gamma=gamma, beta=beta
        )
    if not (isinstance(eps, (int, float)) and eps > 0):
        raise ValueError(f"normalization.layer_norm: expected a number eps > 0; got eps {eps!r}")
    try:
        return torch.layer_norm(x, shape, gamma, beta, eps)
    except RuntimeError:
        _refuse.check_floating("normalization.layer_norm", x=x, gamma=gamma, beta=beta)
        raise

"""How alike two vectors are, as one number.

Letters are the statements': x and y of d entries. Leading dimensions are batches and broadcast. A float16 or bfloat16 result
is computed in float32 and rounded once.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._arguments import check_arguments
from impl._refuse import broadcast_shapes

__all__ = ["cosine", "dot"]


def dot(x: Float[Tensor, "... d"], y: Float[Tensor, "... d"]) -> Float[Tensor, "..."]:
    """⟨x, y⟩ = Σ_c x[c] y[c]. Statement: ``similarity.dot``.

    ValueError for shapes that do not fit, TypeError unless x and y share one floating dtype, which is also the result's.
    """
    _check("similarity.dot", x, y)
    if x.dtype.itemsize == 2:
        return dot(x.float(), y.float()).to(x.dtype)
    product: Tensor = torch.linalg.vecdot(x, y)
    return product


def cosine(x: Float[Tensor, "... d"], y: Float[Tensor, "... d"]) -> Float[Tensor, "..."]:
    """⟨x, y⟩ / (‖x‖ ‖y‖), from −1 to 1 up to rounding. Statement: ``similarity.cosine``.

    A zero vector is like nothing: its cosine with any vector is 0, and so is the gradient there. Neither very large nor very
    small entries overflow or vanish on the way: each vector is divided by its largest entry first, which leaves the cosine
    as it is. ValueError for shapes that do not fit, TypeError unless x and y share one floating dtype, which is also the
    result's. Source: Graves, Wayne & Danihelka 2014, "Neural Turing Machines", equation 6.
    """
    _check("similarity.cosine", x, y)
    if x.dtype.itemsize == 2:
        return cosine(x.float(), y.float()).to(x.dtype)
    (x, x_zero), (y, y_zero) = _scale_down(x), _scale_down(y)
    norms = dot(x, x).masked_fill(x_zero, 1.0).sqrt() * dot(y, y).masked_fill(y_zero, 1.0).sqrt()
    return (dot(x, y) / norms).masked_fill(x_zero | y_zero, 0.0)


def _scale_down(x: Tensor) -> tuple[Tensor, Tensor]:
    """x divided by its largest magnitude, which counts as a constant (the cosine does not depend on it); whether x is 0."""
    if x.shape[-1] == 0:
        return x, x.new_ones(x.shape[:-1], dtype=torch.bool)
    largest = x.detach().abs().amax(-1)
    zero = largest == 0
    return x / largest.masked_fill(zero, 1.0).unsqueeze(-1), zero


def _check(formula: str, x: Tensor, y: Tensor) -> None:
    xs, ys = x.shape, y.shape
    if len(xs) < 1 or len(ys) < 1 or xs[-1] != ys[-1]:
        raise _refuse.shapes(formula, "x (... d), y (... d)", x=x, y=y)
    try:
        broadcast_shapes(xs, ys)
    except RuntimeError:
        raise _refuse.shapes(formula, "leading dimensions that broadcast", x=x, y=y) from None
    if x.dtype != y.dtype or not x.is_floating_point():
        _refuse.check_floating(formula, x=x, y=y)


check_arguments(__name__)

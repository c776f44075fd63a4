"""Normalisation of a vector's entries, and the sums around the sublayers of a Transformer.

Letters are the statements': x has d entries, γ and β are the gain and the bias of each, ε keeps the root away from 0. Both go to
torch's functions (``F.layer_norm``, ``F.rms_norm``), which hold 16-bit statistics in float32 and are compiled, batched and
differentiated (any order, either mode) by torch itself.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._add_norm import add_norm_by_kernel
from impl._arguments import check_arguments
from impl.feedforward import gelu

__all__ = ["add_norm", "add_rms_norm", "layer_norm", "residual", "rms_norm"]

NormBackend = Literal["auto", "triton"]


def layer_norm(
    x: Float[Tensor, "... d"], gamma: Float[Tensor, " d"], beta: Float[Tensor, " d"], eps: float
) -> Float[Tensor, "... d"]:
    """y = γ ⊙ (x − μ) / √(σ² + ε) + β, with μ the mean and σ² the biased variance of x's last dimension.
    Statement: ``normalization.layer_norm``.

    ValueError for shapes that do not fit and for ε that is not above 0, TypeError unless ε is a number and x, γ and β share one
    floating dtype (γ and β may be float32 beside a 16-bit x, where torch's kernel takes that). The result has x's dtype.
    Source: Ba, Kiros & Hinton 2016, "Layer Normalization", equation 4.
    """
    shape = gamma.shape
    if len(shape) != 1 or beta.shape != shape or x.shape[-1:] != shape:
        raise _refuse.shapes(
            "normalization.layer_norm", "x (... d), gamma (d), beta (d)", x=x, gamma=gamma, beta=beta
        )
    _check_eps("normalization.layer_norm", eps)
    try:
        return torch.layer_norm(x, shape, gamma, beta, eps)
    except RuntimeError:
        _refuse.check_floating("normalization.layer_norm", x=x, gamma=gamma, beta=beta)
        raise


def rms_norm(
    x: Float[Tensor, "... d"],
    gamma: Float[Tensor, " d"],
    eps: float,
    *,
    gain: Literal["gamma", "one_plus"] = "gamma",
) -> Float[Tensor, "... d"]:
    """y = γ ⊙ x / √(mean(x²) + ε), the mean over x's last dimension: layer normalisation without the mean and the bias.
    Statement: ``normalization.rms_norm``.

    ``gain="one_plus"`` multiplies by 1 + γ, as Gemma does. ValueError for another gain, for shapes that do not fit and for ε that
    is not above 0, TypeError unless ε is a number and x and γ share one floating dtype (γ may be float32 beside a 16-bit x). The
    result has x's dtype; in 16 bits it is computed in float32, rounded once. Source: Zhang & Sennrich 2019, "Root Mean Square
    Layer Normalization", equation 4.
    """
    shape = gamma.shape
    if len(shape) != 1 or x.shape[-1:] != shape:
        raise _refuse.shapes("normalization.rms_norm", "x (... d), gamma (d)", x=x, gamma=gamma)
    _check_eps("normalization.rms_norm", eps)
    if gain == "one_plus":
        gamma = 1 + (gamma.float() if x.dtype.itemsize == 2 else gamma)
    if x.is_floating_point() and x.dtype.itemsize == 2 and gamma.dtype == torch.float32:
        # torch's function warns of two dtypes, and does the same.
        return torch.rms_norm(x.float(), shape, gamma, eps).to(x.dtype)
    if x.dtype != gamma.dtype or not x.is_floating_point():
        _refuse.check_floating("normalization.rms_norm", x=x, gamma=gamma)
    return torch.rms_norm(x, shape, gamma, eps)


def residual(
    x: Float[Tensor, "... d"],
    W_1: Float[Tensor, "d f"],
    b_1: Float[Tensor, " f"],
    W_2: Float[Tensor, "f d"],
    b_2: Float[Tensor, " d"],
) -> Float[Tensor, "... d"]:
    """y = x + feedforward.gelu(x, W_1, b_1, W_2, b_2): a row, and what a layer adds to it. Statement: ``normalization.residual``.

    Errors are those of the layer. Source: He et al. 2016, "Deep Residual Learning for Image Recognition", equation 1.
    """
    return x + gelu(x, W_1, b_1, W_2, b_2)


def add_norm(
    x: Float[Tensor, "... d"],
    r: Float[Tensor, "... d"],
    gamma: Float[Tensor, " d"],
    beta: Float[Tensor, " d"],
    eps: float,
    *,
    backend: NormBackend = "auto",
) -> Float[Tensor, "... d"]:
    """y = ``layer_norm(x + r, gamma, beta, eps)``, r what a sublayer gave for x. Statement: ``normalization.add_norm``.

    In 16 bits the sum is held in float32 until it is normalised. ``backend="triton"`` is a kernel of ours for CUDA, in one pass
    over x and r, which has derivatives of any order, but no forward mode and no vmap; it has been tested by Triton's interpreter,
    and has not run on a GPU. ValueError for shapes that do not fit, TypeError unless x and r share one floating dtype; for the
    kernel NotImplementedError but on CUDA, ImportError without Triton; else errors are those of ``layer_norm``. Source: Vaswani
    et al. 2017, section 3.1.
    """
    _check_sum("normalization.add_norm", x, r)
    if backend == "triton":
        return _add_by_kernel("normalization.add_norm", x, r, gamma, beta, eps)[0]
    if x.dtype.itemsize == 2:
        return layer_norm(x.float() + r.float(), gamma.float(), beta.float(), eps).to(x.dtype)
    return layer_norm(x + r, gamma, beta, eps)


def add_rms_norm(
    x: Float[Tensor, "... d"],
    r: Float[Tensor, "... d"],
    gamma: Float[Tensor, " d"],
    eps: float,
    *,
    gain: Literal["gamma", "one_plus"] = "gamma",
    backend: NormBackend = "auto",
) -> tuple[Float[Tensor, "... d"], Float[Tensor, "... d"]]:
    """y = ``rms_norm(s, gamma, eps)`` and s = x + r, r what a sublayer gave for x. Statement: ``normalization.add_rms_norm``.

    In 16 bits the sum is held in float32 until it is normalised; the one returned is rounded once. ``backend`` is as in
    ``add_norm``. ValueError for shapes that do not fit, TypeError unless x and r share one floating dtype; else options and
    errors are those of ``rms_norm``. Source: Zhang & Sennrich 2019, equation 4.
    """
    _check_sum("normalization.add_rms_norm", x, r)
    if backend == "triton":
        if gain == "one_plus":
            gamma = 1 + (gamma.float() if x.dtype.itemsize == 2 else gamma)
        return _add_by_kernel("normalization.add_rms_norm", x, r, gamma, None, eps)
    if x.dtype.itemsize == 2:
        s = x.float() + r.float()
        return rms_norm(s, gamma.float(), eps, gain=gain).to(x.dtype), s.to(x.dtype)
    s = x + r
    return rms_norm(s, gamma, eps, gain=gain), s


def _check_sum(formula: str, x: Tensor, r: Tensor) -> None:
    """Refuse what a sublayer cannot have given for x."""
    if x.shape[-1:] != r.shape[-1:]:
        raise _refuse.shapes(formula, "x (... d), r (... d)", x=x, r=r)
    if x.shape != r.shape:
        _refuse.check_lead(formula, {"x": x, "r": r})
    _refuse.check_floating(formula, x=x, r=r)


def _add_by_kernel(
    formula: str, x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor | None, eps: float
) -> tuple[Tensor, Tensor]:
    """y and s by Triton's kernel; refuse what the norms would refuse."""
    given = {"gamma": gamma} if beta is None else {"gamma": gamma, "beta": beta}
    if any(p.shape != x.shape[-1:] for p in given.values()):
        raise _refuse.shapes(
            formula, f"x (... d), {', '.join(f'{name} (d)' for name in given)}", x=x, **given
        )
    _check_eps(formula, eps)
    wide = {name: p.float() if x.dtype.itemsize == 2 else p for name, p in given.items()}
    _refuse.check_floating(formula, x=x.float() if x.dtype.itemsize == 2 else x, **wide)
    return add_norm_by_kernel(formula, x, r, wide["gamma"], wide.get("beta"), eps)


def _check_eps(formula: str, eps: float) -> None:
    if not eps > 0:
        raise ValueError(f"{formula}: expected a number eps > 0; got eps {eps!r}")


check_arguments(__name__)

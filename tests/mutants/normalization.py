"""Variants of ``normalization.layer_norm``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

LAYER_NORM = "normalization.layer_norm"


@wrong(LAYER_NORM)
def eps_outside(x, gamma, beta, eps):
    """eps outside the root: σ + ε."""
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / ((centred**2).mean(-1, keepdim=True).sqrt() + eps) + beta


wrong(LAYER_NORM, "unbiased", "torch.var's default: divides by d − 1.")(
    lambda x, gamma, beta, eps: (
        gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() + beta
    )
)
wrong(LAYER_NORM, "annotated", "The Annotated Transformer's: unbiased std, eps outside.")(
    lambda x, gamma, beta, eps: (
        gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta
    )
)


@wrong(LAYER_NORM)
def one_pass(x, gamma, beta, eps):
    """E[x²] − μ²: cancels when the mean is large."""
    mean = x.mean(-1, keepdim=True)
    var = ((x * x).mean(-1, keepdim=True) - mean * mean).clamp_min(0)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


wrong(LAYER_NORM, "not_centred", "RMSNorm: the mean is not subtracted.")(
    lambda x, gamma, beta, eps: gamma * x / ((x**2).mean(-1, keepdim=True) + eps).sqrt() + beta
)


@wrong(LAYER_NORM)
def statistics_detached(x, gamma, beta, eps):
    """Statistics under no_grad: the gradient is that of a constant scale."""
    mean, var = x.mean(-1, keepdim=True).detach(), x.var(-1, keepdim=True, unbiased=False).detach()
    return gamma * (x - mean) / (var + eps).sqrt() + beta


wrong(LAYER_NORM, "over_the_batch", "Statistics over batch and features together.")(
    lambda x, gamma, beta, eps: gamma * (x - x.mean()) / (x.var(unbiased=False) + eps).sqrt() + beta
)
wrong(LAYER_NORM, "bias_scaled", "γ(x̂ + β): the bias is multiplied by the gain.")(
    lambda x, gamma, beta, eps: gamma * (F.layer_norm(x, x.shape[-1:], eps=eps) + beta)
)
wrong(LAYER_NORM, "no_bias", "Forgets β; invisible while it is initialised to 0.")(
    lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], gamma, None, eps) + 0 * beta
)
wrong(LAYER_NORM, "own_eps", "Keeps its default 1e-5 whatever eps is passed.")(
    lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-5)
)


@wrong(LAYER_NORM)
def centred_in_place(x, gamma, beta, eps):
    """Centres the caller's tensor in place."""
    y = F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
    with torch.no_grad():
        x.sub_(x.mean(-1, keepdim=True))
    return y


@wrong(LAYER_NORM)
def single_statistics(x, gamma, beta, eps):
    """Takes the statistics in float32, for float64 too."""
    mean = x.float().mean(-1, keepdim=True).to(x.dtype)
    var = x.float().var(-1, keepdim=True, unbiased=False).to(x.dtype)
    return gamma * (x - mean) / (var + eps).sqrt() + beta


@right(LAYER_NORM)
def two_pass(x, gamma, beta, eps):
    """Mean first, then the mean square of what is left."""
    centred = x - x.mean(-1, keepdim=True)
    return gamma * centred / ((centred**2).mean(-1, keepdim=True) + eps).sqrt() + beta


@right(LAYER_NORM)
def welford(x, gamma, beta, eps):
    """Running mean and sum of squares, one entry at a time."""
    mean, square = x[..., 0], torch.zeros_like(x[..., 0])
    for count in range(1, x.shape[-1]):
        apart = x[..., count] - mean
        mean = mean + apart / (count + 1)
        square = square + apart * (x[..., count] - mean)
    scale = (square / x.shape[-1] + eps).rsqrt()
    return gamma * (x - mean[..., None]) * scale[..., None] + beta


@right(LAYER_NORM)
def by_var_mean(x, gamma, beta, eps):
    """torch.var_mean without Bessel's correction, and rsqrt."""
    var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(var + eps) * gamma + beta


@right(LAYER_NORM)
def by_contraction(x, gamma, beta, eps):
    """einsum for the variance, addcmul for the affine part."""
    centred = x - x.mean(-1, keepdim=True)
    var = torch.einsum("...i,...i->...", centred, centred)[..., None] / x.shape[-1]
    return torch.addcmul(beta, gamma, centred * (var + eps).rsqrt())


@right(LAYER_NORM, eps="outside", divisor="unbiased")
def annotated_by_name(x, gamma, beta, eps):
    """The Annotated Transformer's, under its own conventions."""
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta

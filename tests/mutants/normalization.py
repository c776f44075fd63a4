"""Variants of ``normalization.layer_norm``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

LAYER_NORM = "normalization.layer_norm"


def mean(x):
    """The mean of each row."""
    return x.mean(-1, keepdim=True)


def variance(x):
    """The variance of each row, right."""
    return x.var(-1, keepdim=True, unbiased=False)


def normed(mean=mean, deviation=lambda x, eps: (variance(x) + eps).sqrt()):
    """Layer normalization, right but for mean and deviation."""
    return lambda x, gamma, beta, eps: gamma * (x - mean(x)) / deviation(x, eps) + beta


def of_squares(x):
    """E[x²] − μ²."""
    return (mean(x * x) - mean(x) * mean(x)).clamp_min(0)


wrong(LAYER_NORM, "eps_outside", "eps outside the root: σ + ε.", cause="ε is added outside|eps=outside")(
    normed(deviation=lambda x, eps: mean((x - mean(x)) ** 2).sqrt() + eps)
)
right(LAYER_NORM, "gain_plus_one_by_name", "1 + γ, by that convention.", gain="one_plus")(
    lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], 1 + gamma, beta, eps)
)
wrong(LAYER_NORM, "gain_plus_one", "Scales by 1 + γ.", cause="1 is added to gamma")(
    lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], 1 + gamma, beta, eps)
)
wrong(
    LAYER_NORM, "one_added_to_the_bias", "1 added to β, not to γ.", gain="one_plus", cause="is added to beta"
)(lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], gamma, beta + 1, eps))
wrong(LAYER_NORM, "unbiased", "torch.var's default: divides by d − 1.", cause="d ?[−-] ?1|divisor")(
    normed(deviation=lambda x, eps: (x.var(-1, keepdim=True) + eps).sqrt())
)
wrong(LAYER_NORM, "annotated", "The Annotated Transformer's: unbiased std, eps outside.", cause="outside")(
    normed(deviation=lambda x, eps: x.std(-1, keepdim=True) + eps)
)
wrong(LAYER_NORM, "one_pass", "E[x²] − μ²: cancels when the mean is large.", cause="one-pass")(
    normed(deviation=lambda x, eps: (of_squares(x) + eps).sqrt())
)
wrong(LAYER_NORM, "not_centred", "RMSNorm: the mean is not subtracted.", cause="(μ|mean) is not subtracted")(
    normed(lambda x: 0.0, lambda x, eps: (mean(x**2) + eps).sqrt())
)
wrong(
    LAYER_NORM,
    "statistics_detached",
    "Statistics under no_grad: the gradient is that of a constant scale.",
    cause="mu and var are taken",
)(normed(lambda x: mean(x).detach(), lambda x, eps: (variance(x).detach() + eps).sqrt()))
wrong(LAYER_NORM, "over_the_batch", "Statistics over batch and features together.", cause="in batches")(
    normed(lambda x: x.mean(), lambda x, eps: (x.var(unbiased=False) + eps).sqrt())
)
wrong(
    LAYER_NORM, "bias_scaled", "γ(x̂ + β): the bias is multiplied by the gain.", cause=r"β\S* is multiplied"
)(lambda x, gamma, beta, eps: gamma * (F.layer_norm(x, x.shape[-1:], eps=eps) + beta))
wrong(
    LAYER_NORM,
    "no_bias",
    "Forgets β; invisible while it is initialised to 0.",
    cause=r"(β|beta)\S* is (not added|ignored)",
)(lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], gamma, None, eps) + 0 * beta)
wrong(LAYER_NORM, "own_eps", "Keeps its default 1e-5 whatever eps is passed.", cause="eps.*(1e-05|ignored)")(
    lambda x, gamma, beta, eps: F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-5)
)


@wrong(LAYER_NORM, cause="writes to its input")
def centred_in_place(x, gamma, beta, eps):
    """Centres the caller's tensor in place."""
    y = F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
    with torch.no_grad():
        x.sub_(mean(x))
    return y


wrong(LAYER_NORM, "single_statistics", "Takes the statistics in float32, for float64 too.", cause="float32")(
    normed(
        lambda x: mean(x.float()).to(x.dtype),
        lambda x, eps: (variance(x.float()).to(x.dtype) + eps).sqrt(),
    )
)
right(LAYER_NORM, "two_pass", "Mean first, then the mean square of what is left.")(
    normed(deviation=lambda x, eps: (mean((x - mean(x)) ** 2) + eps).sqrt())
)


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
    centred = x - mean(x)
    var = torch.einsum("...i,...i->...", centred, centred)[..., None] / x.shape[-1]
    return torch.addcmul(beta, gamma, centred * (var + eps).rsqrt())


right(LAYER_NORM, "annotated_by_name", "Its own conventions.", eps="outside", divisor="unbiased")(
    normed(deviation=lambda x, eps: x.std(-1, keepdim=True) + eps)
)

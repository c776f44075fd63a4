"""Variants of ``normalization.rms_norm``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

RMS_NORM = "normalization.rms_norm"


def square(x):
    """The mean square of each row, right."""
    return x.square().mean(-1, keepdim=True)


def divided(by):
    """The row divided by ``by(x, ε)``, times the gain."""
    return lambda x, gamma, eps: gamma * x / by(x, eps)


def rooted(square):
    """The row divided by the root of ``square(x)`` and ε, times the gain."""
    return lambda x, gamma, eps: gamma * x * torch.rsqrt(square(x) + eps)


wrong(
    RMS_NORM,
    "eps_outside",
    "eps outside the root: √mean(x²) + ε, as in the authors' own code.",
    cause="ε is added outside|eps=outside",
)(divided(lambda x, eps: square(x).sqrt() + eps))
wrong(RMS_NORM, "eps_as_floor", "eps only as a floor of the divisor: max(√mean(x²), ε).", cause="least")(
    divided(lambda x, eps: square(x).sqrt().clamp_min(eps))
)
wrong(RMS_NORM, "no_eps", "No eps: a row of zeros is NaN.", cause="(eps|ε) is (not added|ignored)")(
    divided(lambda x, eps: square(x).sqrt())
)
wrong(
    RMS_NORM,
    "own_eps",
    "torch's default eps, that of the type, whatever eps is passed.",
    cause="(eps|ε) is (not (read|added)|ignored)",
)(lambda x, gamma, eps: F.rms_norm(x, x.shape[-1:], gamma))
wrong(
    RMS_NORM, "centred", "Layer normalisation without a bias: the mean is subtracted.", cause="mean of x is"
)(lambda x, gamma, eps: F.layer_norm(x, x.shape[-1:], gamma, None, eps))
wrong(
    RMS_NORM,
    "by_variance",
    "The variance: the mean is taken out of the statistic alone.",
    cause="variance|subtracted in ms",
)(rooted(lambda x: x.var(-1, keepdim=True, unbiased=False)))
wrong(
    RMS_NORM,
    "unbiased",
    "Divides the sum of squares by d − 1, as if a mean had been taken out.",
    cause="d ?[−-] ?1",
)(rooted(lambda x: x.square().sum(-1, keepdim=True) / max(x.shape[-1] - 1, 1)))
wrong(
    RMS_NORM,
    "sum_of_squares",
    "The sum in place of the mean: rows come to length 1, not √d.",
    cause="ms is not divided",
)(rooted(lambda x: x.square().sum(-1, keepdim=True)))


@wrong(RMS_NORM, cause=r"(ε|eps).*(/ ?d\b|sum)")
def eps_added_to_the_sum(x, gamma, eps):
    """√d·x / √(Σx² + ε): eps is worth 1/d of what it should be."""
    return gamma * math.sqrt(x.shape[-1]) * x * torch.rsqrt(x.square().sum(-1, keepdim=True) + eps)


wrong(
    RMS_NORM,
    "mean_of_magnitudes",
    "The mean of |x| in place of the root of the mean of x².",
    cause="absolute value|magnitude",
)(divided(lambda x, eps: (x.abs().mean(-1, keepdim=True).square() + eps).sqrt()))
wrong(RMS_NORM, "without_the_root", "Divides by the mean square itself.", cause="no (sqrt|root)")(
    divided(lambda x, eps: square(x) + eps)
)
wrong(RMS_NORM, "gain_plus_one", "Gemma's form: scales by 1 + γ.", cause="1 is added to gamma")(
    lambda x, gamma, eps: F.rms_norm(x, x.shape[-1:], None, eps) * (1 + gamma)
)
right(RMS_NORM, "gain_plus_one_by_name", "1 + γ, by that convention.", gain="one_plus")(
    lambda x, gamma, eps: F.rms_norm(x, x.shape[-1:], 1 + gamma, eps)
)
right(RMS_NORM, "eps_outside_by_name", "√mean(x²) + ε, by that convention.", eps="outside")(
    divided(lambda x, eps: square(x).sqrt() + eps)
)
wrong(
    RMS_NORM,
    "one_added_to_the_product",
    "γ ⊙ x̂ + 1 instead of (1 + γ) ⊙ x̂.",
    gain="one_plus",
    cause="1 is added to y|off by a term",
)(lambda x, gamma, eps: F.rms_norm(x, x.shape[-1:], gamma, eps) + 1)
wrong(
    RMS_NORM, "gain_of_gamma", "γ itself, where the gain is 1 + γ.", gain="one_plus", cause="1 is (not|subtr)"
)(lambda x, gamma, eps: F.rms_norm(x, x.shape[-1:], gamma, eps))
wrong(
    RMS_NORM, "no_gain", "Forgets γ; invisible while it is initialised to 1.", cause="by γ|gamma is ignored"
)(lambda x, gamma, eps: F.rms_norm(x, x.shape[-1:], None, eps) + 0 * gamma)
wrong(RMS_NORM, "gain_first", "Scales the row before its mean square is taken.", cause=r"γ.*\bms\b|\bms.*γ")(
    lambda x, gamma, eps: F.rms_norm(gamma * x, x.shape[-1:], None, eps)
)
wrong(RMS_NORM, "over_the_batch", "One mean square of batch and features together.", cause="in batches")(
    rooted(lambda x: x.square().mean())
)
wrong(
    RMS_NORM,
    "over_the_positions",
    "The mean runs over the rows, as for images with channels first.",
    cause="in batches",
)(rooted(lambda x: x.square().mean(-1 if x.ndim < 2 else -2, keepdim=True)))
wrong(RMS_NORM, "single_statistics", "Takes the mean square in float32, for float64 too.", cause="float32")(
    rooted(lambda x: square(x.float()).to(x.dtype))
)
wrong(
    RMS_NORM, "half_statistics", "Takes the mean square in bfloat16, as under an autocast.", cause="bfloat16"
)(rooted(lambda x: square(x.bfloat16()).to(x.dtype)))
wrong(
    RMS_NORM,
    "statistic_detached",
    "The mean square under no_grad: a constant scale's gradient.",
    cause=r"\bms is taken",
)(rooted(lambda x: square(x).detach()))


@wrong(RMS_NORM, cause="writes to its input")
def scaled_in_place(x, gamma, eps):
    """Normalises the caller's tensor in place."""
    y = F.rms_norm(x, x.shape[-1:], gamma, eps)
    with torch.no_grad():
        x.mul_(torch.rsqrt(x.square().mean(-1, keepdim=True) + eps))
    return y


right(RMS_NORM, "plainly", "The formula as it stands.")(divided(lambda x, eps: torch.sqrt(square(x) + eps)))


@right(RMS_NORM)
def by_norm(x, gamma, eps):
    """The row's length over √d is the root of its mean square; hypot joins it with √ε."""
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True) / math.sqrt(x.shape[-1])
    return gamma * (x / torch.hypot(length, torch.full_like(length, math.sqrt(eps))))


@right(RMS_NORM)
def by_contraction(x, gamma, eps):
    """einsum for the sum of squares, then rsqrt."""
    square = torch.einsum("...i,...i->...", x, x)[..., None] / x.shape[-1]
    return x * (square + eps).rsqrt() * gamma


@right(RMS_NORM)
def running(x, gamma, eps):
    """A running mean of the squares, one entry at a time."""
    square = torch.zeros_like(x[..., 0])
    for count in range(x.shape[-1]):
        square = square + (x[..., count] ** 2 - square) / (count + 1)
    return gamma * (x * (square + eps).rsqrt()[..., None])


@right(RMS_NORM)
def shrunk_first(x, gamma, eps):
    """Row and √ε are divided by the largest of their magnitudes first, so that no square overflows."""
    largest = x.detach().abs().amax(-1, keepdim=True).clamp_min(math.sqrt(eps))
    x = x / largest
    return gamma * x / torch.sqrt(square(x) + (math.sqrt(eps) / largest) ** 2)

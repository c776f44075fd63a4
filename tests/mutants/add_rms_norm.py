"""Variants of ``normalization.add_rms_norm``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

ADD_RMS_NORM = "normalization.add_rms_norm"


def normalised(s, gamma, eps):
    """The root mean square normalization."""
    return F.rms_norm(s, s.shape[-1:], gamma, eps)


wrong(
    ADD_RMS_NORM,
    "add_rms_normalised_twice",
    "The normalised row in the sum's place: what goes on is normalised at every layer.",
    cause=r"^s\b|\bs\b.*(y|normal|off)",
)(lambda x, r, gamma, eps: 2 * (normalised(x + r, gamma, eps),))
wrong(
    ADD_RMS_NORM,
    "add_rms_of_the_row",
    "The mean square of the row, not of the sum.",
    cause=r"mean square|\bms\b|\bs\b",
)(lambda x, r, gamma, eps: (gamma * (x + r) * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps), x + r))
wrong(
    ADD_RMS_NORM, "add_rms_sum_detached", "No gradient from the sum that goes on.", cause="gradient|constant"
)(lambda x, r, gamma, eps: (normalised(x + r, gamma, eps), (x + r).detach() + 0 * x))
wrong(ADD_RMS_NORM, "add_rms_row_forgotten", "What the sublayer gave is normalised alone.", cause=r"\bx\b")(
    lambda x, r, gamma, eps: (normalised(r, gamma, eps) + 0 * x, x + r)
)
wrong(
    ADD_RMS_NORM,
    "add_rms_sum_not_kept",
    "The row goes on without what was added.",
    cause=r"\br\b.*(not added|ignored)|\bs\b",
)(lambda x, r, gamma, eps: (normalised(x + r, gamma, eps), x + 0 * r))
wrong(
    ADD_RMS_NORM,
    "add_rms_exchanged",
    "Sum and normalised row are returned in the other order.",
    cause="order|exchang|swap|y is s|s is y",
)(lambda x, r, gamma, eps: (x + r, normalised(x + r, gamma, eps)))
wrong(ADD_RMS_NORM, "add_rms_each_normalised", "Both normalised, then added.", cause="normalis|each|not")(
    lambda x, r, gamma, eps: (normalised(x, gamma, eps) + normalised(r, gamma, eps), x + r)
)
wrong(
    ADD_RMS_NORM,
    "add_rms_mean_of_both",
    "The mean of both in place of the sum: at rows above ε only s tells.",
    cause="halved|half|divided by 2|multiplied",
)(lambda x, r, gamma, eps: (normalised((x + r) / 2, gamma, eps), (x + r) / 2))
wrong(ADD_RMS_NORM, "add_rms_eps_outside", "ε outside the root.", cause="ε is added outside|eps=outside")(
    lambda x, r, gamma, eps: (gamma * (x + r) / ((x + r).square().mean(-1, keepdim=True).sqrt() + eps), x + r)
)
wrong(ADD_RMS_NORM, "add_rms_centred", "Layer normalization without a bias.", cause="mean of")(
    lambda x, r, gamma, eps: (F.layer_norm(x + r, x.shape[-1:], gamma, None, eps), x + r)
)
wrong(
    ADD_RMS_NORM, "add_rms_gain_plus_one", "Gemma's gain, 1 + γ.", cause="1 is added to gamma|gain=one_plus"
)(lambda x, r, gamma, eps: (normalised(x + r, 1 + gamma, eps), x + r))
wrong(
    ADD_RMS_NORM, "add_rms_half_sum", "The sum rounded to bfloat16 before it is normalised.", cause="bfloat16"
)(lambda x, r, gamma, eps: (normalised((x + r).bfloat16().to(x.dtype), gamma, eps), x + r))


@wrong(ADD_RMS_NORM, cause="writes to its input")
def add_rms_in_place(x, r, gamma, eps):
    """The sum is written over the caller's row, as fused kernels do."""
    s = x + r
    with torch.no_grad():
        x.copy_(s)
    return normalised(s, gamma, eps), s


right(ADD_RMS_NORM, "add_rms_plainly", "The sum, then the formula as it stands.")(
    lambda x, r, gamma, eps: (
        gamma * (x + r) / ((x + r).square().mean(-1, keepdim=True) + eps).sqrt(),
        x + r,
    )
)
right(ADD_RMS_NORM, "add_rms_gain_plus_one_by_name", "1 + γ, by that convention.", gain="one_plus")(
    lambda x, r, gamma, eps: (normalised(x + r, 1 + gamma, eps), x + r)
)


@right(ADD_RMS_NORM)
def add_rms_by_squares_of_both(x, r, gamma, eps):
    """einsum for the sum of squares."""
    s = torch.add(x, r)
    square = torch.einsum("...i,...i->...", s, s)[..., None] / s.shape[-1]
    return s * (square + eps).rsqrt() * gamma, s

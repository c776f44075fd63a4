"""Variants of ``normalization.residual`` and ``normalization.add_norm``."""

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

RESIDUAL, ADD_NORM = "normalization.residual", "normalization.add_norm"


def layer(x, W_1, b_1, W_2, b_2):
    """What the layer makes of a row, right: the material of the variants below."""
    return F.linear(F.gelu(F.linear(x, W_1.mT, b_1)), W_2.mT, b_2)


# The sum alone ------------------------------------------------------------------------------------------------------------


def residual(join=lambda x, y: x + y, read=lambda x: x):
    """The row and what the layer makes of it, right but for how they are joined, and for what the layer reads."""
    return lambda x, W_1, b_1, W_2, b_2: join(x, layer(read(x), W_1, b_1, W_2, b_2))


wrong(RESIDUAL, "row_forgotten", "The layer alone.", cause=r"\bx\S* is not added")(residual(lambda x, y: y))
wrong(RESIDUAL, "row_detached", "No gradient passes beside the layer.", cause=r"\bx .*for a constant|beside")(
    residual(lambda x, y: x.detach() + y)
)
wrong(
    RESIDUAL,
    "layer_detached",
    "No gradient of the row passes through the layer.",
    cause=r"\bx .*for a constant|through the layer",
)(residual(read=lambda x: x.detach()))
wrong(RESIDUAL, "halved", "The mean of both.", cause=r"halved|0\.5 times")(residual(lambda x, y: (x + y) / 2))
wrong(
    RESIDUAL,
    "added_twice",
    "The layer adds the row itself, and the row is added again.",
    cause=r"\bx is added to|twice",
)(residual(lambda x, y: x + (x + y)))
wrong(RESIDUAL, "taken_away", "Subtracts what the layer gives.", cause=r"\by.* is subtracted|sign of y \(")(
    residual(lambda x, y: x - y)
)
wrong(RESIDUAL, "normalised_first", "The layer reads the row normalised.", cause="normalised")(
    residual(read=lambda x: F.layer_norm(x, x.shape[-1:]))
)


@wrong(RESIDUAL, cause="writes to its input")
def added_in_place(x, W_1, b_1, W_2, b_2):
    """Leaves the sum in the caller's tensor."""
    y = x + layer(x, W_1, b_1, W_2, b_2)
    with torch.no_grad():
        x.copy_(y)
    return y


right(RESIDUAL, "sum_in_the_product", "Row and outer bias added first.")(
    lambda x, W_1, b_1, W_2, b_2: F.gelu(F.linear(x, W_1.mT, b_1)) @ W_2 + (x + b_2)
)


@right(RESIDUAL)
def by_units(x, W_1, b_1, W_2, b_2):
    """The units of the layer one after another."""
    y = x + b_2
    for u in range(W_1.shape[1]):
        y = y + F.gelu(x @ W_1[:, u] + b_1[u])[..., None] * W_2[u]
    return y


# Sum and normalization ----------------------------------------------------------------------------------------------------


def norm(x, gamma, beta, eps):
    """Layer normalization, right."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def added(join):
    """The normalization of what ``join`` makes of the row and the sublayer's."""
    return lambda x, r, gamma, beta, eps: norm(join(x, r), gamma, beta, eps)


wrong(ADD_NORM, "added_after", "x + layer_norm(r).", cause=r"\bx\S* is not added")(
    lambda x, r, gamma, beta, eps: x + norm(r, gamma, beta, eps)
)
wrong(ADD_NORM, "row_left_out", "Normalises what the sublayer gave alone.", cause=r"\bx\S* is (not|ignored)")(
    added(lambda x, r: r + 0 * x)
)
wrong(ADD_NORM, "each_normalised", "layer_norm(x) + layer_norm(r).", cause="each (is|of)|apart")(
    lambda x, r, gamma, beta, eps: norm(x, gamma, beta, eps) + norm(r, gamma, beta, eps)
)
wrong(ADD_NORM, "mean_of_both", "(x + r)/2: only ε tells.", cause=r"halved|by 2\b|4 times")(
    added(lambda x, r: (x + r) / 2)
)
wrong(ADD_NORM, "difference", "x − r.", cause=r"\br\S* is subtracted|sign of r\b")(added(lambda x, r: x - r))
wrong(ADD_NORM, "way_past_detached", "No gradient passes beside the sublayer.", cause=r"reaches x\b")(
    added(lambda x, r: x.detach() + r)
)
wrong(ADD_NORM, "gain_left_out", "Forgets γ; invisible while it is 1.", cause="not .*by γ|gamma is ignored")(
    lambda x, r, gamma, beta, eps: norm(x + r, torch.ones_like(gamma) + 0 * gamma, beta, eps)
)
wrong(ADD_NORM, "eps_of_its_own", "Keeps 1e-5 whatever ε is passed.", cause="eps.*(1e-05|ignored)")(
    lambda x, r, gamma, beta, eps: norm(x + r, gamma, beta, 1e-5)
)
wrong(ADD_NORM, "normalised_twice", "Normalises what was normalised.", cause="twice|again")(
    lambda x, r, gamma, beta, eps: norm(norm(x + r, gamma, beta, eps), gamma, beta, eps)
)


@right(ADD_NORM)
def other_order(x, r, gamma, beta, eps):
    """r + x, its mean and variance taken apart."""
    s = r + x
    centred = s - s.mean(-1, keepdim=True)
    return gamma * centred * (centred.square().mean(-1, keepdim=True) + eps).rsqrt() + beta


@right(ADD_NORM)
def means_added(x, r, gamma, beta, eps):
    """Each summand centred by itself, which is the sum centred."""
    centred = x - x.mean(-1, keepdim=True) + (r - r.mean(-1, keepdim=True))
    return gamma * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + beta

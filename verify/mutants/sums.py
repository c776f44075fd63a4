"""Variants of ``normalization.residual`` and ``normalization.add_norm``."""

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

RESIDUAL, ADD_NORM = "normalization.residual", "normalization.add_norm"


def layer(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """What the layer makes of a row, right: the material of the variants below."""
    return F.linear(F.gelu(F.linear(x, W_1.mT, b_1)), W_2.mT, b_2)


# The sum alone ------------------------------------------------------------------------------------------------------------


@wrong(RESIDUAL)
def row_forgotten(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """The layer alone."""
    return layer(x, W_1, b_1, W_2, b_2)


@wrong(RESIDUAL)
def row_detached(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """No gradient passes beside the layer."""
    return x.detach() + layer(x, W_1, b_1, W_2, b_2)


@wrong(RESIDUAL)
def layer_detached(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """No gradient of the row passes through the layer."""
    return x + layer(x.detach(), W_1, b_1, W_2, b_2)


@wrong(RESIDUAL)
def halved(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """The mean of both."""
    return (x + layer(x, W_1, b_1, W_2, b_2)) / 2


@wrong(RESIDUAL)
def added_twice(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """The layer adds the row itself, and the row is added again."""
    return x + (x + layer(x, W_1, b_1, W_2, b_2))


@wrong(RESIDUAL)
def taken_away(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Subtracts what the layer gives."""
    return x - layer(x, W_1, b_1, W_2, b_2)


@wrong(RESIDUAL)
def normalised_first(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """The layer reads the row normalised."""
    return x + layer(F.layer_norm(x, x.shape[-1:]), W_1, b_1, W_2, b_2)


@wrong(RESIDUAL)
def added_in_place(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Leaves the sum in the caller's tensor."""
    y = x + layer(x, W_1, b_1, W_2, b_2)
    with torch.no_grad():
        x.copy_(y)
    return y


@right(RESIDUAL)
def sum_in_the_product(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Row and outer bias added first."""
    return F.gelu(F.linear(x, W_1.mT, b_1)) @ W_2 + (x + b_2)


@right(RESIDUAL)
def by_units(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """The units of the layer one after another."""
    y = x + b_2
    for u in range(W_1.shape[1]):
        y = y + F.gelu(x @ W_1[:, u] + b_1[u])[..., None] * W_2[u]
    return y


# Sum and normalization ----------------------------------------------------------------------------------------------------


def norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Layer normalization, right."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)


@wrong(ADD_NORM)
def added_after(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """x + layer_norm(r)."""
    return x + norm(r, gamma, beta, eps)


@wrong(ADD_NORM)
def row_left_out(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Normalises what the sublayer gave alone."""
    return norm(r + 0 * x, gamma, beta, eps)


@wrong(ADD_NORM)
def each_normalised(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """layer_norm(x) + layer_norm(r)."""
    return norm(x, gamma, beta, eps) + norm(r, gamma, beta, eps)


@wrong(ADD_NORM)
def mean_of_both(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """(x + r)/2: only ε tells."""
    return norm((x + r) / 2, gamma, beta, eps)


@wrong(ADD_NORM)
def difference(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """x − r."""
    return norm(x - r, gamma, beta, eps)


@wrong(ADD_NORM)
def way_past_detached(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """No gradient passes beside the sublayer."""
    return norm(x.detach() + r, gamma, beta, eps)


@wrong(ADD_NORM)
def gain_left_out(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Forgets γ; invisible while it is 1."""
    return norm(x + r, torch.ones_like(gamma) + 0 * gamma, beta, eps)


@wrong(ADD_NORM)
def eps_of_its_own(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Keeps 1e-5 whatever ε is passed."""
    return norm(x + r, gamma, beta, 1e-5)


@wrong(ADD_NORM)
def normalised_twice(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Normalises what was normalised."""
    return norm(norm(x + r, gamma, beta, eps), gamma, beta, eps)


@right(ADD_NORM)
def other_order(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """r + x, its mean and variance taken apart."""
    s = r + x
    centred = s - s.mean(-1, keepdim=True)
    return gamma * centred * (centred.square().mean(-1, keepdim=True) + eps).rsqrt() + beta


@right(ADD_NORM)
def means_added(x: Tensor, r: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """Each summand centred by itself, which is the sum centred."""
    centred = (x - x.mean(-1, keepdim=True)) + (r - r.mean(-1, keepdim=True))
    return gamma * centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() + beta

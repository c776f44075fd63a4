"""Variants of ``feedforward.relu`` and ``feedforward.gelu``."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

RELU, GELU = "feedforward.relu", "feedforward.gelu"


# max(0, ·) ----------------------------------------------------------------------------------------------------------------


@wrong(RELU)
def bent_twice(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """max(0, ·) once more after the outer layer."""
    return (torch.relu(x @ W_1 + b_1) @ W_2 + b_2).relu()


@wrong(RELU)
def linear(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Nothing between the layers."""
    return (x @ W_1 + b_1) @ W_2 + b_2


@wrong(RELU)
def no_inner_bias(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Forgets b_1; invisible while it is 0."""
    return torch.relu(x @ W_1 + 0 * b_1) @ W_2 + b_2


@wrong(RELU)
def no_outer_bias(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Forgets b_2; invisible while it is 0."""
    return torch.relu(x @ W_1 + b_1) @ W_2 + 0 * b_2


@wrong(RELU)
def bias_after(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Adds the inner bias to what max(0, ·) has let through."""
    return (torch.relu(x @ W_1) + b_1) @ W_2 + b_2


@wrong(RELU)
def leaky(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Lets a hundredth of what is negative through."""
    return F.leaky_relu(x @ W_1 + b_1) @ W_2 + b_2


@wrong(RELU)
def smooth(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """BERT's GELU in place of max(0, ·)."""
    return F.gelu(x @ W_1 + b_1) @ W_2 + b_2


@wrong(RELU)
def capped(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Lets no more than 6 through."""
    return F.relu6(x @ W_1 + b_1) @ W_2 + b_2


@wrong(RELU)
def inner_weights_frozen(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """No gradient reaches W_1."""
    return torch.relu(x @ W_1.detach() + 0 * W_1.sum() + b_1) @ W_2 + b_2


@wrong(RELU)
def straight_through(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Passes a gradient to silent units too."""
    a = x @ W_1 + b_1
    return (a + (torch.relu(a) - a).detach()) @ W_2 + b_2


@right(RELU)
def by_choice(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """torch.where for max(0, ·)."""
    a = F.linear(x, W_1.mT, b_1)
    return F.linear(torch.where(a > 0, a, 0.0), W_2.mT, b_2)


@right(RELU)
def unit_by_unit(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """The units one after another."""
    total = b_2.expand(x.shape)
    for u in range(W_1.shape[1]):
        total = total + torch.relu(x @ W_1[:, u] + b_1[u])[..., None] * W_2[u]
    return total


@right(RELU)
def rows_transposed(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Columns for rows: W_2ᵀ max(0, W_1ᵀ xᵀ + b_1), by einsum."""
    a = torch.einsum("df,...d->...f", W_1, x) + b_1
    return torch.einsum("fd,...f->...d", W_2, a.relu()) + b_2


# GELU ---------------------------------------------------------------------------------------------------------------------


@wrong(GELU)
def by_sigmoid(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """a·σ(1.702·a)."""
    a = x @ W_1 + b_1
    return a * torch.sigmoid(1.702 * a) @ W_2 + b_2


@wrong(GELU)
def by_tanh(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """The form with tanh, where the exact one is meant."""
    return F.gelu(x @ W_1 + b_1, approximate="tanh") @ W_2 + b_2


@wrong(GELU)
def not_divided(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """erf(a) for erf(a/√2)."""
    a = x @ W_1 + b_1
    return a * (1 + torch.erf(a)) / 2 @ W_2 + b_2


@wrong(GELU)
def corner(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """max(0, ·)."""
    return torch.relu(x @ W_1 + b_1) @ W_2 + b_2


@wrong(GELU)
def swish(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """a·σ(a)."""
    return F.silu(x @ W_1 + b_1) @ W_2 + b_2


@wrong(GELU)
def not_halved(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Forgets the half: a·(1 + erf(a/√2))."""
    return 2 * F.gelu(x @ W_1 + b_1) @ W_2 + b_2


@wrong(GELU)
def gelu_without_inner_bias(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Forgets b_1."""
    return F.gelu(x @ W_1 + 0 * b_1) @ W_2 + b_2


@wrong(GELU)
def gate_detached(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Φ(a) taken for a constant: the gradient misses a·φ(a)."""
    a = x @ W_1 + b_1
    read: Tensor = a * torch.special.ndtr(a.detach())
    return read @ W_2 + b_2


@wrong(GELU)
def smooth_twice(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """GELU once more after the outer layer."""
    return F.gelu(F.gelu(x @ W_1 + b_1) @ W_2 + b_2)


@right(GELU)
def by_complement(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """Φ(a) = erfc(−a/√2)/2, which cancels nowhere."""
    a = F.linear(x, W_1.mT, b_1)
    return F.linear(a * torch.special.erfc(-a / math.sqrt(2)) / 2, W_2.mT, b_2)


@right(GELU)
def by_error_function(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """The formula as it stands."""
    a = F.linear(x, W_1.mT, b_1)
    return F.linear(0.5 * a * (1 + torch.erf(a / math.sqrt(2))), W_2.mT, b_2)


@right(GELU, approximation="tanh")
def by_tanh_by_name(x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> Tensor:
    """GPT's: the form with tanh, under its own convention."""
    a = F.linear(x, W_1.mT, b_1)
    inner = math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)
    return F.linear(0.5 * a * (1 + torch.tanh(inner)), W_2.mT, b_2)

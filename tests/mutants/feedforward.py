"""Variants of ``feedforward.relu`` and ``feedforward.gelu``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

RELU, GELU = "feedforward.relu", "feedforward.gelu"

# max(0, ·) ----------------------------------------------------------------------------------------------------------------

wrong(RELU, "bent_twice", "max(0, ·) once more after the outer layer.")(
    lambda x, W_1, b_1, W_2, b_2: (torch.relu(x @ W_1 + b_1) @ W_2 + b_2).relu()
)
linear = wrong(RELU, "linear", "Nothing between the layers.")(
    lambda x, W_1, b_1, W_2, b_2: (x @ W_1 + b_1) @ W_2 + b_2
)
wrong(RELU, "no_inner_bias", "Forgets b_1; invisible while it is 0.")(
    lambda x, W_1, b_1, W_2, b_2: torch.relu(x @ W_1 + 0 * b_1) @ W_2 + b_2
)
wrong(RELU, "no_outer_bias", "Forgets b_2; invisible while it is 0.")(
    lambda x, W_1, b_1, W_2, b_2: torch.relu(x @ W_1 + b_1) @ W_2 + 0 * b_2
)
wrong(RELU, "bias_after", "Adds the inner bias to what max(0, ·) has let through.")(
    lambda x, W_1, b_1, W_2, b_2: (torch.relu(x @ W_1) + b_1) @ W_2 + b_2
)
wrong(RELU, "leaky", "Lets a hundredth of what is negative through.")(
    lambda x, W_1, b_1, W_2, b_2: F.leaky_relu(x @ W_1 + b_1) @ W_2 + b_2
)
wrong(RELU, "smooth", "BERT's GELU in place of max(0, ·).")(
    lambda x, W_1, b_1, W_2, b_2: F.gelu(x @ W_1 + b_1) @ W_2 + b_2
)
wrong(RELU, "capped", "Lets no more than 6 through.")(
    lambda x, W_1, b_1, W_2, b_2: F.relu6(x @ W_1 + b_1) @ W_2 + b_2
)
wrong(RELU, "inner_weights_frozen", "No gradient reaches W_1.")(
    lambda x, W_1, b_1, W_2, b_2: torch.relu(x @ W_1.detach() + 0 * W_1.sum() + b_1) @ W_2 + b_2
)


@wrong(RELU)
def straight_through(x, W_1, b_1, W_2, b_2):
    """Passes a gradient to silent units too."""
    a = x @ W_1 + b_1
    return (a + (torch.relu(a) - a).detach()) @ W_2 + b_2


@right(RELU)
def by_choice(x, W_1, b_1, W_2, b_2):
    """torch.where for max(0, ·)."""
    a = F.linear(x, W_1.mT, b_1)
    return F.linear(torch.where(a > 0, a, 0.0), W_2.mT, b_2)


@right(RELU)
def unit_by_unit(x, W_1, b_1, W_2, b_2):
    """The units one after another."""
    total = b_2.expand(x.shape)
    for u in range(W_1.shape[1]):
        total = total + torch.relu(x @ W_1[:, u] + b_1[u])[..., None] * W_2[u]
    return total


right(RELU, "rows_transposed", "Columns for rows: W_2ᵀ max(0, W_1ᵀ xᵀ + b_1), by einsum.")(
    lambda x, W_1, b_1, W_2, b_2: (
        torch.einsum("fd,...f->...d", W_2, (torch.einsum("df,...d->...f", W_1, x) + b_1).relu()) + b_2
    )
)

# GELU ---------------------------------------------------------------------------------------------------------------------


@wrong(GELU)
def by_sigmoid(x, W_1, b_1, W_2, b_2):
    """a·σ(1.702·a)."""
    a = x @ W_1 + b_1
    return a * torch.sigmoid(1.702 * a) @ W_2 + b_2


wrong(GELU, "by_tanh", "The form with tanh, where the exact one is meant.")(
    lambda x, W_1, b_1, W_2, b_2: F.gelu(x @ W_1 + b_1, approximate="tanh") @ W_2 + b_2
)


@wrong(GELU)
def not_divided(x, W_1, b_1, W_2, b_2):
    """erf(a) for erf(a/√2)."""
    a = x @ W_1 + b_1
    return a * (1 + torch.erf(a)) / 2 @ W_2 + b_2


wrong(GELU, "corner", "max(0, ·).")(lambda x, W_1, b_1, W_2, b_2: torch.relu(x @ W_1 + b_1) @ W_2 + b_2)
wrong(GELU, "swish", "a·σ(a).")(lambda x, W_1, b_1, W_2, b_2: F.silu(x @ W_1 + b_1) @ W_2 + b_2)
wrong(GELU, "not_halved", "Forgets the half: a·(1 + erf(a/√2)).")(
    lambda x, W_1, b_1, W_2, b_2: 2 * F.gelu(x @ W_1 + b_1) @ W_2 + b_2
)
wrong(GELU, "gelu_without_inner_bias", "Forgets b_1.")(
    lambda x, W_1, b_1, W_2, b_2: F.gelu(x @ W_1 + 0 * b_1) @ W_2 + b_2
)


@wrong(GELU)
def gate_detached(x, W_1, b_1, W_2, b_2):
    """Φ(a) taken for a constant: the gradient misses a·φ(a)."""
    a = x @ W_1 + b_1
    read = a * torch.special.ndtr(a.detach())
    return read @ W_2 + b_2


wrong(GELU, "smooth_twice", "GELU once more after the outer layer.")(
    lambda x, W_1, b_1, W_2, b_2: F.gelu(F.gelu(x @ W_1 + b_1) @ W_2 + b_2)
)


@right(GELU)
def by_complement(x, W_1, b_1, W_2, b_2):
    """Φ(a) = erfc(−a/√2)/2, which cancels nowhere."""
    a = F.linear(x, W_1.mT, b_1)
    return F.linear(a * torch.special.erfc(-a / math.sqrt(2)) / 2, W_2.mT, b_2)


@right(GELU)
def by_error_function(x, W_1, b_1, W_2, b_2):
    """The formula as it stands."""
    a = F.linear(x, W_1.mT, b_1)
    return F.linear(0.5 * a * (1 + torch.erf(a / math.sqrt(2))), W_2.mT, b_2)


@right(GELU, approximation="tanh")
def by_tanh_by_name(x, W_1, b_1, W_2, b_2):
    """GPT's: the form with tanh, under its own convention."""
    a = F.linear(x, W_1.mT, b_1)
    inner = math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)
    return F.linear(0.5 * a * (1 + torch.tanh(inner)), W_2.mT, b_2)

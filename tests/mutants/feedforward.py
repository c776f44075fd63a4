"""Variants of ``feedforward.relu``, ``feedforward.gelu`` and ``feedforward.gated``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import altering, right, wrong

RELU, GELU, GATED = "feedforward.relu", "feedforward.gelu", "feedforward.gated"


def network(activity):
    """A layer, an activity, another layer."""
    return lambda x, W_1, b_1, W_2, b_2: activity(x @ W_1 + b_1) @ W_2 + b_2


def zero(b):
    """0, with the bias in its graph."""
    return 0 * b


relu, gelu = network(torch.relu), network(F.gelu)

# max(0, ·) ----------------------------------------------------------------------------------------------------------------

wrong(RELU, "bent_twice", "max(0, ·) once more after the outer layer.", cause="^ReLU is applied to y")(
    lambda x, W_1, b_1, W_2, b_2: relu(x, W_1, b_1, W_2, b_2).relu()
)
wrong(RELU, "linear", "Nothing between the layers.", cause=r"no activation|0 < a\S* is not applied")(
    network(lambda a: a)
)
wrong(RELU, "no_inner_bias", "Forgets b_1; invisible while it is 0.", cause=r"b_1\S* is (ignored|not added)")(
    altering(relu, {2: zero})
)
wrong(RELU, "no_outer_bias", "Forgets b_2; invisible while it is 0.", cause=r"b_2\S* is (ignored|not added)")(
    altering(relu, {4: zero})
)
wrong(
    RELU, "bias_after", "Adds the inner bias to what max(0, ·) has let through.", cause="not added to a, but"
)(lambda x, W_1, b_1, W_2, b_2: (torch.relu(x @ W_1) + b_1) @ W_2 + b_2)
wrong(RELU, "leaky", "Lets a hundredth of what is negative through.", cause="is leaky ReLU")(
    network(F.leaky_relu)
)
wrong(RELU, "smooth", "BERT's GELU in place of max(0, ·).", cause="is GELU of")(network(F.gelu))
wrong(RELU, "capped", "Lets no more than 6 through.", cause=r"(most|than|above) 6\b")(network(F.relu6))
wrong(RELU, "inner_weights_frozen", "No gradient reaches W_1.", cause="no gradient reaches W_1")(
    altering(relu, {1: lambda W_1: W_1.detach() + 0 * W_1})
)
wrong(
    RELU, "straight_through", "Passes a gradient to silent units too.", cause="gradient .*(silent|below 0)"
)(network(lambda a: a + (torch.relu(a) - a).detach()))
right(RELU, "by_choice", "torch.where for max(0, ·).")(network(lambda a: torch.where(a > 0, a, 0.0)))


@right(RELU)
def unit_by_unit(x, W_1, b_1, W_2, b_2):
    """The units one after another."""
    total = b_2.expand(x.shape)
    for u in range(W_1.shape[1]):
        total = total + torch.relu(x @ W_1[:, u] + b_1[u])[..., None] * W_2[u]
    return total


@right(RELU)
def rows_transposed(x, W_1, b_1, W_2, b_2):
    """Columns for rows: W_2ᵀ max(0, W_1ᵀ xᵀ + b_1), by einsum."""
    a = torch.einsum("df,...d->...f", W_1, x) + b_1
    return torch.einsum("fd,...f->...d", W_2, a.relu()) + b_2


# GELU ---------------------------------------------------------------------------------------------------------------------


wrong(GELU, "by_sigmoid", "a·σ(1.702·a).", cause="GELU by a sigmoid")(
    network(lambda a: a * torch.sigmoid(1.702 * a))
)
wrong(GELU, "by_tanh", "The form with tanh, where the exact one is meant.", cause="GELU by tanh")(
    network(lambda a: F.gelu(a, approximate="tanh"))
)
wrong(GELU, "not_divided", "erf(a) for erf(a/√2).", cause=r"not divided by √\(?2")(
    network(lambda a: a * (1 + torch.erf(a)) / 2)
)
wrong(GELU, "corner", "max(0, ·).", cause="is ReLU of")(network(torch.relu))
wrong(GELU, "swish", "a·σ(a).", cause="is SiLU of")(network(F.silu))
wrong(
    GELU, "not_halved", "Forgets the half: a·(1 + erf(a/√2)).", cause="not divided by 2|(W_2|h) is doubled"
)(network(lambda a: 2 * F.gelu(a)))
wrong(GELU, "gelu_without_inner_bias", "Forgets b_1.", cause=r"b_1\S* is (ignored|not added)")(
    altering(gelu, {2: zero})
)
wrong(
    GELU, "gate_detached", "Φ(a) taken for a constant: the gradient misses a·φ(a).", cause="(erf|Φ).*constant"
)(network(lambda a: a * torch.special.ndtr(a.detach())))
wrong(GELU, "smooth_twice", "GELU once more after the outer layer.", cause="GELU is applied to y")(
    lambda x, W_1, b_1, W_2, b_2: F.gelu(gelu(x, W_1, b_1, W_2, b_2))
)
right(GELU, "by_complement", "Φ(a) = erfc(−a/√2)/2, which cancels nowhere.")(
    network(lambda a: a * torch.special.erfc(-a / math.sqrt(2)) / 2)
)
right(GELU, "by_error_function", "The formula as it stands.")(
    network(lambda a: 0.5 * a * (1 + torch.erf(a / math.sqrt(2))))
)


@right(GELU, via=network, approximation="tanh")
def by_tanh_by_name(a):
    """GPT's: the form with tanh, by that convention."""
    return 0.5 * a * (1 + torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))


# Gated --------------------------------------------------------------------------------------------------------------------


def gated(gate=F.silu, says=lambda b: b):
    """A layer that opens, times a layer that says, and a layer back."""
    return lambda x, W_g, W_u, W_d: (gate(x @ W_g) * says(x @ W_u)) @ W_d


wrong(
    GATED,
    "gated_exchanged",
    "Opens by what a unit has to say, and says what opens it.",
    cause="W_u|W_g|exchang|swap",
)(lambda x, W_g, W_u, W_d: gated()(x, W_u, W_g, W_d))
wrong(GATED, "gated_both_bent", "Bends both layers.", cause="SiLU|bent|activation|applied to b")(
    gated(says=F.silu)
)
wrong(
    GATED,
    "gated_up_bent_alone",
    "Bends the up layer, and not the gate: the same as exchanging them.",
    cause="W_u|W_g|exchang|SiLU",
)(gated(lambda a: a, F.silu))
wrong(GATED, "gated_by_sigmoid", "σ(a) for a·σ(a): GLU.", cause="sigmoid|multiplied by a|a is not")(
    gated(torch.sigmoid)
)
wrong(GATED, "gated_by_gelu", "GEGLU, where SwiGLU is meant.", cause="is GELU of|activation=gelu")(
    gated(F.gelu)
)
wrong(GATED, "gated_by_relu", "ReGLU, where SwiGLU is meant.", cause="is ReLU of|activation=relu")(
    gated(torch.relu)
)
wrong(GATED, "gated_not_bent", "The bilinear network.", cause="activation=none|no activation|is not applied")(
    gated(lambda a: a)
)
wrong(
    GATED,
    "gated_not_at_all",
    "Only the gate: the plain network with SiLU, W_u unread.",
    cause="W_u|not multiplied by b",
)(lambda x, W_g, W_u, W_d: F.silu(x @ W_g) @ W_d + 0 * W_u.sum())
wrong(
    GATED, "gated_added", "The sum of both layers in place of their product.", cause="added|sum|multiplied"
)(lambda x, W_g, W_u, W_d: (F.silu(x @ W_g) + x @ W_u) @ W_d)
wrong(GATED, "gated_bent_behind", "Bends the product of both layers.", cause="SiLU|product|applied to h")(
    lambda x, W_g, W_u, W_d: F.silu((x @ W_g) * (x @ W_u)) @ W_d
)
wrong(GATED, "gate_frozen", "No gradient reaches W_g.", cause="gradient .*W_g|constant")(
    lambda x, W_g, W_u, W_d: gated()(x, W_g.detach() + 0 * W_g, W_u, W_d)
)
wrong(
    GATED,
    "gate_taken_in_half",
    "Both layers rounded to bfloat16, as a fused kernel may keep them.",
    cause="bfloat16",
)(lambda x, W_g, W_u, W_d: (F.silu((x @ W_g).bfloat16()) * (x @ W_u).bfloat16()).to(x.dtype) @ W_d)
wrong(
    GATED,
    "gelu_by_tanh_in_the_gate",
    "Gemma's form with tanh, where the exact one is meant.",
    cause="tanh",
    activation="gelu",
)(gated(lambda a: F.gelu(a, approximate="tanh")))


@wrong(GATED, cause="W_u|W_g|column|permut|exchang")
def gated_interleaved(x, W_g, W_u, W_d):
    """One product of both layers, of which every other column is taken for a gate."""
    both = x @ torch.cat((W_g, W_u), -1)
    return (F.silu(both[..., ::2]) * both[..., 1::2]) @ W_d


@right(GATED)
def gated_in_one_product(x, W_g, W_u, W_d):
    """One product of both layers, cut into halves."""
    a, b = (x @ torch.cat((W_g, W_u), -1)).chunk(2, -1)
    return torch.einsum("...f,fd->...d", a * torch.sigmoid(a) * b, W_d)


@right(GATED)
def gated_unit_by_unit(x, W_g, W_u, W_d):
    """The units one after another."""
    total = torch.zeros_like(x)
    for u in range(W_g.shape[1]):
        total = total + (F.silu(x @ W_g[:, u]) * (x @ W_u[:, u]))[..., None] * W_d[u]
    return total


right(
    GATED, "gated_by_tanh_by_name", "Gemma's, by its conventions.", activation="gelu", approximation="tanh"
)(gated(lambda a: 0.5 * a * (1 + torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))))
right(GATED, "bilinear_by_name", "The bilinear network, by its convention.", activation="none")(
    gated(lambda a: a)
)

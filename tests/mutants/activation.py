"""Variants of the formulas of ``activation``."""

import math

import torch
import torch.nn.functional as F

from tests.mutants import right, wrong

RELU, GELU, SILU, LOG_SOFTMAX = (f"activation.{name}" for name in ("relu", "gelu", "silu", "log_softmax"))

# max(0, ·) ----------------------------------------------------------------------------------------------------------------

wrong(RELU, "relu_leaky", "Lets a hundredth of what is negative through.", cause="leaky ReLU")(
    lambda x: F.leaky_relu(x)
)
wrong(RELU, "relu_capped", "Lets no more than 6 through.", cause=r"(most|than|above|is) 6\b")(
    lambda x: F.relu6(x)
)
wrong(
    RELU,
    "relu_straight_through",
    "Passes a gradient to silent units too.",
    cause="gradients are",
)(lambda x: x + (torch.relu(x) - x).detach())
wrong(RELU, "relu_smooth", "GELU in place of max(0, ·).", cause="is GELU of")(lambda x: F.gelu(x))
wrong(
    RELU,
    "relu_softened",
    "ln(1 + eˣ), which is max(0, ·) from afar.",
    cause="softplus|0.6931 and has to be 0",
)(lambda x: F.softplus(x))
wrong(
    RELU,
    "relu_bent_back",
    "|x|: the negative side is turned over.",
    cause="absolute|magnitude|without its signs",
)(lambda x: x.abs())
wrong(RELU, "relu_squared", "The square of max(0, ·), as in Primer.", cause="square")(
    lambda x: F.relu(x).square()
)
wrong(RELU, "relu_from_below", "min(0, ·).", cause="sign|min|inverted")(lambda x: x.clamp_max(0))
wrong(RELU, "relu_exponential", "ELU: eˣ − 1 for what is negative.", cause=r"-0\.\d+ and has to be 0")(
    lambda x: F.elu(x)
)


@wrong(RELU, cause="writes to its input")
def relu_in_place(x):
    """Writes the result over the caller's tensor."""
    y = torch.relu(x)
    with torch.no_grad():
        x.relu_()
    return y


right(RELU, "relu_by_choice", "torch.where for max(0, ·).")(lambda x: torch.where(x > 0, x, 0.0))
right(RELU, "relu_by_product", "The number times whether it is positive.")(lambda x: x * (x > 0))

# GELU ---------------------------------------------------------------------------------------------------------------------

wrong(GELU, "gelu_by_sigmoid", "x·σ(1.702·x).", cause="GELU by a sigmoid")(
    lambda x: x * torch.sigmoid(1.702 * x)
)
wrong(
    GELU,
    "gelu_by_tanh",
    "The form with tanh, where the exact one is meant.",
    cause="GELU by tanh|approximation=tanh",
)(lambda x: F.gelu(x, approximate="tanh"))
wrong(GELU, "gelu_not_divided", "erf(x) for erf(x/√2).", cause=r"not divided by √\(?2")(
    lambda x: x * (1 + torch.erf(x)) / 2
)
wrong(GELU, "gelu_corner", "max(0, ·).", cause="is ReLU of")(lambda x: torch.relu(x))
wrong(GELU, "gelu_swish", "x·σ(x).", cause="is SiLU of")(lambda x: F.silu(x))
wrong(GELU, "gelu_not_halved", "Forgets the half: x·(1 + erf(x/√2)).", cause="not divided by 2|doubled")(
    lambda x: 2 * F.gelu(x)
)
wrong(GELU, "gelu_gate_alone", "Φ(x) itself, without the number.", cause=r"is a sigmoid|x\S* is not")(
    lambda x: torch.special.ndtr(x)
)
wrong(
    GELU,
    "gelu_gate_detached",
    "Φ(x) taken for a constant: the gradient misses x·φ(x).",
    cause="(erf|Φ).*constant",
)(lambda x: x * torch.special.ndtr(x.detach()))
wrong(GELU, "gelu_cube_forgotten", "tanh without the cube.", cause=r"\^3|³|cub", approximation="tanh")(
    lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x))
)
wrong(GELU, "gelu_in_single", "Computed in float32, for float64 too.", cause="float32")(
    lambda x: F.gelu(x.float()).to(x.dtype)
)
right(GELU, "gelu_by_complement", "Φ(x) = erfc(−x/√2)/2, which cancels nowhere.")(
    lambda x: x * torch.special.erfc(-x / math.sqrt(2)) / 2
)
right(GELU, "gelu_by_tanh_by_name", "The form with tanh, by that convention.", approximation="tanh")(
    lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
)

# SiLU ---------------------------------------------------------------------------------------------------------------------

wrong(SILU, "silu_sigmoid_alone", "The sigmoid without the number.", cause=r"is a sigmoid|x\S* is not")(
    lambda x: torch.sigmoid(x)
)
wrong(SILU, "silu_slope", "x·σ(1.702·x): GELU's coarse form.", cause="1.702|GELU by a sigmoid")(
    lambda x: x * torch.sigmoid(1.702 * x)
)
wrong(SILU, "silu_gaussian", "GELU.", cause="is GELU of")(lambda x: F.gelu(x))
wrong(SILU, "silu_corner", "max(0, ·).", cause="is ReLU of")(lambda x: torch.relu(x))
wrong(SILU, "silu_hard", "Hard swish: a line for the sigmoid, as in networks for phones.", cause="hard")(
    lambda x: F.hardswish(x)
)
wrong(SILU, "silu_mish", "x·tanh(ln(1 + eˣ)).", cause="mish")(lambda x: F.mish(x))
wrong(SILU, "silu_by_tanh", "x·tanh x, without the half and the shift of a sigmoid.", cause="tanh")(
    lambda x: x * torch.tanh(x)
)
wrong(
    SILU, "silu_detached", "The gate taken for a constant: the gradient misses x·σ·(1 − σ).", cause="constant"
)(lambda x: x * torch.sigmoid(x.detach()))
wrong(SILU, "silu_sign", "x·σ(−x): the exponential has the wrong sign.", cause="sign|negat|−x|minus")(
    lambda x: x * torch.sigmoid(-x)
)


@wrong(SILU, dtypes=("float16", "float32"), cause="float16|beyond|overflow|range|larger")
def silu_half(x):
    """x/(1 + e⁻ˣ) with the exponential in float16: it overflows below −11, and what is left is 0."""
    return (x / (1 + torch.exp(-x.half()))).to(x.dtype)


right(SILU, "silu_plainly", "x·σ(x).")(lambda x: x * torch.sigmoid(x))
right(SILU, "silu_by_one_exponential", "One exponential, of a number that is not positive.")(
    lambda x: x * x.clamp_max(0).exp() / (1 + (-x.abs()).exp())
)
wrong(
    SILU,
    "silu_by_complement",
    "x − x·σ(−x), which cancels below.",
    cause="cancel|small|x ≤|below|beyond|conforms",
)(lambda x: x - x * torch.sigmoid(-x))

# Log-softmax --------------------------------------------------------------------------------------------------------------

wrong(
    LOG_SOFTMAX,
    "log_of_the_softmax",
    "The logarithm of the softmax: −∞ where a share rounds to 0.",
    cause="−∞|-inf|inf|apart",
)(lambda x: torch.softmax(x, -1).log())
wrong(
    LOG_SOFTMAX,
    "log_softmax_naive",
    "x − ln Σ eˣ, and no offset: exponentials overflow.",
    cause="overflow|above|range|beyond|large",
)(lambda x: x - x.exp().sum(-1, keepdim=True).log())
wrong(
    LOG_SOFTMAX,
    "log_softmax_offset_lost",
    "The largest score subtracted, and not added again.",
    cause="off by|max|shift",
)(lambda x: x - (x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True).log())
wrong(LOG_SOFTMAX, "log_softmax_over_the_batch", "Over the rows, where there are any.", cause="in batches")(
    lambda x: torch.log_softmax(x, 0)
)
wrong(LOG_SOFTMAX, "log_softmax_itself", "The softmax, not its logarithm.", cause="exponential of y")(
    lambda x: torch.softmax(x, -1)
)
wrong(
    LOG_SOFTMAX,
    "log_softmax_base_two",
    "Logarithm to base 2, of exponentials to base e.",
    cause="1.4427 times",
)(lambda x: torch.log_softmax(x, -1) / math.log(2))
wrong(
    LOG_SOFTMAX,
    "log_softmax_sum_detached",
    "The sum under no_grad: the gradient misses the softmax.",
    cause="constant|gradient",
)(lambda x: x - torch.logsumexp(x, -1, keepdim=True).detach())
wrong(
    LOG_SOFTMAX,
    "log_softmax_without_the_largest",
    "The largest entry left out of the sum.",
    cause="largest|max|sum",
)(
    lambda x: (
        x
        - ((x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True) - 1).clamp_min(1e-30).log()
        - x.amax(-1, keepdim=True)
    )
)
wrong(
    LOG_SOFTMAX,
    "log_softmax_with_epsilon",
    "The sum of exponentials has 10⁻⁵ added.",
    cause="add|off by|term",
)(
    lambda x: (
        x
        - x.amax(-1, keepdim=True)
        - ((x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True) + 1e-5).log()
    )
)
wrong(LOG_SOFTMAX, "log_softmax_half_sum", "The sum of exponentials in bfloat16.", cause="bfloat16")(
    lambda x: (
        x
        - x.amax(-1, keepdim=True)
        - (x - x.amax(-1, keepdim=True)).exp().bfloat16().sum(-1, keepdim=True).to(x.dtype).log()
    )
)


@right(LOG_SOFTMAX)
def log_softmax_from_the_largest(x):
    """The row less its largest entry, then less the logarithm of the sum of its exponentials."""
    z = x - x.amax(-1, keepdim=True)
    return z - z.exp().sum(-1, keepdim=True).log()

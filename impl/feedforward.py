"""Feed-forward networks, the same at every position: two layers with a function of one number between them, or three and a gate.

Letters are the statements': rows x of d entries, f inner units; W_1 (d f) and b_1 lead to them, W_2 (f d) and b_2 back. In a
gated network W_g (d f) opens the units' gates, W_u (d f) is what they have to say, and W_d (f d) leads back.
"""

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._arguments import check_arguments

__all__ = ["gated", "gelu", "relu"]


def relu(
    x: Float[Tensor, "... d"],
    W_1: Float[Tensor, "d f"],
    b_1: Float[Tensor, " f"],
    W_2: Float[Tensor, "f d"],
    b_2: Float[Tensor, " d"],
) -> Float[Tensor, "... d"]:
    """y = max(0, x W_1 + b_1) W_2 + b_2. Statement: ``feedforward.relu``.

    ValueError for shapes that do not fit, TypeError unless all share one floating dtype. Source: Vaswani et al. 2017,
    section 3.3.
    """
    _check("feedforward.relu", x, W_1, b_1, W_2, b_2)
    return F.linear(F.relu(F.linear(x, W_1.mT, b_1)), W_2.mT, b_2)


def gelu(
    x: Float[Tensor, "... d"],
    W_1: Float[Tensor, "d f"],
    b_1: Float[Tensor, " f"],
    W_2: Float[Tensor, "f d"],
    b_2: Float[Tensor, " d"],
    *,
    approximation: Literal["none", "tanh"] = "none",
) -> Float[Tensor, "... d"]:
    """y = gelu(x W_1 + b_1) W_2 + b_2 with gelu(a) = a·Φ(a), Φ the normal distribution. Statement: ``feedforward.gelu``.

    ``approximation="tanh"`` has tanh(√(2/π)·(a + 0.044715·a³)) in place of erf(a/√2), as the first GPT did. ValueError for
    shapes that do not fit and for another approximation, TypeError unless all share one floating dtype. Source: Hendrycks &
    Gimpel 2016.
    """
    _check("feedforward.gelu", x, W_1, b_1, W_2, b_2)
    return F.linear(F.gelu(F.linear(x, W_1.mT, b_1), approximate=approximation), W_2.mT, b_2)


def gated(
    x: Float[Tensor, "... d"],
    W_g: Float[Tensor, "d f"],
    W_u: Float[Tensor, "d f"],
    W_d: Float[Tensor, "f d"],
    *,
    activation: Literal["silu", "gelu", "relu", "sigmoid", "none"] = "silu",
    approximation: Literal["none", "tanh"] = "none",
) -> Float[Tensor, "... d"]:
    """y = (act(x W_g) ⊙ x W_u) W_d, act(a) = a·σ(a): SwiGLU. Statement: ``feedforward.gated``.

    ``activation`` is another for GEGLU (``"gelu"``, of which ``approximation="tanh"`` is Gemma's form), ReGLU (``"relu"``), GLU
    (``"sigmoid"``) and the bilinear network (``"none"``). ValueError for shapes that do not fit and for another option, TypeError
    unless all share one floating dtype. Source: Shazeer 2020, "GLU Variants Improve Transformer", equations 5 and 6.
    """
    d, f = W_g.shape if W_g.dim() == 2 else (-1, -1)
    if x.shape[-1:] != (d,) or W_u.shape != (d, f) or W_d.shape != (f, d):
        expected = "x (... d), W_g (d f), W_u (d f), W_d (f d)"
        raise _refuse.shapes("feedforward.gated", expected, x=x, W_g=W_g, W_u=W_u, W_d=W_d)
    _refuse.check_floating("feedforward.gated", x=x, W_g=W_g, W_u=W_u, W_d=W_d)
    a = F.linear(x, W_g.mT)
    gate = F.gelu(a, approximate=approximation) if activation == "gelu" else GATES[activation](a)
    return F.linear(gate * F.linear(x, W_u.mT), W_d.mT)


GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "none": lambda a: a,
}
"""What opens the gates, by the option; GELU has options of its own."""


def _check(formula: str, x: Tensor, W_1: Tensor, b_1: Tensor, W_2: Tensor, b_2: Tensor) -> None:
    d, f = W_1.shape if W_1.dim() == 2 else (-1, -1)
    if x.shape[-1:] != (d,) or b_1.shape != (f,) or W_2.shape != (f, d) or b_2.shape != (d,):
        expected = "x (... d), W_1 (d f), b_1 (f), W_2 (f d), b_2 (d)"
        raise _refuse.shapes(formula, expected, x=x, W_1=W_1, b_1=b_1, W_2=W_2, b_2=b_2)
    _refuse.check_floating(formula, x=x, W_1=W_1, b_1=b_1, W_2=W_2, b_2=b_2)


check_arguments(__name__)

"""Activations: functions of one number by which a network bends, and the softmax of a row in logarithms.

Each goes to torch's function, which computes 16-bit entries in float32 and rounds once.
"""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._arguments import check_arguments

__all__ = ["gelu", "log_softmax", "relu", "silu"]


def relu(x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
    """y = max(0, x). Statement: ``activation.relu``.

    TypeError unless x is of a floating dtype. Source: Nair & Hinton 2010, "Rectified Linear Units Improve Restricted Boltzmann
    Machines".
    """
    _refuse.check_floating("activation.relu", x=x)
    return F.relu(x)


def gelu(
    x: Float[Tensor, "... d"], *, approximation: Literal["none", "tanh"] = "none"
) -> Float[Tensor, "... d"]:
    """y = x·Φ(x), Φ the normal distribution. Statement: ``activation.gelu``.

    ``approximation="tanh"`` has tanh(√(2/π)·(x + 0.044715·x³)) in place of erf(x/√2). ValueError for another approximation,
    TypeError unless x is of a floating dtype. Source: Hendrycks & Gimpel 2016, "Gaussian Error Linear Units".
    """
    _refuse.check_floating("activation.gelu", x=x)
    return F.gelu(x, approximate=approximation)


def silu(x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
    """y = x·σ(x), σ the sigmoid: SiLU, or swish. Statement: ``activation.silu``.

    TypeError unless x is of a floating dtype. Source: Elfwing, Uchibe & Doya 2018, equation 2.
    """
    _refuse.check_floating("activation.silu", x=x)
    return F.silu(x)


def log_softmax(x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
    """y = x − ln Σ eˣ, over the last dimension. Statement: ``activation.log_softmax``.

    The largest entry is subtracted before exponentials are taken. ValueError for a tensor without dimensions, TypeError unless x
    is of a floating dtype. Source: Blanchard, Higham & Higham 2021, "Accurately computing the log-sum-exp and softmax functions".
    """
    if x.dim() == 0:
        raise _refuse.shapes("activation.log_softmax", "x (... d)", x=x)
    _refuse.check_floating("activation.log_softmax", x=x)
    return torch.log_softmax(x, -1)


check_arguments(__name__)

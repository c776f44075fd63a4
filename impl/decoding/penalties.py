"""The length penalty: without one the shortest continuation is the likeliest, since every token's log-probability is negative."""

import math
from typing import Literal

from jaxtyping import Float, Integer
from torch import Tensor

__all__ = ["Penalty", "penalised"]

Penalty = Literal["gnmt", "power"]


def check_alpha(name: str, alpha: float) -> None:
    """Refuse an α that is no finite number."""
    if not math.isfinite(alpha):
        raise ValueError(f"{name}: expected a finite alpha; got {alpha}")


def penalised(
    log_probability: Float[Tensor, "..."],
    lengths: Integer[Tensor, "..."],
    alpha: float,
    penalty: Penalty = "gnmt",
) -> Float[Tensor, "..."]:
    """The score log p / ((5 + L)/6)^α ("gnmt", Wu et al. 2016, equation 14) or log p / L^α ("power").

    L counts the tokens that were generated, ``end`` among them; the prompt is not counted. α = 0 leaves log p as it is.
    ValueError for another law, or an α that is not finite.
    """
    check_alpha("decoding.penalised", alpha)
    if alpha == 0:
        return log_probability
    L = lengths.to(log_probability.dtype)  # before the division, which of integers is made in float32
    base = (5 + L) / 6 if penalty == "gnmt" else L.clamp(min=1)
    return log_probability / base**alpha

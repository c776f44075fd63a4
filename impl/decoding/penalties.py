"""The length penalty: without one the shortest continuation is the likeliest, since every token's log-probability is negative."""

from typing import Literal

from jaxtyping import Float, Integer
from torch import Tensor

__all__ = ["Penalty", "penalised"]

Penalty = Literal["gnmt", "power"]


def penalised(
    log_probability: Float[Tensor, "..."],
    lengths: Integer[Tensor, "..."],
    alpha: float,
    penalty: Penalty = "gnmt",
) -> Float[Tensor, "..."]:
    """The score log p / ((5 + L)/6)^α ("gnmt", Wu et al. 2016, equation 14) or log p / L^α ("power").

    L counts the tokens that were generated, ``end`` among them; the prompt is not counted. α = 0 leaves log p as it is.
    """
    if alpha == 0:
        return log_probability
    base = (lengths + 5) / 6 if penalty == "gnmt" else lengths.clamp(min=1)
    return log_probability / base.to(log_probability.dtype) ** alpha

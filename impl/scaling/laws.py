"""The loss of a language model as a power of its parameters, its text and its compute."""

from math import inf
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from impl import _refuse
from impl._transforms import readable


class Constants(NamedTuple):
    """What is fitted: ``kaplan(N, D, C, *constants)``. N_c counts parameters, D_c tokens; C_c is in the unit of C."""

    N_c: float
    D_c: float
    C_c: float
    alpha_N: float
    alpha_D: float
    alpha_C: float


EACH = Constants(8.8e13, 5.4e13, 3.1e8, 0.076, 0.095, 0.050)
"""As published, each law fitted by itself; compute as it is used best, in petaflop/s-days (Kaplan et al. 2020, equations 1.1 to
1.3)."""
JOINT = EACH._replace(N_c=6.4e13, D_c=1.8e13, alpha_D=0.103)
"""As published for the joint law (ibid., table 2)."""
PLAIN = EACH._replace(C_c=1.6e7, alpha_C=0.057)
"""As published for compute as it was used (ibid., appendix A)."""


def kaplan(
    N: Float[Tensor, "..."],
    D: Float[Tensor, "..."],
    C: Float[Tensor, "..."],
    N_c: float,
    D_c: float,
    C_c: float,
    alpha_N: float,
    alpha_D: float,
    alpha_C: float,
) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."], Float[Tensor, "..."], Float[Tensor, "..."]]:
    """L(N) = (N_c/N)^α_N, L(D), L(C), and L(N, D) = ((N_c/N)^(α_N/α_D) + D_c/D)^α_D. Statement: ``scaling.kaplan``.

    N counts parameters without embeddings, D tokens; losses are in nats a token. All is computed in float64, the joint law in
    logarithms, so that neither a share nor a step of a gradient overflows where the result does not. ValueError for shapes that
    do not broadcast, for constants that are not finite and above 0, and for numbers below 0 where looking at them is free;
    TypeError unless N, D and C share one floating dtype, which is also the results'. Source: Kaplan et al. 2020, "Scaling Laws
    for Neural Language Models", equations 1.1 to 1.5.
    """
    _refuse.check_floating("scaling.kaplan", N=N, D=D, C=C)
    constants = Constants(N_c, D_c, C_c, alpha_N, alpha_D, alpha_C)
    if not all(0 < constant < inf for constant in constants):
        raise ValueError(f"scaling.kaplan: expected finite constants above 0; got {constants}")
    for name, x in (("N", N), ("D", D), ("C", C)):
        if readable(x) and (x < 0).any():
            raise ValueError(f"scaling.kaplan: expected {name} of at least 0; got {x.min().item()}")
    try:
        _refuse.broadcast_shapes(N.shape, D.shape, C.shape)
    except RuntimeError:
        raise _refuse.shapes("scaling.kaplan", "shapes that broadcast", N=N, D=D, C=C) from None
    n, d, c = (critical / x.double() for critical, x in ((N_c, N), (D_c, D), (C_c, C)))
    joint = torch.logaddexp(alpha_N / alpha_D * n.log(), d.log()).mul(alpha_D).exp()
    losses = n**alpha_N, d**alpha_D, c**alpha_C, joint
    return tuple(loss.to(N.dtype) for loss in losses)  # type: ignore[return-value]

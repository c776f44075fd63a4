"""Masks, True = may attend, combined with ``&``; and blanking: what nobody attends to is made 0.

A product multiplies what a mask hides by 0, which leaves NaN and Inf as they are, in the result as in the gradient. So what no
partner sees is made 0 first. That costs a pass over the inputs; ``unsafe`` says whether it is needed. On the CPU a sum shows that
it is not, where all is finite; on an accelerator, where looking would wait for the device, it is always done, unless
``trust_hidden`` says that it need not be.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from impl import _refuse
from impl._transforms import readable

__all__ = ["causal_mask", "key_padding_mask", "trust_hidden"]

Alignment = Literal["lower_right", "upper_left"]

_trusting = 0
"""How many ``trust_hidden`` are open."""


def causal_mask(
    n: int, m: int, *, alignment: Alignment = "lower_right", device: torch.device | str | None = None
) -> Bool[Tensor, "{n} {m}"]:
    """The mask of ``causal``: True where key j may be attended to by query i. ValueError for another alignment."""
    offset = m - n if alignment == "lower_right" else 0
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(offset)


def key_padding_mask(lengths: Integer[Tensor, "..."], m: int) -> Bool[Tensor, "... 1 {m}"]:
    """True for the first lengths[b] of the m keys of sequence b: the real tokens, where what follows is padding.

    It broadcasts to the (... n m) of any query. TypeError unless the lengths are integers. (The key_padding_mask of
    ``nn.MultiheadAttention`` is the opposite: True drops a key.)
    """
    _refuse.check_integers("attention.key_padding_mask", "integer lengths", lengths=lengths)
    return torch.arange(m, device=lengths.device) < lengths[..., None, None]


@contextmanager
def trust_hidden() -> Iterator[None]:
    """Have what a mask hides taken to be finite by ``scaled_dot_product`` and all other attention: no pass over the inputs. ::

        with impl.attention.trust_hidden():
            z = impl.attention.scaled_dot_product(q, k, v, mask)

    Results are those of the statement where that is so. Where it is not, NaN and Inf in hidden slots reach outputs and gradients,
    as they do in torch's own attention. It holds for all threads. By default nothing is trusted, on any device. What it saves on
    CUDA has not been measured.
    """
    global _trusting
    _trusting += 1
    try:
        yield
    finally:
        _trusting -= 1


def trusts_hidden() -> bool:
    """Whether a ``trust_hidden`` is open."""
    return _trusting > 0


def blank(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """q, k, v with 0 in every slot that the mask hides from all its partners."""
    asks, asked = mask.any(-1, keepdim=True), mask.any(-2).unsqueeze(-1)
    return torch.where(asks, q, 0.0), torch.where(asked, k, 0.0), torch.where(asked, v, 0.0)


def unsafe(*tensors: Tensor) -> bool:
    """Whether hidden slots have to be blanked: where something is not finite, and where looking at values would wait for
    the device, stop the compiler or vmap. Never where hidden slots are trusted.
    """
    if trusts_hidden():
        return False
    return not readable(tensors[0]) or not finite(*tensors)


def finite(*tensors: Tensor) -> bool:
    """False if any entry is NaN or Inf (or a sum overflows: that costs the caller some time, never a wrong value)."""
    return all(math.isfinite(x.sum().item()) for x in tensors)


def blank_sequences(x: Tensor, y: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """x with 0 where a query may attend to nothing, y where no query may attend; or as they are, where all is finite."""
    if mask is None or not (unsafe(x) or (y is not x and unsafe(y))):
        return x, y
    asks, asked = mask.any(-1).unsqueeze(-1), mask.any(-2).unsqueeze(-1)
    if y is x:
        x = torch.where(asks | asked, x, 0.0)
        return x, x
    return torch.where(asks, x, 0.0), torch.where(asked, y, 0.0)

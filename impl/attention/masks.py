"""Masks: True = may attend. ``causal_mask`` stands beside ``causal``; masks are combined with ``&``."""

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from impl import _refuse

__all__ = ["key_padding_mask"]


def key_padding_mask(lengths: Integer[Tensor, "..."], m: int) -> Bool[Tensor, "... 1 {m}"]:
    """True for the first lengths[b] of the m keys of sequence b: the real tokens, where what follows is padding.

    It broadcasts to the (... n m) of any query. TypeError unless the lengths are integers. (The key_padding_mask of
    ``nn.MultiheadAttention`` is the opposite: True drops a key.)
    """
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise _refuse.dtypes("attention.key_padding_mask", "integer lengths", lengths=lengths)
    return torch.arange(m, device=lengths.device) < lengths[..., None, None]

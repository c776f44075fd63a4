"""Attention weights with linear biases as one writes them in PyTorch, and with transformers' own; held to ``alibi.py``."""

from __future__ import annotations

import torch
from torch import Tensor


def weights(s: Tensor) -> Tensor:
    """What the formula says: each step back costs a head's slope."""
    heads, n = s.shape[-3], s.shape[-1]
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1, dtype=s.dtype, device=s.device) / heads)
    place = torch.arange(n, dtype=s.dtype, device=s.device)
    return _causal(s - slopes[:, None, None] * (place[:, None] - place))


def bloom(s: Tensor) -> Tensor:
    """With transformers' biases of BLOOM, which count from the first key; where the heads are a power of two."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    heads, n = s.shape[-3], s.shape[-1]
    every = torch.ones(1, n, dtype=torch.int64, device=s.device)
    return _causal(s + build_alibi_tensor(every, heads, s.dtype))


def mpt(s: Tensor) -> Tensor:
    """With transformers' biases of MPT, which count back from the last key; where the heads are a power of two."""
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    return _causal(s + build_mpt_alibi_tensor(s.shape[-3], s.shape[-1], device=s.device).to(s.dtype))


def _causal(s: Tensor) -> Tensor:
    n = s.shape[-1]
    later = torch.ones(n, n, dtype=torch.bool, device=s.device).triu(1)
    return s.masked_fill(later, -torch.inf).softmax(-1)

"""Rotary position embedding as it is written in PyTorch, and transformers' own; held to ``rope.py``."""

from __future__ import annotations

import torch
from torch import Tensor


def turned(x: Tensor, p: Tensor) -> Tensor:
    """Neighbouring entries are a pair (layout=interleaved)."""
    cos, sin = _cos_sin(x, p)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def halves(x: Tensor, p: Tensor) -> Tensor:
    """Entries of the two halves are a pair (layout=halves)."""
    cos, sin = _cos_sin(x, p)
    front, back = x.chunk(2, -1)
    return torch.cat((front * cos - back * sin, front * sin + back * cos), -1)


def llama(x: Tensor, p: Tensor) -> Tensor:
    """What transformers does in LLaMA (layout=halves): ``apply_rotary_pos_emb``, which takes rows of one head at a time."""
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    cos, sin = (torch.cat((part, part), -1) for part in _cos_sin(x, p))
    return apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=0)[0].reshape(x.shape)


def wrong_way(x: Tensor, p: Tensor) -> Tensor:
    """Turned the other way: scores depend on distances here, too, but keys written by others no longer fit."""
    return turned(x, -p)


def _cos_sin(x: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    pairs = x.shape[-1] // 2
    omega = 10000.0 ** (-torch.arange(pairs, dtype=x.dtype, device=x.device) / pairs)
    angle = p[..., None] * omega
    return angle.cos(), angle.sin()

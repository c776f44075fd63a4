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
    return by_tables(x, *_cos_sin(x, p))


def llama(x: Tensor, p: Tensor) -> Tensor:
    """What transformers does in LLaMA (layout=halves): ``apply_rotary_pos_emb``, which takes rows of one head at a time."""
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    cos, sin = (torch.cat((part, part), -1) for part in _cos_sin(x, p))
    return apply_rotary_pos_emb(x, x, cos, sin, unsqueeze_dim=0)[0].reshape(x.shape)


def looked_up(x: Tensor, at: Tensor, N: int) -> Tensor:
    """Whole positions look up tables of N cosines and sines, made once for all (layout=halves): held to ``rope.py:rope_at``."""
    every = torch.arange(N, dtype=x.dtype, device=x.device)
    return by_tables(x, *(table[at] for table in _cos_sin(x, every)))


def by_tables(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Entries of the two halves are a pair, turned by cosines and sines that are handed in, as many libraries do."""
    front, back = x.chunk(2, -1)
    return torch.cat((front * cos - back * sin, front * sin + back * cos), -1)


def wrong_way(x: Tensor, p: Tensor) -> Tensor:
    """Turned the other way: scores depend on distances here, too, but keys written by others no longer fit."""
    return turned(x, -p)


def _cos_sin(x: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    pairs = x.shape[-1] // 2
    omega = 10000.0 ** (-torch.arange(pairs, dtype=x.dtype, device=x.device) / pairs)
    angle = p[..., None] * omega
    return angle.cos(), angle.sin()

"""The kinds of defect that are met in public code, written as others write them: the cause is named all the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.verify.explain.explaining import why
from verify import adapt, check

pytestmark = pytest.mark.usefixtures("ungraded")

HEADS, CAUSAL = "attention.multi_head", "attention.causal_multi_head"
NORM = "normalization.layer_norm"


def linear(x, W, b):
    """One linear layer for all heads, (…, n, h·c)."""
    return x @ W.movedim(-3, -2).flatten(-2) + b.flatten()


def gpt(x, W_q, b_q, W_k, b_k, W_v, b_v, W_o, b_o, transposed=True, diagonal=1):
    """Causal self-attention with one linear layer for all heads; split by a view, and transposed or not."""
    h, n = W_q.shape[0], x.shape[-2]
    q, k, v = (linear(x, W, b) for W, b in ((W_q, b_q), (W_k, b_k), (W_v, b_v)))
    if transposed:
        q, k, v = (a.unflatten(-1, (h, -1)).transpose(-2, -3) for a in (q, k, v))
    else:
        q, k, v = (a.reshape(*x.shape[:-2], h, n, -1) for a in (q, k, v))
    s = q @ k.mT / math.sqrt(q.shape[-1])
    s = s + torch.full_like(s, -math.inf).triu(diagonal)
    return s.softmax(-1).nan_to_num(0.0).matmul(v).transpose(-2, -3).flatten(-2) @ W_o + b_o


def bert(x, y, W_q, W_k, W_v, W_o, mask=None, hide=None, axis=-1, width=None, last=None):
    """Multi-head attention by einsum, the batch first, with some part of it replaced."""
    lead, h = x.shape[:-2], W_q.shape[0]
    x, y = (a.expand(*lead, *a.shape[-2:]).reshape(-1, *a.shape[-2:]) for a in (x, y))
    q, k, v = (torch.einsum("bnd,hdc->bnhc", a, W) for a, W in ((x, W_q), (y, W_k), (y, W_v)))
    s = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width or q.shape[-1])
    if mask is not None:
        mask = mask.expand(*lead, *mask.shape[-2:]).reshape(-1, 1, *mask.shape[-2:])
        s = hide(s, mask) if hide else s.masked_fill(~mask, -math.inf)
    a = s.softmax(axis).nan_to_num(0.0)
    a = last(a, mask) if last and mask is not None else a
    z = torch.einsum("bhqk,bkhd->bqhd", a, v)
    return z.reshape(*lead, x.shape[-2], h * v.shape[-1]) @ W_o


def fast_norm(x, gamma, beta, eps):
    """The variance as the mean of squares less the square of the mean, kept from being negative."""
    mean = x.mean(-1, keepdim=True)
    var = (x.square().mean(-1, keepdim=True) - mean.square()).clamp(min=0)
    return (x - mean) * (var + eps).rsqrt() * gamma + beta


class Layered(nn.Module):
    """Multi-head attention as a module whose heads are split by a view."""

    def __init__(self, d_model: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x, y, mask=None):
        """A mask (batch, n, m), True may attend."""
        q, k, v = (
            f(a).view(len(a), self.h, a.shape[1], -1) for f, a in ((self.q, x), (self.k, y), (self.v, y))
        )
        s = q @ k.mT / math.sqrt(q.shape[-1])
        s = s if mask is None else s.masked_fill(~mask.unsqueeze(1), -math.inf)
        return self.o((s.softmax(-1).nan_to_num(0.0) @ v).transpose(1, 2).flatten(2))


ANEW: list[tuple[str, Callable[..., Any], str]] = [
    (CAUSAL, lambda *a: gpt(*a, transposed=False), "axes swapped"),
    (CAUSAL, lambda *a: gpt(*a, diagonal=2), "one entry too many is seen, the next one"),
    (CAUSAL, lambda *a: gpt(*a, diagonal=0), "one entry too few is seen"),
    (HEADS, lambda *a: bert(*a, axis=-2), "the wrong axis"),
    (HEADS, lambda *a: bert(*a, axis=1), "the wrong axis"),
    (HEADS, lambda *a: bert(*a, width=a[0].shape[-1]), "d_model instead of d_k"),
    (HEADS, lambda *a: bert(*a, hide=lambda s, mask: s * mask), "multiplied by the mask"),
    (HEADS, lambda *a: bert(*a, hide=lambda s, mask: s), "mask is ignored"),
    (HEADS, lambda *a: bert(*a, hide=lambda s, mask: s + mask.to(s)), "is added to the scores"),
    (NORM, fast_norm, "one-pass variance"),
]


@pytest.mark.parametrize(
    ("formula", "fn", "cause"), ANEW, ids=[f"{place}: {case[2]}" for place, case in enumerate(ANEW)]
)
def test_the_cause_is_named_however_it_is_written(formula: str, fn: Callable[..., Any], cause: str):
    """By one layer for all heads, by einsum, with the batch first: the sentence is the same."""
    assert cause in why(fn, formula).said


def test_the_cause_is_named_through_an_adapter():
    """A module whose heads are split by a view, under a description: the first line says so."""

    def weights(W_o: torch.Tensor, **w: torch.Tensor) -> adapt.State:
        return {"o.weight": W_o.T, **{f"{name}.weight": adapt.rows(w[f"W_{name}"]) for name in "qkv"}}

    sizes = {"d_v": "d_k", "d_model": "h*d_k"}
    adapted = adapt.module(Layered, weights, mask="bnm", sizes=sizes)
    first, *_ = str(check(adapted, HEADS, max_examples=12)).splitlines()
    assert "falsified" in first
    assert any(said in first for said in ("axes swapped: q, k and v are reshaped", "it sees the future"))

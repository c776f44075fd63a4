"""Whether queries, keys, values and masks fit: said in one line, with the formula's name."""

from typing import Literal

import torch
from torch import Tensor

from impl import _refuse

Backend = Literal["auto", "math"]

_QKV = "q (... n d_k), k (... m d_k), v (... m d_v)"


def check_qkv(formula: str, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Refuse q, k and v that do not fit each other or are not of one floating dtype."""
    qs, ks, vs = q.shape, k.shape, v.shape
    if len(qs) < 2 or len(ks) < 2 or len(vs) < 2 or qs[-1] != ks[-1] or ks[-2] != vs[-2]:
        raise _refuse.shapes(formula, _QKV, q=q, k=k, v=v)
    if not (q.dtype == k.dtype == v.dtype and q.is_floating_point()):
        _refuse.check_floating(formula, q=q, k=k, v=v)


def check_mask(formula: str, mask: Tensor, n: int, m: int, lead: torch.Size | None = None) -> None:
    """Refuse a mask that is not boolean, whose last two dimensions do not broadcast to (n m), or the others to ``lead``."""
    if mask.dtype != torch.bool:
        raise _refuse.dtypes(
            formula, "a boolean mask, True = may attend (of an additive mask: mask > -inf)", mask=mask
        )
    ms = mask.shape
    if len(ms) < 2 or (ms[-1] != m and ms[-1] != 1) or (ms[-2] != n and ms[-2] != 1):
        raise _refuse.shapes(formula, f"a mask that broadcasts to (... n m) = (... {n} {m})", mask=mask)
    if lead is not None:
        _refuse.check_belonging(formula, lead, 2, mask=mask)


def check_bias(formula: str, bias: Tensor, n: int, m: int, lead: torch.Size) -> None:
    """Refuse a bias of the scores that is not floating, or does not broadcast to (... n m) with ``lead`` in front."""
    if not bias.is_floating_point():
        raise _refuse.dtypes(formula, "a floating bias", bias=bias)
    if bias.dim() < 2 or bias.shape[-1] not in (1, m) or bias.shape[-2] not in (1, n):
        raise _refuse.shapes(formula, f"a bias that broadcasts to (... n m) = (... {n} {m})", bias=bias)
    _refuse.check_belonging(formula, lead, 2, bias=bias)


def check_lead(formula: str, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> torch.Size:
    """The leading dimensions that q, k and v broadcast to; refuse them if there are none, and a mask that has others."""
    lead = _refuse.check_lead(formula, q=q, k=k, v=v)
    return lead if mask is None else _refuse.check_belonging(formula, lead, 2, mask=mask)


def check_dropout(formula: str, dropout: float) -> None:
    """Refuse what is no share of weights to drop."""
    if not 0 <= dropout < 1:
        raise ValueError(f"{formula}: expected 0 <= dropout < 1; got {dropout}")

"""Local attention: a query predicts a position and looks at the keys around it."""

from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from impl import _refuse
from impl.attention._checks import check_lead, check_mask, check_qkv
from impl.attention.masks import blank, unsafe
from impl.attention.weights import masked_softmax
from impl.scores import dot

__all__ = ["local"]

Window = Literal["cut", "whole"]


def local(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    W_p: Float[Tensor, "a d_k"],
    v_p: Float[Tensor, " a"],
    D: int | float,
    mask: Bool[Tensor, "... #n #m"] | None = None,
    *,
    window: Window = "cut",
) -> Float[Tensor, "... n d_v"]:
    """Query i looks around the position p_i = m·σ(v_pᵀ tanh(W_p q_i)): softmax of q_i·k_j over the permitted keys with
    |j − p_i| ≤ D, each weight times exp(−(j − p_i)²/(2σ²)) with σ = D/2; z_i is the sum of the values under these weights,
    0 where no key is in reach. Statement: ``attention.local``.

    Keys stand at 0 … m − 1. ``window="whole"`` lets the softmax run over all permitted keys; the Gaussian alone favours
    those nearby. The gradient reaches W_p and v_p through the Gaussian. In 16 bits all is computed in float32, z rounded
    once.

    ValueError for shapes that do not fit or a D that is not positive, TypeError unless all share one floating dtype and the
    mask is boolean. Source: Luong, Pham & Manning 2015, section 3.2 (local-p), equations 9 and 10.
    """
    _check(q, k, v, W_p, v_p, D, mask)
    if q.dtype.itemsize == 2:
        z = local(q.float(), k.float(), v.float(), W_p.float(), v_p.float(), D, mask, window=window)
        return z.to(q.dtype)
    m = k.shape[-2]
    if mask is not None and unsafe(q, k, v):
        q, k, v = blank(q, k, v, mask)
    p = m * torch.sigmoid(torch.tanh(F.linear(q, W_p)) @ v_p)
    distance = torch.arange(m, device=q.device) - p.unsqueeze(-1)
    if window == "cut":
        reach = distance.abs() <= D
        mask = reach if mask is None else mask & reach
        distance = torch.where(reach, distance, 0.0)
        if unsafe(k, v):  # keys out of reach of every query
            _, k, v = blank(q, k, v, mask)
    a = masked_softmax(dot(q, k), mask) * torch.exp(-2 * (distance / D) ** 2)
    return a @ v


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    W_p: Tensor,
    v_p: Tensor,
    D: int | float,
    mask: Tensor | None,
) -> None:
    check_qkv("attention.local", q, k, v)
    if W_p.dim() != 2 or W_p.shape != (*v_p.shape, q.shape[-1]):
        raise _refuse.shapes("attention.local", "q (... n d_k), W_p (a d_k), v_p (a)", q=q, W_p=W_p, v_p=v_p)
    _refuse.check_floating("attention.local", q=q, W_p=W_p, v_p=v_p)
    if not D > 0:
        raise ValueError(f"attention.local: expected D > 0; got {D}")
    if mask is not None:
        check_mask("attention.local", mask, q.shape[-2], k.shape[-2])
    check_lead("attention.local", q, k, v, mask)

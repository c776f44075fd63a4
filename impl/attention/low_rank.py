"""Linformer: attention to a fixed number of rows, which keys and values are mixed into along the sequence."""

import math
from typing import Literal, Unpack

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from impl import _refuse
from impl._placement import Placement
from impl.attention._checks import Backend, check_qkv
from impl.attention.projections import beside, split_heads
from impl.attention.weights import scaled_dot_product

__all__ = ["LinformerAttention", "linformer"]

FORMULA = "attention.linformer"
Sharing = Literal["separate", "keys_and_values"]


def linformer(
    q: Float[Tensor, "... n d_k"],
    k: Float[Tensor, "... m d_k"],
    v: Float[Tensor, "... m d_v"],
    E: Float[Tensor, "r length"],
    b_E: Float[Tensor, " r"],
    F: Float[Tensor, "r length"],
    b_F: Float[Tensor, " r"],
    *,
    sharing: Sharing = "separate",
    backend: Backend = "auto",
) -> Float[Tensor, "... n d_v"]:
    """softmax(q (E k + b_E)ᵀ / √d_k) (F v + b_F): queries attend to r mixtures of all keys. Statement: ``attention.linformer``.

    With m below the length of E and F their first m columns are used; heads, as leading dimensions, share them. With
    ``sharing="keys_and_values"`` values are mixed by E, too, and F is not read. It is not causal, and a mask has no place in it:
    set keys and values of padding to 0. In 16 bits all is computed in float32, z rounded once. ValueError for shapes that do not
    fit, more than ``length`` keys included, TypeError unless all share one floating dtype. Source: Wang et al. 2020, "Linformer",
    equation 7.
    """
    check_qkv(FORMULA, q, k, v)
    _refuse.check_floating(FORMULA, q=q, E=E, b_E=b_E, F=F, b_F=b_F)
    m = k.shape[-2]
    if E.dim() != 2 or E.shape != F.shape or not b_E.shape == b_F.shape == E.shape[:1] or E.shape[1] < m:
        expected = (
            f"E (r length), b_E (r), F (r length), b_F (r) of a length of {m} at least, as many as keys"
        )
        raise _refuse.shapes(FORMULA, expected, E=E, b_E=b_E, F=F, b_F=b_F)
    _refuse.check_lead(FORMULA, q=q, k=k, v=v)
    if sharing == "keys_and_values":
        F, b_F = E, b_E
    if q.dtype.itemsize == 2:  # sums over all keys
        z = linformer(*(x.float() for x in (q, k, v, E, b_E, F, b_F)), backend=backend)
        return z.to(q.dtype)
    keys, values = _mix(E, b_E, k), _mix(F, b_F, v)
    return scaled_dot_product(q, keys, values, backend=backend)


def _mix(E: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The rows that x (... m c) is mixed into."""
    return E[:, : x.shape[-2]] @ x + b.unsqueeze(-1)


class LinformerAttention(nn.Module):
    """Multi-head self-attention of texts of up to ``length`` tokens through r rows.

    ``qkv`` makes queries, keys and values of all heads, ``out`` joins the heads; E and F with their biases mix keys and values,
    the same for all heads; with ``sharing="keys_and_values"`` there is no F. ValueError for sizes below 1, and for heads that
    do not divide d_model.
    """

    def __init__(
        self,
        d_model: int,
        heads: int,
        length: int,
        r: int,
        *,
        sharing: Sharing = "separate",
        bias: bool = True,
        **placement: Unpack[Placement],
    ) -> None:
        super().__init__()
        if min(d_model, heads, length, r) < 1 or d_model % heads:
            got = f"d_model {d_model}, heads {heads}, length {length}, r {r}"
            raise ValueError(
                f"{FORMULA}: expected sizes of at least 1, and heads that divide d_model; got {got}"
            )
        self.d_model, self.heads, self.sharing = d_model, heads, sharing
        self.qkv = nn.Linear(d_model, 3 * d_model, bias, **placement)
        self.out = nn.Linear(d_model, d_model, bias, **placement)
        self.E = nn.Parameter(torch.empty(r, length, **placement))
        self.b_E = nn.Parameter(torch.empty(r, **placement))
        if sharing == "separate":
            self.F = nn.Parameter(torch.empty(r, length, **placement))
            self.b_F = nn.Parameter(torch.empty(r, **placement))
        self.reset_parameters()

    def reset_parameters(self, generator: Generator | None = None) -> None:
        """Draw all weights anew: those of E and F with a standard deviation of 1/√r, as the paper does; biases are 0."""
        for name, parameter in self.named_parameters():
            if name in ("E", "F"):
                nn.init.normal_(parameter, std=1 / math.sqrt(len(parameter)), generator=generator)
            elif parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter, generator=generator)
            else:
                nn.init.zeros_(parameter)

    def forward(
        self, x: Float[Tensor, "... n d_model"], *, backend: Backend = "auto"
    ) -> Float[Tensor, "... n d_model"]:
        """The tokens, each with what it has gathered. Errors are those of ``linformer``."""
        if x.dim() < 2 or x.shape[-1] != self.d_model:
            raise _refuse.shapes(FORMULA, f"x (... n {self.d_model})", x=x)
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        F, b_F = (self.E, self.b_E) if self.sharing == "keys_and_values" else (self.F, self.b_F)
        z: Tensor = self.out(beside(linformer(q, k, v, self.E, self.b_E, F, b_F, backend=backend)))
        return z

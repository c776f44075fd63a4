"""The words of adapters' expressions: what may be asked of a tensor, and called by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

ATTRIBUTES = frozenset({"T", "mT", "shape", "ndim", "dtype", "device"})
METHODS = frozenset(
    {
        "view", "reshape", "transpose", "permute", "movedim", "swapaxes", "flatten", "unflatten", "squeeze",
        "unsqueeze", "expand", "expand_as", "repeat", "repeat_interleave", "tile", "contiguous", "clone", "chunk",
        "split", "unbind", "select", "narrow", "flip", "roll", "triu", "tril", "diagonal", "bool", "int", "long",
        "float", "double", "to", "type_as", "size", "dim", "numel", "sum", "mean", "amax", "amin", "cumsum", "sqrt",
        "rsqrt", "exp", "log", "abs", "neg", "square", "softmax", "log_softmax", "masked_fill", "logical_not",
        "new_zeros", "new_ones", "new_full", "new_tensor", "t", "keys", "values", "get",
    }
)  # fmt: skip
"""What may be called on a tensor (and on a mapping that a module returns)."""


def _flat(parts: tuple[Any, ...]) -> list[Any]:
    return list(parts[0]) if len(parts) == 1 and isinstance(parts[0], list | tuple) else list(parts)


def rows(W: Tensor) -> Tensor:
    """Weights (…, h, d, c) as those of one linear layer, (…, h·c, d), head below head; (d, c) as (c, d)."""
    turned = W.transpose(-1, -2)
    return turned.flatten(-3, -2) if turned.ndim > 2 else turned


def columns(W: Tensor) -> Tensor:
    """Weights (…, h, d, c) as one matrix (…, d, h·c) that a row is multiplied by, head beside head."""
    turned = W.movedim(-3, -2) if W.ndim > 2 else W.unsqueeze(-1)
    return turned.flatten(-2)


def heads(W: Tensor, h: int) -> Tensor:
    """The weights of one linear layer, (h·c, d), by head: (h, d, c); what :func:`rows` undoes."""
    parts: Tensor = W.unflatten(-2, (h, -1))
    return parts.transpose(-1, -2)


def causal(n: int, m: int | None = None) -> Tensor:
    """The mask (n, m) in which the last query sees the last key: True may attend."""
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool).tril(m - n)


MAKERS = frozenset({"causal", "zeros", "ones", "eye", "arange"})
"""What makes a tensor of sizes alone: it is made where the others are."""


def _function(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *parts, **options: of(_flat(parts), **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cat": _function(torch.cat),
    "stack": _function(torch.stack),
    "rows": rows,
    "columns": columns,
    "heads": heads,
    "causal": causal,
    "lowest": lambda x: torch.finfo(x.dtype).min,
    "zeros": lambda *shape: torch.zeros(_flat(shape)),
    "ones": lambda *shape: torch.ones(_flat(shape)),
    "eye": torch.eye,
    "arange": torch.arange,
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "where": torch.where,
    "softmax": torch.softmax,
    "einsum": torch.einsum,
    "sqrt": lambda x: x.sqrt() if isinstance(x, Tensor) else math.sqrt(x),
    "exp": lambda x: x.exp() if isinstance(x, Tensor) else math.exp(x),
    "log": lambda x: x.log() if isinstance(x, Tensor) else math.log(x),
    "len": len,
    "min": min,
    "max": max,
    "range": range,
    "list": list,
    "tuple": tuple,
    "int": int,
    "float": float,
}
"""What may be called by name."""


__all__ = ["ATTRIBUTES", "FUNCTIONS", "MAKERS", "METHODS", "causal", "columns", "heads", "rows"]

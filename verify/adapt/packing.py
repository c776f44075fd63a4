"""Helpers for descriptions of modules: how libraries pack the weights of heads, of projections and of layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

State = Mapping[str, Any]
"""What each parameter of a module holds, by name: a tensor, a number for all entries, or None for what it was built with."""


def rows(*weights: Tensor) -> Tensor:
    """Weights by head, (h, d, c) each, as those of one linear layer, (h·c, d): head below head, the next weight below the last.

    ``rows(W_q, W_k, W_v)`` is the packed weight of a self-attention; ``rows(…).T`` that of a layer which is not transposed.
    """
    turned = [weight.transpose(-1, -2) for weight in weights]
    return torch.cat([each.flatten(0, -2) for each in turned])


def entries(*biases: Tensor) -> Tensor:
    """The entries of biases by head, (h, c) each, as the bias of one linear layer, (h·c,), one after the other."""
    return torch.cat([bias.flatten() for bias in biases])


def layers(prefix: str, weights: Callable[..., State], letters: Mapping[str, Tensor]) -> dict[str, Any]:
    """The state of a stack: what ``weights`` makes of the letters of each layer, under ``prefix`` with the layer's number for {}.

    ``lambda **letters: layers("encoder.layer.{}.", layer, letters)``, where ``layer`` makes the state of one layer. The first
    axis of each letter is that of the layers.
    """
    made: dict[str, Any] = {}
    for layer, parts in enumerate(zip(*letters.values(), strict=True)):
        state = weights(**dict(zip(letters, parts, strict=True)))
        made |= {prefix.format(layer) + name: value for name, value in state.items()}
    return made


def causal(n: int, m: int | None = None, device: torch.device | str | None = None) -> Tensor:
    """The mask (n, m) in which the last query sees the last key: True may attend."""
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


__all__ = ["State", "causal", "entries", "layers", "rows"]

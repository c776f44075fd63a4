"""Leading dimensions for callables that take exactly one, and weights for modules that hold their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn


def flat(x: Tensor, lead: Sequence[int], kept: int) -> Tensor:
    """``x`` with its leading dimensions made one; the last ``kept`` stay."""
    tail = x.shape[x.ndim - kept :]
    return x.expand(*lead, *tail).reshape(-1, *tail)


def opened(x: Tensor, lead: Sequence[int]) -> Tensor:
    """The leading dimensions back in the place of the first."""
    return x.reshape(*lead, *x.shape[1:])


def hollow(make: Callable[[], nn.Module], training: bool = False) -> nn.Module:
    """A module without values: they are passed in each call, and nothing is drawn for them."""
    with torch.device("meta"):
        return make().train(training)


def called(module: nn.Module, weights: Mapping[str, Tensor], *arguments: Any, **keywords: Any) -> Any:
    """Call a module with these tensors for its parameters; gradients flow to them."""
    return torch.func.functional_call(module, dict(weights), arguments, keywords)


__all__ = ["called", "flat", "hollow", "opened"]

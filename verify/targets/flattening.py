"""Weights for modules that hold their own, of sizes that are made for each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn


def hollow(make: Callable[[], nn.Module], training: bool = False) -> nn.Module:
    """A module without values: they are passed in each call, and nothing is drawn for them."""
    with torch.device("meta"):
        return make().train(training)


def called(module: nn.Module, weights: Mapping[str, Tensor], *arguments: Any, **keywords: Any) -> Any:
    """Call a module with these tensors for its parameters; gradients flow to them."""
    return torch.func.functional_call(module, dict(weights), arguments, keywords)


__all__ = ["called", "hollow"]

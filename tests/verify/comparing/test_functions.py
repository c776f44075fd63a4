"""No false alarm: functions of torch, and the same in float64 inside, beside themselves as references."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from verify import compare


class Wide(nn.Module):
    """A reference in float64 inside, with its own weights."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.__dict__["inner"] = copy.deepcopy(inner).double() if isinstance(inner, nn.Module) else inner

    def forward(self, *inputs: Tensor) -> Any:
        """What the reference says, rounded once."""
        wide = [x.double() if x.is_floating_point() else x for x in inputs]
        return tree_map(lambda x: x.float() if x.is_floating_point() else x, self.inner(*wide))


def rows(*sizes: int) -> Callable[[], list[Tensor]]:
    """Normal inputs of one shape."""
    return lambda: [torch.randn(sizes)]


FUNCTIONS: dict[str, tuple[Any, Callable[[], list[Tensor]]]] = {
    "long sums": (torch.matmul, lambda: [torch.rand(8, 4096), torch.rand(4096, 8)]),
    "GELU": (F.gelu, rows(16, 128)),
    "batch norm": (nn.BatchNorm2d(8), rows(4, 8, 9, 9)),
    "group norm": (nn.GroupNorm(4, 8), rows(4, 8, 9, 9)),
    "average pooling": (nn.AvgPool2d(3, 2), rows(2, 4, 17, 17)),
    "product of entries": (lambda x: x.prod(1), rows(8, 32, 16)),
    "transposed convolution": (nn.ConvTranspose2d(8, 4, 3, stride=2), rows(2, 8, 9, 9)),
    "running sum": (lambda x: x.cumsum(1), rows(16, 512)),
    "cross entropy": (F.cross_entropy, lambda: [torch.randn(64, 10), torch.randint(0, 10, (64,))]),
    "cosine": (
        lambda x, y: F.cosine_similarity(x, y).mean(),
        lambda: [torch.randn(32, 64), torch.randn(32, 64)],
    ),
    "LSTM": (nn.LSTM(16, 24, 2), rows(7, 3, 16)),
    "embedding": (
        nn.Sequential(nn.Embedding(53, 16), nn.Linear(16, 8)),
        lambda: [torch.randint(0, 53, (3, 7))],
    ),
    "Transformer": (nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0), rows(11, 3, 32)),
    "largest entries": (lambda x: x.topk(5), rows(16, 64)),
    "quantization": (lambda x: torch.round(x * 127) / 127, rows(16, 64)),
    "enlarged image": (lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), rows(2, 3, 7, 7)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_conforms_to_itself(name: str) -> None:
    """In float32 and in float64 inside, at every regime, and with gradients."""
    reference, inputs = FUNCTIONS[name]
    for candidate in (reference, Wide(reference)):
        found = compare(reference, candidate, inputs=inputs, kinds=("regime", "gradient"), seed=2)
        assert found.verdict == "conforms", found.headline
        assert found.sigma < 16

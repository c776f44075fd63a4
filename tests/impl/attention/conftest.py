"""A mask with holes; what the statement of multi-head attention says of a module that has biases."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from impl.attention import MultiHeadAttention
from impl.attention.layouts import to_per_head
from tests.impl.attention.inputs import holed


@pytest.fixture
def mask() -> Tensor:
    """A query that may attend to nothing, a key that nobody may attend to, and some of each elsewhere."""
    return holed()


@pytest.fixture
def randomized(normal: Callable[..., Tensor]) -> Callable[[nn.Module], nn.Module]:
    """A module with random parameters, biases among them."""

    def draw(module: nn.Module) -> nn.Module:
        for p in module.parameters():
            p.data.copy_(normal(*p.shape, dtype=p.dtype))
        return module

    return draw


@pytest.fixture
def stated_module(
    stated: Callable[..., list[tuple[Tensor, Tensor]]],
) -> Callable[..., list[tuple[Tensor, Tensor]]]:
    """Value and bound of a ``MultiHeadAttention``, from the statement: x and y are made equally wide by zeros, and a bias is
    the row of a weight for a last entry that is 1.
    """

    def of(
        module: MultiHeadAttention, x: Tensor, y: Tensor, mask: Tensor | None
    ) -> list[tuple[Tensor, Tensor]]:
        state = {name: p.detach() for name, p in module.state_dict().items()}
        *weights, W_o = to_per_head(state, module.heads)
        width = max(module.d_model, module.d_y) + 1
        names = ("qkv.bias",) if "qkv.weight" in state else ("q.bias", "kv.bias")
        none = torch.zeros(sum(module.rows))
        b = torch.cat([state[name] for name in names]) if module.out.bias is not None else none
        rows = (part.reshape(module.heads, 1, -1) for part in b.to(x.dtype).split(module.rows))
        weights = [
            torch.cat((F.pad(W, (0, 0, 0, width - 1 - W.shape[1])), row), 1)
            for W, row in zip(weights, rows, strict=True)
        ]
        x, y = (F.pad(F.pad(of, (0, width - 1 - of.shape[-1])), (0, 1), value=1.0) for of in (x, y))
        W_o = F.pad(W_o, (0, width - module.d_model))
        mask = None if mask is None else mask.expand(len(x), len(y))
        ((value, limit),) = stated("attention.multi_head", [x, y, *weights, W_o, mask])
        value, limit = value[:, : module.d_model], limit[:, : module.d_model]
        if module.out.bias is not None:  # added at the end, with one more rounding
            value = value + state["out.bias"].double()
            limit = limit + torch.finfo(x.dtype).eps * value.abs()
        return [(value, limit)]

    return of

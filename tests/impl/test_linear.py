"""A linear layer of few rows is a linear layer."""

import pytest
import torch
import torch.nn.functional as F

from impl._linear import FEW, linear

d, c = 11, 7


@pytest.mark.parametrize("shape", [(), (FEW.start,), (2, 3), (FEW.stop,)])
@pytest.mark.parametrize("biased", [True, False])
def test_few_rows_have_the_layer_of_many(shape, biased):
    """As near as float32 is, with gradients and without, whatever the leading dimensions."""
    generator = torch.Generator().manual_seed(1)
    x, W = (torch.randn(*size, d, generator=generator) for size in (shape, (c,)))
    b = torch.randn(c, generator=generator) if biased else None
    want = F.linear(x, W, b)
    # Sums of d + 1 terms, in either order: each has at most d + 1 roundings of its partial sums.
    limit = (
        2
        * (d + 1)
        * torch.finfo(torch.float32).eps
        * F.linear(x.abs(), W.abs(), None if b is None else b.abs())
    )
    with torch.no_grad():
        found = linear(x, W, b)
    assert found.shape == want.shape
    assert found.is_contiguous()
    assert ((found - want).abs() <= limit).all()
    W.requires_grad_()
    assert torch.equal(linear(x, W, b), F.linear(x, W, b))

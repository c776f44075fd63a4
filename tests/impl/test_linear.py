"""A linear layer of few rows is a linear layer."""

import pytest
import torch
import torch.nn.functional as F

from impl import _linear
from impl._linear import FEW, PACKED, linear, prepared

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


@pytest.mark.parametrize(
    "rows", [1, 2, 3, PACKED.start, 5, 7, PACKED.stop - 1, PACKED.stop, FEW.stop - 1, FEW.stop]
)
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("size", [(c, d), (d, c)], ids=["wide", "high"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("amd", [False, True])
def test_a_prepared_layer_is_the_layer(rows, biased, size, dtype, amd, monkeypatch):
    """For any number of rows, with a bias and without; alone, and added to something; by the kernels of either processor."""
    monkeypatch.setattr(_linear, "amd", lambda: amd)
    generator = torch.Generator().manual_seed(2)
    out, width = size
    x, W = (torch.randn(n, width, generator=generator, dtype=dtype) for n in (rows, out))
    b = torch.randn(out, generator=generator, dtype=dtype) if biased else None
    want = F.linear(x, W, b)
    # As above: two orders of summation.
    size_of_terms = F.linear(x.abs(), W.abs(), None if b is None else b.abs())
    limit = 2 * (width + 1) * torch.finfo(dtype).eps * size_of_terms
    with torch.no_grad():
        product = prepared(W, b, rows)
        found, y = product(x), want.flip(0)
        added = product.onto(y.clone(), x)
    assert found.shape == want.shape
    assert ((found - want).abs() <= limit).all()
    assert ((added - (y + want)).abs() <= limit + 2 * torch.finfo(dtype).eps * (y.abs() + limit)).all()

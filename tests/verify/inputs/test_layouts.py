"""The same entries in every layout."""

import pytest
import torch

from verify.inputs.layouts import LAYOUTS, contiguous, further_on, part_of_wider_rows, transposed, with_gaps


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 5), (0, 3), (1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_entries_shape_and_type_stay(layout, shape, dtype):
    """Only where they lie changes."""
    x = torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)
    assert torch.equal(layout(x), x)
    assert (layout(x).shape, layout(x).dtype) == (x.shape, x.dtype)


def test_each_lies_as_it_says():
    """Strides and offsets are those that the name tells."""
    x = torch.randn(3, 5)
    assert contiguous(x) is x
    assert with_gaps(x).stride() == (11, 2)
    assert part_of_wider_rows(x).stride() == (8, 1)
    assert transposed(x).stride() == (1, 3)
    assert further_on(x).is_contiguous()
    assert further_on(x).storage_offset() == 5


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_what_requires_a_gradient_still_does(layout):
    """A leaf stays a leaf."""
    made = layout(torch.randn(2, 3, requires_grad=True))
    assert made.requires_grad
    assert made.is_leaf


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
def test_what_is_no_tensor_is_given_back(layout):
    """Numbers, None, generators."""
    assert layout(None) is None
    assert layout(2.5) == 2.5

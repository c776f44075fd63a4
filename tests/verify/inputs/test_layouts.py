"""The same entries in every layout."""

import pytest
import torch

from verify.inputs.layouts import (
    LAYOUTS,
    axes_reversed,
    contiguous,
    first_axis_last,
    further_on,
    of_interleaved_rows,
    packed,
    part_of_more_members,
    part_of_wider_rows,
    store_transposed,
    with_gaps,
)


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
    assert store_transposed(x).stride() == (1, 3)
    assert further_on(x).is_contiguous()
    assert further_on(x).storage_offset() == 5
    x = torch.randn(2, 3, 5)
    assert part_of_more_members(x).stride() == (30, 5, 1)
    assert store_transposed(x).stride() == (15, 1, 3)
    assert of_interleaved_rows(x).stride() == (5, 10, 1)
    assert first_axis_last(x).stride() == (1, 10, 2)
    assert axes_reversed(x).stride() == (1, 2, 6)


def test_what_is_packed_lies_side_by_side():
    """Tensors of one type with as many axes are slices of one; all else stays."""
    q, k, mask = torch.randn(2, 3), torch.randn(5, 7, requires_grad=True), torch.ones(2, 5, dtype=torch.bool)
    found = packed([q, None, k, mask, 0.5])
    assert all(torch.equal(a, b) for a, b in zip((found[0], found[2], found[3]), (q, k, mask), strict=True))
    assert found[0].stride() == found[2].stride() == (10, 1)
    assert found[0].untyped_storage().data_ptr() == found[2].untyped_storage().data_ptr()
    assert (found[2].storage_offset(), found[1], found[4]) == (3, None, 0.5)
    assert found[2].requires_grad
    assert found[2].is_leaf


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

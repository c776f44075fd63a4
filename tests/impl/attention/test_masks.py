import pytest
import torch

from impl.attention import (
    causal_mask,
    grouped_query,
    key_padding_mask,
    scaled_dot_product,
    softmax,
    trust_hidden,
)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_true_marks_the_real_tokens(dtype):
    """The first ``length`` of each row."""
    mask = key_padding_mask(torch.tensor([3, 0, 5], dtype=dtype), 5)
    assert mask.dtype == torch.bool
    assert mask.shape == (3, 1, 5)
    assert mask.sum(-1).squeeze(-1).tolist() == [3, 0, 5]
    assert mask[0, 0].tolist() == [True, True, True, False, False]


def test_it_takes_one_length_or_any_batch_of_them():
    """Each length becomes one row, whatever the batch."""
    assert key_padding_mask(torch.tensor(2), 3).tolist() == [[True, True, False]]
    assert key_padding_mask(torch.full((2, 3), 4), 7).shape == (2, 3, 1, 7)


def test_masks_are_combined_with_and(normal):
    """Padding and the future hidden together."""
    mask = key_padding_mask(torch.tensor([2, 5]), 5) & causal_mask(5, 5)
    a = softmax(normal(2, 5, 5), mask)
    assert ((a > 0).sum(-1) == torch.tensor([[1, 2, 2, 2, 2], [1, 2, 3, 4, 5]])).all()


@pytest.mark.parametrize("backend", ["auto", "math"])
@pytest.mark.parametrize("attend", [scaled_dot_product, grouped_query])
def test_what_is_trusted_is_not_blanked(attend, backend, normal):
    """Where hidden slots are finite, all is as before. NaN there shows that nothing is blanked; afterwards it is again."""
    q, k, v = normal(2, 3, 5, 7), normal(2, 3, 11, 7), normal(2, 3, 11, 7)
    mask = key_padding_mask(torch.tensor([8, 11]), 11)
    mask = mask if attend is grouped_query else mask.unsqueeze(1)
    expected = attend(q, k, v, mask, backend=backend)
    with trust_hidden():
        assert torch.equal(attend(q, k, v, mask, backend=backend), expected)
    v[0, :, 9] = torch.nan
    with trust_hidden():
        found = attend(q, k, v, mask, backend=backend)
    assert found[0].isnan().all()
    assert torch.equal(found[1], expected[1])
    assert torch.equal(attend(q, k, v, mask, backend=backend), expected)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_lengths_are_integers(dtype):
    """A mask passed for lengths is named as what it is."""
    with pytest.raises(
        TypeError, match=r"^attention.key_padding_mask: expected integer lengths; got lengths"
    ):
        key_padding_mask(torch.ones(3, dtype=dtype), 5)


@pytest.mark.usefixtures("unchecked")
def test_an_alignment_is_one_of_two():
    """Another word is no silent upper_left."""
    with pytest.raises(
        ValueError, match=r"^attention.causal_mask: alignment is 'lower_right' or 'upper_left'; got 'right'$"
    ):
        causal_mask(3, 5, alignment="right")

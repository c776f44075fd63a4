import pytest
import torch

from impl.attention import causal_mask, key_padding_mask, softmax


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

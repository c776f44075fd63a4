"""impl.bert.features: six choices of a vector for each token."""

import inspect

import pytest
import torch

from impl.bert import features

LAYERS, N, D = 7, 3, 5
"""The embedding and six layers."""


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("first", ["embedding", "layer_1"])
def test_features_are_the_ones_stated(dtype, first, normal, stated, within):
    """Within the statement's bounds, whichever layer is the first."""
    H = normal(LAYERS, N, D, dtype=dtype)
    assert within(features(H, first=first), stated("bert.features", [H], None, {"first": first}))


def test_layers_are_counted_from_the_top():
    """Layer l says l everywhere: of six layers the last is 6, their sum 21, that of the last four 18."""
    found = features(torch.arange(LAYERS, dtype=torch.float64)[:, None, None].expand(LAYERS, N, D))
    said = {name: value.unique().tolist() for name, value in found._asdict().items()}
    assert said == {
        "first": [0],
        "last": [6],
        "sum_all": [21],
        "second_to_last": [5],
        "sum_last_four": [18],
        "concat_last_four": [3, 4, 5, 6],
    }
    assert found.concat_last_four[0, ::D].tolist() == [3, 4, 5, 6]


def test_texts_of_a_batch_do_not_meet(normal):
    """Leading dimensions are batches."""
    H = normal(2, LAYERS, N, D)
    for both, *alone in zip(features(H), features(H[0]), features(H[1]), strict=True):
        torch.testing.assert_close(both, torch.stack(alone))


def test_features_are_tensors_of_their_own(normal):
    """What is written into one changes neither the layers nor another."""
    H = normal(LAYERS, N, D)
    kept = H.clone()
    found = features(H)
    for value in found:
        value.zero_()
    assert torch.equal(H, kept)


def test_fewer_than_four_layers_are_refused(normal):
    """And another first than the two there are."""
    with pytest.raises(ValueError, match="L >= 4"):
        features(normal(4, N, D))
    with pytest.raises((ValueError, TypeError), match="first"):
        features(normal(LAYERS, N, D), first="top")


@pytest.mark.parametrize("kind", [tuple, list])
def test_layers_may_come_one_by_one(normal, kind):
    """A tuple or a list of tensors, as libraries return hidden states, is what the stacked tensor is; with batches, too."""
    H = normal(2, LAYERS, N, D)
    for one, whole in zip(features(kind(H.unbind(1))), features(H), strict=True):
        assert torch.equal(one, whole)


@pytest.mark.parametrize(
    ("given", "error", "line"),
    [
        ([torch.ones(3, 2)] * 4 + [torch.ones(3, 5)], ValueError, "layers (... n d) of one shape; got H[0] (3, 2)"),
        ([torch.ones(3, 2)] * 4 + [torch.ones(3, 2).double()], TypeError, "one floating dtype; got H[0] float32"),
        ([torch.ones(3, 2)] * 4, ValueError, "L >= 4"),
        ([], ValueError, "layers (... n d) of one shape"),
        ([1.5, 2.5], TypeError, "a tensor, or a tuple or list of tensors; got list of float"),
        (None, TypeError, "a tensor, or a tuple or list of tensors; got NoneType"),
    ],
)  # fmt: skip
def test_what_are_no_layers_is_refused_in_one_line(given, error, line):
    """The line names the formula, what was expected, and what was given."""
    with pytest.raises(error) as caught:
        inspect.unwrap(features)(given)  # as it is where types are not checked
    assert str(caught.value).startswith("bert.features: expected ")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)

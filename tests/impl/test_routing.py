import pytest
import torch

from impl.routing import capacity, top_k


@pytest.mark.parametrize("weights", ["renormalised", "shares"])
def test_values_are_those_stated(weights, normal, stated, within):
    """Within the statement's bound, in float64."""
    s = normal(5, 7, dtype=torch.float64)
    assert within([top_k(s, 3, weights=weights)], stated("routing.top_k", [s, 3], None, {"weights": weights}))


@pytest.mark.parametrize("order", ["tokens", "choices"])
@pytest.mark.parametrize("weights", ["renormalised", "shares"])
def test_with_a_capacity_values_are_those_stated(order, weights, normal, stated, within):
    """Within the statement's bound, with some tokens dropped and some kept."""
    s = normal(11, 5, dtype=torch.float64)
    found = capacity(s, 3, 2, weights=weights, order=order)
    assert within([found], stated("routing.capacity", [s, 3, 2], None, {"weights": weights, "order": order}))
    assert 0 < (found > 0).sum() <= 2 * 5 < (top_k(s, 3) > 0).sum()


def test_members_of_a_batch_do_not_compete(normal):
    """Each has the capacity to itself."""
    s = normal(3, 7, 5)
    assert torch.equal(capacity(s, 2, 2), torch.stack([capacity(one, 2, 2) for one in s]))


def test_of_equal_experts_the_first_are_asked():
    """Whatever the sort of the device does."""
    assert top_k(torch.zeros(1, 5), 2).tolist() == [[0.5, 0.5, 0, 0, 0]]


def test_with_more_asked_than_there_are_all_are(normal, allowed):
    """The plain mixture by softmax."""
    s = normal(2, 3, 5)
    assert torch.equal(top_k(s, 7), top_k(s, 5))

    def mixture(dtype):
        return torch.softmax(s.to(dtype), -1).double()

    assert (top_k(s, 5) - mixture(torch.float64)).abs().max() <= allowed(mixture, torch.float32)


def test_without_tokens_there_is_nothing_to_send(normal):
    """Of rows of a batch, and of a batch without rows."""
    for s in (normal(0, 5), normal(2, 0, 5), normal(0, 3, 5)):
        assert top_k(s, 2).shape == capacity(s, 2, 2, order="choices").shape == s.shape


def test_what_does_not_fit_is_refused_in_one_line(unchecked):
    """A tensor without tokens, no expert, integers."""
    with pytest.raises(ValueError, match=r"routing.top_k: expected s \(\.\.\. n E\)"):
        top_k(torch.ones(5), 2)
    with pytest.raises(ValueError, match=r"routing.capacity: expected s .*, E >= 1; got s \(3, 0\)"):
        capacity(torch.ones(3, 0), 2, 2)
    with pytest.raises(ValueError, match="expected k >= 1; got 0"):
        top_k(torch.ones(3, 5), 0)
    with pytest.raises(ValueError, match=r"routing\.capacity: expected C >= 1; got 0"):
        capacity(torch.ones(3, 5), 2, 0)
    with pytest.raises(ValueError, match=r"routing\.capacity: expected an integer of 63 bits at most as C"):
        capacity(torch.ones(3, 5), 2, 10**30)
    with pytest.raises(TypeError, match=r"routing\.top_k: expected a floating s of 16 bits or more"):
        top_k(torch.ones(3, 5).to(torch.float8_e4m3fn), 2)
    with pytest.raises(TypeError, match="one floating dtype"):
        top_k(torch.ones(3, 5, dtype=torch.int64), 2)

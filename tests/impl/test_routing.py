import pytest
import torch

from impl.routing import top_k


@pytest.mark.parametrize("weights", ["renormalised", "shares"])
def test_values_are_those_stated(weights, normal, stated, within):
    """Within the statement's bound, in float64."""
    s = normal(5, 7, dtype=torch.float64)
    assert within([top_k(s, 3, weights=weights)], stated("routing.top_k", [s, 3], None, {"weights": weights}))


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


def test_what_does_not_fit_is_refused_in_one_line(unchecked):
    """A tensor without tokens, no expert, integers."""
    with pytest.raises(ValueError, match=r"routing.top_k: expected s \(\.\.\. n E\)"):
        top_k(torch.ones(5), 2)
    with pytest.raises(ValueError, match="expected k >= 1; got 0"):
        top_k(torch.ones(3, 5), 0)
    with pytest.raises(TypeError, match="one floating dtype"):
        top_k(torch.ones(3, 5, dtype=torch.int64), 2)

import pytest
import torch

from impl import scores

d, m = 7, 11

MADE = {
    "dot": {},
    "scaled_dot": {},
    "general": {"d_q": d, "d_k": d},
    "additive": {"d_q": d, "d_k": d, "a": 13},
    "location": {"d_q": d, "m": m},
    "cosine": {},
}
NAMES = pytest.mark.parametrize("name", scores.SCORES)


def made(name):
    """The module of that name, with parameters that do not change from run to run."""
    torch.manual_seed(3)
    return scores.SCORES[name](**MADE[name])


@NAMES
def test_every_score_is_called_with_queries_and_keys(name, normal):
    """The result has a row for each query and a column for each key, batches broadcast, and parameters get gradients."""
    score = made(name)
    s = score(normal(2, 1, 5, d, grad=True), normal(3, m, d))
    assert s.shape == (2, 3, 5, m)
    s.square().sum().backward()
    assert all(p.grad.any() for p in score.parameters())


@NAMES
def test_it_is_the_function_of_the_same_name(name, normal):
    """Its parameters are the function's further inputs, in order; of location it is what the softmax is taken of."""
    score, q, k = made(name), normal(5, d), normal(m, d)
    function, parameters = getattr(scores, name), list(score.parameters())
    if name == "location":
        assert torch.equal(torch.softmax(score(q, k), -1), function(q, *parameters))
    else:
        assert torch.equal(score(q, k), function(q, k, *parameters))


def test_a_place_for_each_key(normal):
    """Fewer keys than places have the first places; more are refused."""
    score, q = made("location"), normal(5, d)
    torch.testing.assert_close(score(q, normal(3, d)), score(q, normal(m, d))[:, :3])
    with pytest.raises(
        ValueError, match=r"^scores.location: expected k of at most 11 keys; got q \(5, 7\), k \(13, 7\)$"
    ):
        score(q, normal(13, d))
    with pytest.raises(
        ValueError, match=r"^scores.location: expected q .*, W \(m d_q\); got q \(5, 6\), k \(3, 7\), W"
    ):
        score(normal(5, 6), normal(3, d))
    with pytest.raises(
        TypeError, match=r"^scores.location: expected one floating dtype; got q float64, W float32$"
    ):
        score(q.double(), normal(3, d))
    with pytest.raises(
        ValueError, match=r"^scores.location: expected leading dimensions that broadcast; got q"
    ):
        score(normal(2, 5, d), normal(3, 3, d))


@NAMES
def test_parameters_are_drawn_within_glorot_s_bound(name):
    """√(6 / (fan in + fan out)), and none is 0."""
    for p in made(name).parameters():
        bound = (6 / (sum(p.shape) if p.dim() == 2 else 1 + len(p))) ** 0.5
        assert (p.abs() <= bound).all()
        assert (p != 0).all()

"""Sampling: its distribution is checked against the law in tests/verify; here limits, whole continuations, and refusals."""

import math

import pytest
import torch

from impl.decoding import Recomputed, greedy, sample, sampled


def generator(seed=0):
    """A generator of this seed."""
    return torch.Generator().manual_seed(seed)


def test_one_token_that_may_be_drawn_is_the_likeliest(normal):
    """k = 1, a tiny p, a tiny temperature: each leaves the token that greedy decoding takes."""
    x = normal(3, 101, 7)
    for T, k, p in ((1.0, 1, 1.0), (1.0, 7, 1e-9), (1e-3, 7, 0.999)):
        assert (sample(x, T, k, p, generator()) == x.argmax(-1)).all()


def test_of_tokens_that_are_alike_the_first_are_kept():
    """Eleven alike, three may be drawn: 0, 1 and 2 are, and nothing else; half of them reach p = 0.5 at two."""
    x = torch.zeros(1000, 11)
    assert set(sample(x, 1.0, 3, 1.0, generator()).tolist()) == {0, 1, 2}
    assert set(sample(x, 1.0, 4, 0.5, generator()).tolist()) == {0, 1}


def test_a_token_of_probability_0_is_never_drawn():
    """−∞ among the logits, within the k likeliest."""
    x = torch.tensor([0.0, -math.inf, 1.0]).expand(500, 3)
    assert set(sample(x, 2.0, 3, 1.0, generator()).tolist()) == {0, 2}


def test_a_continuation_is_drawn_token_by_token_and_reports_the_models_log_probability():
    """With one token to choose from it is greedy decoding; the temperature does not show in the log-probability."""
    table = torch.randn(5, 5, dtype=torch.float64, generator=generator(3))
    model = Recomputed(lambda tokens: table[tokens])
    prompts, lengths = torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1])
    wanted = greedy(model, prompts, lengths, max_length=7, end=4)
    found = sampled(
        model, prompts, lengths, max_length=7, end=4, top_k=1, temperature=0.3, generator=generator()
    )
    assert (found.tokens == wanted.tokens).all()
    torch.testing.assert_close(found.log_probability, wanted.log_probability)
    free = sampled(model, prompts, lengths, max_length=7, generator=generator(1))
    assert free.tokens.shape == (2, 7)
    assert (
        sampled(model, prompts, lengths, max_length=7, generator=generator(1)).tokens == free.tokens
    ).all()


@pytest.mark.parametrize(
    ("T", "k", "p"), [(0.0, 1, 1.0), (-1.0, 1, 1.0), (1.0, 0, 1.0), (1.0, 1, 0.0), (1.0, 1, 1.5)]
)
@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_drawn_from_is_refused(T, k, p):
    """Temperature, k and p outside their ranges, in a line."""
    with pytest.raises(ValueError, match=r"decoding\.sample: expected T > 0, k >= 1, 0 < p <= 1"):
        sample(torch.zeros(2, 3), T, k, p, generator())
    with pytest.raises(TypeError, match=r"decoding\.sample: expected a torch.Generator"):
        sample(torch.zeros(2, 3), 1.0, 1, 1.0, None)


def test_the_likeliest_is_drawn_however_small_the_temperature_is(normal):
    """Where a logit divided by it is no number any more."""
    x = normal(5, 7)
    drawn = sample(x, 1e-320, 7, 1.0, torch.Generator().manual_seed(0))
    assert torch.equal(drawn, x.argmax(-1))


@pytest.mark.parametrize("changes", [{"T": "1"}, {"T": None}, {"k": 1.5}, {"p": "1"}, {"x": [1.0, 2.0]}])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_number_or_tensor_is_refused(changes):
    """In one line."""
    given = {"x": torch.zeros(3), "T": 1.0, "k": 2, "p": 1.0} | changes
    with pytest.raises(TypeError, match=r"decoding\.sample: expected"):
        sample(*given.values(), torch.Generator())

import dataclasses

import pytest
import torch

from impl.embedding import token
from impl.recurrent import BiLM, BiLMConfig, ElmoMix, bilm_objective, elmo_mix, lstm_stacked

V, d, L, T = 11, 5, 2, 7
LENGTHS = torch.tensor([4, 7, 1])


@pytest.fixture
def model():
    """A small one, the same in every run."""
    model = BiLM(BiLMConfig(V, d, L))
    model.reset_parameters(torch.Generator().manual_seed(7))
    return model


def words(*shape):
    """Random ids."""
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(11))


def test_its_layers_begin_with_the_words_own_vectors_twice(model):
    """h_0 = [x ; x], and L more of 2 d entries each."""
    ids = words(3, T)
    h = model.states(ids)
    x = token(ids, model.E)
    assert h.shape == (3, T, L + 1, 2 * d)
    assert torch.equal(h[..., 0, :], torch.cat((x, x), -1))


def test_its_top_layer_is_a_stacked_lstm_in_each_direction(model):
    """Of separate weights: the forward one on the words, the backward one on the words from the end."""
    ids = words(3, T)
    top, x, start = model.states(ids)[..., L, :], token(ids, model.E), torch.zeros(L, d)
    for way, halves in ((0, top[..., :d]), (1, top[..., d:].flip(-2))):
        states, _, _ = lstm_stacked(
            x if way == 0 else x.flip(-2),
            start,
            start,
            model.W_x[way, 0],
            model.W_h[way],
            model.b[way],
            model.W_x[way, 1:],
        )
        torch.testing.assert_close(halves, states)


def test_a_word_is_predicted_from_the_words_before_it_and_those_after_it(model):
    """Changing a word changes its own logits in neither direction: no cheating. Others it changes."""
    ids = words(T)
    other = ids.clone()
    other[3] = (ids[3] + 1) % V
    for before, after, seen in zip(model.logits(ids), model.logits(other), (4, 0), strict=True):
        changed = (before != after).any(-1)
        assert changed.tolist() == [k != 3 and (k > 3) == (seen > 3) for k in range(T)]


def test_the_first_word_of_a_direction_is_predicted_from_the_bias_alone(model):
    """The states begin at 0."""
    s_f, s_b = model.logits(words(3, T), LENGTHS)
    for s in (s_f[:, 0], s_b[0, 3], s_b[1, 6], s_b[2, 0]):
        torch.testing.assert_close(s, model.b_s.expand(s.shape))


def test_padding_of_any_content_changes_nothing(model):
    """States, objective and gradients of a padded batch are those of its sentences alone."""
    ids = words(3, T)
    padded = torch.where(torch.arange(T) < LENGTHS[:, None], ids, -1)
    h, total = model.states(padded, LENGTHS), model.objective(padded, LENGTHS)
    gradients = torch.autograd.grad(total.sum(), list(model.parameters()))
    alone = 0
    for i, length in enumerate(LENGTHS):
        sentence = ids[i, :length]
        torch.testing.assert_close(h[i, :length], model.states(sentence))
        assert not h[i, length:].any()
        torch.testing.assert_close(total[i], model.objective(sentence))
        alone += model.objective(sentence)
    for one, other in zip(gradients, torch.autograd.grad(alone, list(model.parameters())), strict=True):
        torch.testing.assert_close(one, other)


def test_its_objective_is_the_formula_on_its_logits(model):
    """And calling the model is asking for it."""
    ids = words(3, T)
    torch.testing.assert_close(model(ids), bilm_objective(ids, *model.logits(ids)))
    assert model(ids).shape == (3,)


def test_training_raises_the_objective(model):
    """A few steps of gradient ascent on three sentences."""
    ids = words(3, T)
    ascent = torch.optim.Adam(model.parameters(), lr=0.05, maximize=True)
    before = model(ids).sum().item()
    for _ in range(50):
        ascent.zero_grad()
        model(ids).sum().backward()
        ascent.step()
    assert model(ids).sum().item() > before / 2


def test_an_unknown_word_is_refused(model):
    """With its place."""
    with pytest.raises(IndexError, match=r"^embedding.token: .* got ids\[2\] = 11$"):
        model(torch.tensor([1, 2, 11]))


def test_the_configuration_is_fixed_and_checked(model):
    """Sizes of at least 1."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.config.width = 7
    with pytest.raises(ValueError, match=r"^BiLMConfig: expected width >= 1; got width 0$"):
        BiLMConfig(V, width=0)


def test_an_elmo_mix_begins_as_the_mean_and_learns_its_weights(model):
    """Parameters w and γ of the formula, and nothing else."""
    mix, h = ElmoMix(L + 1), model.states(words(3, T)).detach()
    assert {name: each.shape for name, each in mix.named_parameters()} == {"w": (L + 1,), "gamma": ()}
    torch.testing.assert_close(mix(h), h.mean(-2))
    with torch.no_grad():
        mix.w.copy_(torch.tensor([0.5, -1.0, 2.0]))
        mix.gamma.fill_(3.0)
    assert torch.equal(mix(h), elmo_mix(h, mix.w, mix.gamma))
    mix(h).square().sum().backward()
    assert mix.w.grad.all()
    assert mix.gamma.grad
    with pytest.raises(ValueError, match="expected at least 1 layer; got 0"):
        ElmoMix(0)

"""impl.objectives: hidden words, pairs of texts, and both together."""

import pytest
import torch
import torch.nn.functional as F

from impl.objectives import bert, mlm, nsp

N, V, M = 7, 11, 5
LABELS = torch.tensor([-100, 3, -100, -100, 10, 0, -100])
ANSWERS = torch.tensor([0, 1, 1, 0, 1])
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)


@DTYPES
@pytest.mark.parametrize("which", ["mlm", "nsp", "bert"])
def test_losses_are_the_ones_stated(dtype, which, normal, stated, within):
    """Values and gradients, within their bounds."""
    s, z = normal(N, V, dtype=dtype, grad=True), normal(M, 2, dtype=dtype, grad=True)
    loss, inputs, logits = {
        "mlm": (mlm, [s, LABELS], [s]),
        "nsp": (nsp, [z, ANSWERS], [z]),
        "bert": (bert, [s, LABELS, z, ANSWERS], [s, z]),
    }[which]
    value = loss(*inputs)
    grads = torch.autograd.grad(value, logits)
    g = torch.ones((), dtype=torch.float64)
    assert within([value.detach(), *grads], stated(f"objectives.{which}", inputs, g))


def test_words_that_were_not_asked_neither_cost_nor_learn(normal):
    """Their logits may be NaN; the mean is over the three that were asked, and only these have a gradient."""
    s = normal(N, V, dtype=torch.float64)
    asked = LABELS >= 0
    s[~asked] = torch.nan
    s.requires_grad_()
    loss = mlm(s, LABELS)
    torch.testing.assert_close(loss, F.cross_entropy(s[asked], LABELS[asked]))
    (grad,) = torch.autograd.grad(loss, s)
    assert (grad[~asked] == 0).all()
    assert (grad[asked] != 0).all()


def test_where_no_word_was_asked_the_loss_is_nothing(normal):
    """And each text of a batch has a mean of its own."""
    labels = torch.stack((LABELS, torch.full((N,), -100), LABELS.flip(0)))
    s = normal(3, N, V)
    losses = mlm(s, labels)
    assert losses[1] == 0
    torch.testing.assert_close(losses, torch.stack([mlm(*each) for each in zip(s, labels, strict=True)]))


def test_a_pair_costs_by_the_difference_of_its_logits(normal):
    """Both raised alike change nothing; far apart they neither overflow nor vanish."""
    z = normal(M, 2, dtype=torch.float64)
    torch.testing.assert_close(nsp(z + 3, ANSWERS), nsp(z, ANSWERS))
    assert nsp(torch.tensor([[0.0, 5000.0]]), torch.tensor([0])) == 5000
    assert nsp(torch.tensor([[0.0, 5000.0]]), torch.tensor([1])) == 0


def test_both_together_are_their_sum(normal):
    """Each with a mean of its own, whatever the numbers of words and of pairs."""
    s, z = normal(N, V, dtype=torch.float64), normal(M, 2, dtype=torch.float64)
    torch.testing.assert_close(bert(s, LABELS, z, ANSWERS), mlm(s, LABELS) + nsp(z, ANSWERS))


def test_labels_and_answers_that_there_are_not_are_refused(normal):
    """A word that the vocabulary lacks, a negative one that is not −100, a third answer."""
    for label in (V, -1):
        with pytest.raises(IndexError):
            mlm(normal(N, V), LABELS.masked_fill(LABELS == 3, label))
    with pytest.raises(IndexError):
        nsp(normal(M, 2), ANSWERS + 1)
    with pytest.raises((ValueError, TypeError)):
        nsp(normal(M, 3), ANSWERS)
    with pytest.raises(TypeError):
        nsp(normal(M, 2), ANSWERS.double())

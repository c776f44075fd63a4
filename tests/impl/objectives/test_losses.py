"""impl.objectives: log-probability of a text, cross entropy and distillation."""

import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

import spec
from impl.objectives import autoregressive, cross_entropy, distillation, linear_cross_entropy

DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
T, V = 7, 11
Y = torch.tensor([3, -100, 10, 0, 3, -100, 7])
WORDS = torch.tensor([3, 1, 10, 0, 3, 2, 7])


@DTYPES
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_cross_entropy_is_the_statement(dtype, epsilon, normal, stated, within):
    """Value and gradient, within its bounds."""
    s = normal(T, V, dtype=dtype, grad=True)
    loss = cross_entropy(s, Y, epsilon)
    (grad,) = torch.autograd.grad(loss, s)
    g = torch.ones((), dtype=torch.float64)
    assert within([loss.detach(), grad], stated("objectives.cross_entropy", [s, Y, epsilon], g))


@DTYPES
@pytest.mark.parametrize("block", [None, 64])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_share_is_spread_over_the_other_words_where_that_is_asked(
    dtype, epsilon, block, normal, stated, within
):
    """Of both cross entropies, the one with all logits held and the one with some of them."""
    W = torch.eye(V, dtype=dtype)
    s = normal(T, V, dtype=dtype, grad=True)
    g = torch.ones((), dtype=torch.float64)
    loss = (
        cross_entropy(s, Y, epsilon, smoothing="others")
        if block is None
        else linear_cross_entropy(s, W, Y, epsilon, smoothing="others", block=block)
    )
    (grad,) = torch.autograd.grad(loss, s)
    assert within(
        [loss.detach(), grad], stated("objectives.cross_entropy", [s, Y, epsilon], g, {"smoothing": "others"})
    )


def test_a_single_word_costs_nothing_however_a_share_is_spread(normal):
    """There are no other words, and no division by their number."""
    assert cross_entropy(normal(T, 1), torch.zeros(T, dtype=torch.int64), 0.3, smoothing="others") == 0


@DTYPES
def test_autoregressive_is_the_statement(dtype, normal, stated, within):
    """Value and gradient, within its bounds."""
    s = normal(T, V, dtype=dtype, grad=True)
    text = autoregressive(s, WORDS)
    (grad,) = torch.autograd.grad(text, s)
    g = torch.ones((), dtype=torch.float64)
    assert within([text.detach(), grad], stated("objectives.autoregressive", [s, WORDS], g))


@DTYPES
@pytest.mark.parametrize("divergence", ["kl", "cross_entropy"])
def test_distillation_is_the_statement(dtype, divergence, normal, stated, within):
    """Value and both gradients, within its bounds, under either convention."""
    z, u = normal(T, V, dtype=dtype, grad=True), normal(T, V, dtype=dtype, grad=True)
    loss = distillation(z, u, 2.5, divergence=divergence)
    grads = torch.autograd.grad(loss, (z, u))
    g = torch.ones((), dtype=torch.float64)
    said = stated("objectives.distillation", [z, u, 2.5], g, {"divergence": divergence})
    assert within([loss.detach(), *grads], said)


def test_each_member_of_a_batch_has_a_mean_of_its_own(normal):
    """Leading dimensions broadcast; a member without a target has loss 0 and no gradient."""
    s = normal(3, 1, T, V, grad=True)
    y = torch.stack([Y, WORDS, torch.full((T,), -100), Y.flip(0), Y])
    losses = cross_entropy(s, y, 0.1)
    assert losses.shape == (3, 5)
    assert (losses[:, 2] == 0).all()
    alone = torch.stack([torch.stack([cross_entropy(a[0], b, 0.1) for b in y]) for a in s])
    torch.testing.assert_close(losses, alone)
    losses[:, 2].sum().backward()
    assert (s.grad == 0).all()


def test_what_is_not_asked_reaches_neither_loss_nor_gradient(normal):
    """NaN and infinity in the logits of ignored places included."""
    s = normal(T, V)
    spoilt = s.clone()
    spoilt[1], spoilt[5] = math.nan, math.inf
    s, spoilt = s.requires_grad_(), spoilt.requires_grad_()
    (grad,), (other) = torch.autograd.grad(cross_entropy(s, Y, 0.2), s), cross_entropy(spoilt, Y, 0.2)
    assert torch.equal(other, cross_entropy(s, Y, 0.2))
    assert torch.equal(torch.autograd.grad(other, spoilt)[0], grad)


def test_a_16_bit_loss_is_rounded_once(normal):
    """The mean of thousands of places keeps its digits."""
    s, y = normal(4099, V).bfloat16(), torch.arange(4099) % V
    wide = cross_entropy(s.double(), y, 0.1)
    assert cross_entropy(s, y, 0.1) == wide.bfloat16()


def test_the_gradient_of_distillation_tends_to_logit_matching(normal):
    """Ten times the temperature, a tenth of the distance: τ·(p − q) is (z − u less the mean)/V and something of order 1/τ."""
    z, u = normal(T, V, dtype=torch.float64), normal(T, V, dtype=torch.float64)
    matching = (z - u - (z - u).mean(-1, keepdim=True)) / (V * T)
    distances = []
    for tau in (100.0, 1000.0, 10000.0):
        found = spec.vjp("objectives.distillation", {"z": z, "u": u, "tau": tau}, {"L": 1.0})["z"]
        distances.append((torch.tensor(found) - matching).abs().max().item())
    # The next term is of order 1/τ²: beside a tenth it is below one part in a hundred already at τ = 100.
    assert all(9.8 < a / b < 10.2 for a, b in pairwise(distances)), distances


def test_probabilities_of_all_texts_of_three_words_sum_to_1(normal):
    """Logits of each place read off a table by the words before it."""
    first, second, third = (
        normal(3, dtype=torch.float64),
        normal(3, 3, dtype=torch.float64),
        normal(9, 3).double(),
    )
    texts = torch.cartesian_prod(*[torch.arange(3)] * 3)
    a, b, _ = texts.unbind(-1)
    s = torch.stack([first.expand(27, 3), second[a], third[3 * a + b]], -2)
    torch.testing.assert_close(autoregressive(s, texts).exp().sum(), torch.ones((), dtype=torch.float64))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: cross_entropy(torch.ones(T, V), Y.float()), TypeError, "integer targets"),
        (lambda: cross_entropy(torch.ones(T, V), Y[:5]), ValueError, r"s \(... T V\), y \(... T\)"),
        (lambda: cross_entropy(torch.ones(T, V), Y, 1.5), ValueError, "epsilon in 0..1"),
        (lambda: cross_entropy(torch.ones(T, V), Y, smoothing="rest"), ValueError, "'all' or 'others'"),
        (lambda: cross_entropy(torch.ones(T, V), Y + 1), IndexError, "or -100"),
        (lambda: cross_entropy(torch.ones(T, V), Y.clamp(min=-1)), IndexError, r"y\[|targets"),
        (lambda: cross_entropy(torch.ones(2, T, V), Y.expand(3, T)), ValueError, "leading dimensions"),
        (lambda: autoregressive(torch.ones(T, V), Y), IndexError, "words"),
        (lambda: distillation(torch.ones(T, V), torch.ones(T, 2), 1.0), ValueError, "z "),
        (lambda: distillation(torch.ones(T, V), torch.ones(T, V).double(), 1.0), TypeError, "floating"),
        (lambda: distillation(torch.ones(T, V), torch.ones(T, V), 0.0), ValueError, "tau above 0"),
        (
            lambda: distillation(torch.ones(T, V), torch.ones(T, V), 1.0, divergence="js"),
            ValueError,
            "divergence",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(call, error, says):
    """The line names the formula, and what was expected."""
    with pytest.raises(error, match=says) as caught:
        call()
    assert str(caught.value).startswith("objectives.")
    assert "\n" not in str(caught.value)


def test_it_is_what_torch_gives_for_one_batch(normal):
    """Flattened, torch's mean is that of all targets."""
    s = normal(T, V)
    torch.testing.assert_close(cross_entropy(s, Y, 0.1), F.cross_entropy(s, Y, label_smoothing=0.1))

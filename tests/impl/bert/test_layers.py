"""A layer in training: what its backward pass computes anew is what it was, and is not held meanwhile."""

import weakref
from functools import partial

import pytest
import torch

from impl.bert import BertConfig
from impl.bert.layers import ACTIVATIONS, BertLayer, draw
from impl.bert.unpadding import Tokens

T, D, H = 14, 12, 3


def layer(d_ff, activation="gelu"):
    """A layer without dropout, in training."""
    config = BertConfig(
        d_model=D, heads=H, d_ff=d_ff, layers=1, activation=activation, dropout=0.0, attention_dropout=0.0
    )
    made = BertLayer(config)
    draw(made, 0.3, torch.Generator().manual_seed(0))
    return made


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(
    "d_ff", [31, D, T], ids=["wide", "as wide as the layer", "as wide as there are tokens"]
)
@pytest.mark.parametrize(
    ("dtype", "autocast"),
    [(torch.float64, False), (torch.float64, True), (torch.float32, False), (torch.float32, True)],
)
def test_the_gradients_of_training_are_those_of_evaluation(activation, d_ff, dtype, autocast, normal):
    """Bit for bit, under autocast too, and where weights have the shape of hidden units."""
    of, x = layer(d_ff, activation).to(dtype), normal(T, D).to(dtype)

    def gradients(training):
        of.train(training).zero_grad()
        given = x.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            y = of(given, Tokens.of(2, T // 2, None, False))
        y.double().square().sum().backward()
        return y, given.grad, *(p.grad.clone() for p in of.parameters())

    assert all(torch.equal(a, b) for a, b in zip(gradients(True), gradients(False), strict=True))


def test_hidden_units_after_the_activation_are_not_held(normal):
    """They would be a quarter of all that a step of training holds."""
    of, found = layer(31), []

    def seen(activation, a):
        found.append(weakref.ref(y := activation(a)))
        return y

    of.activation = partial(seen, of.activation)
    y = of(normal(T, D), Tokens.of(2, T // 2, None, False))
    assert [each() for each in found] == [None]
    y.sum().backward()
    assert len(found) == 2, "once for each pass"


def test_what_is_computed_anew_has_a_second_derivative(normal):
    """Where attention, which has none on every device, is left out."""
    of = layer(5).double()
    a = normal(2, 5).double().requires_grad_()
    assert torch.autograd.gradgradcheck(of._contracted, a)

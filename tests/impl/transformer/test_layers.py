"""Layers beside torch's, and what they guarantee by themselves."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import nn

from impl.attention import causal_mask
from impl.transformer import DecoderLayer, EncoderLayer
from impl.transformer.adapters import from_torch

m, n = 7, 5

BOTH = pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
NORMS = pytest.mark.parametrize("norm", ["post", "pre"])
MODES = pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
LAYERS = pytest.mark.parametrize("kind", ["encoder", "decoder"])


@pytest.fixture
def pair(config, randomized):
    """torch's layer and ours, with the same random parameters."""

    def build(kind, training, **changes):
        c = replace(config, dropout=0.0 if training else 0.1, **changes)
        layer = nn.TransformerEncoderLayer if kind == "encoder" else nn.TransformerDecoderLayer
        sizes = (c.d_model, c.heads, c.d_ff, c.dropout, c.activation, c.eps)
        theirs = randomized(layer(*sizes, batch_first=True, norm_first=c.norm == "pre"))
        ours = (EncoderLayer if kind == "encoder" else DecoderLayer)(c)
        ours.load_state_dict(from_torch(theirs.state_dict()))
        return theirs.train(training), ours.train(training)

    return build


@BOTH
@NORMS
@MODES
@LAYERS
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_layer_is_torch_s(kind, dtype, norm, training, activation, pair, normal, config, allowed):
    """In evaluation the value, whatever the dropout; in training, with none, the gradients too. torch's mask is the opposite."""
    theirs, ours = pair(kind, training, norm=norm, activation=activation)
    x, memory = normal(2, n, config.d_model), normal(2, m, config.d_model)
    g, mask = normal(2, n, config.d_model), causal_mask(n, n)

    def result(layer, mask, dtype):
        given = [each.to(dtype).requires_grad_() for each in ((x,) if kind == "encoder" else (x, memory))]
        layer = deepcopy(layer).to(dtype)
        if not training:  # torch takes another path without gradients
            with torch.no_grad():
                return layer(*given, mask)
        z = layer(*given, mask)
        gradients = torch.autograd.grad(z, [*given, *layer.parameters()], g.to(dtype))
        return torch.cat([each.flatten() for each in (z, *gradients[: len(given)])])

    def wanted(dtype):
        return result(theirs, ~mask, dtype).double()

    got = result(ours, mask, dtype)
    assert (got - wanted(torch.float64)).abs().max() <= allowed(wanted, dtype)


@NORMS
@LAYERS
def test_a_token_that_may_attend_to_nothing_is_finite(kind, norm, config, randomized, normal):
    """Its attention is 0 (and the bias of the output), in the layer and in its gradient."""
    layer = randomized((EncoderLayer if kind == "encoder" else DecoderLayer)(replace(config, norm=norm)))
    x = normal(2, n, config.d_model, grad=True)
    mask, nothing = torch.ones(n, n, dtype=torch.bool), torch.ones(n, m, dtype=torch.bool)
    mask[3], nothing[2] = False, False
    given = (x, mask) if kind == "encoder" else (x, normal(2, m, config.d_model), mask, nothing)
    z = layer(*given)
    z.square().sum().backward()
    assert z.isfinite().all()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


@LAYERS
def test_dropout_stands_where_the_paper_has_it(kind, config, randomized, normal):
    """On what a sub-layer adds: with nearly all of that dropped, x passes as it is."""
    choices = replace(config, norm="pre", dropout=0.999999)
    layer = randomized((EncoderLayer if kind == "encoder" else DecoderLayer)(choices)).train()
    x, memory = normal(2, n, config.d_model), normal(2, m, config.d_model)
    assert torch.equal(layer(x) if kind == "encoder" else layer(x, memory), x)


def test_the_weights_given_to_the_memory_are_those_of_the_call(config, randomized, normal):
    """A row of weights for each head and token; hidden entries get 0; the layer's result is the same."""
    layer = randomized(DecoderLayer(config))
    x, memory = normal(2, n, config.d_model), normal(2, m, config.d_model)
    mask, seen = causal_mask(n, n), torch.arange(m) < 5
    z, a = layer.aligned(x, memory, mask, seen[None])
    torch.testing.assert_close(z, layer(x, memory, mask, seen[None]))
    assert a.shape == (2, config.heads, n, m)
    assert not a[..., 5:].any()
    torch.testing.assert_close(a.sum(-1), torch.ones(2, config.heads, n))

"""Dive into Deep Learning."""

import sys
from importlib.util import find_spec
from types import ModuleType

from examples.world.component import of
from examples.world.sizes import EVEN, ONE_WIDTH
from verify.adapt import function, module

if find_spec("torchvision") is None:  # it is for pictures, which nothing here has
    sys.modules["torchvision"] = ModuleType("torchvision")
    sys.modules["torchvision"].transforms = None

from d2l import torch as d2l

component = of("d2l")

# fmt: off


@component("masked_softmax", "attention.softmax")
def masked_softmax():
    """By lengths; hidden scores are −10⁶, which it writes into what it is given: a copy."""
    return function(d2l.masked_softmax, "s.clone(), mask", mask="lengths", batch=1)


@component("DotProductAttention", "attention.scaled_dot_product")
def dot_product():
    """By lengths; hidden scores are −10⁶."""
    return module(d2l.DotProductAttention, {}, arguments="0.0", mask="lengths")


@component("AdditiveAttention", "attention.additive_weights")
def additive():
    """By lengths; the weights that it keeps are judged."""
    class Weights(d2l.AdditiveAttention):
        def forward(self, *given):
            return super().forward(*given), self.attention_weights
    weights = {"W_q.weight": "W[:, :d_q]", "W_k.weight": "W[:, d_q:]", "w_v.weight": "v.unsqueeze(0)"}
    return module(lambda b, d_q, d_k: Weights(b, 0.0), weights, "q, k, k, mask", mask="lengths", pick=1)


@component("MultiHeadAttention", "attention.multi_head")
def multi_head():
    """By lengths."""
    weights = {"W_q.weight": "rows(W_q)", "W_k.weight": "rows(W_k)", "W_v.weight": "rows(W_v)", "W_o.weight": "W_o.T"}
    call, arguments = "x, y, y, mask", "d_model, h, 0.0"
    return module(d2l.MultiHeadAttention, weights, call, arguments=arguments, mask="lengths", sizes=ONE_WIDTH)


@component("PositionWiseFFN", "feedforward.relu")
def feedforward():
    """Two layers."""
    weights = {"dense1.weight": "W_1.T", "dense1.bias": "b_1", "dense2.weight": "W_2.T", "dense2.bias": "b_2"}
    return module(d2l.PositionWiseFFN, weights, "x", arguments="f, d")


@component("AddNorm", "normalization.add_norm")
def add_norm():
    """With the ε of torch."""
    return module(d2l.AddNorm, {"ln.weight": "gamma", "ln.bias": "beta"}, "r, x", arguments="d, 0.0", fixed={"eps": 1e-5})


@component("PositionalEncoding", "positional.sinusoidal")
def positions():
    """A table in float32, of even widths."""
    return function(lambda n, d: d2l.PositionalEncoding(d, 0.0, n).P[0], sizes=EVEN)

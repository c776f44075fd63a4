"""Dive into Deep Learning."""

import sys
from importlib.util import find_spec
from types import ModuleType

from examples.world.component import of
from examples.world.sizes import EVEN, ONE_WIDTH
from verify.adapt import function, module, rows

if find_spec("torchvision") is None:  # it is for pictures, which nothing here has
    sys.modules["torchvision"] = ModuleType("torchvision")
    sys.modules["torchvision"].transforms = None

from d2l import torch as d2l

component = of("d2l")

# fmt: off


@component("masked_softmax", "attention.softmax")
def masked_softmax():
    """By lengths; hidden scores are −10⁶, which it writes into what it is given: a copy."""
    return function(d2l.masked_softmax, lambda masked, s, mask: masked(s.clone(), mask), mask="lengths", batch=1)


@component("DotProductAttention", "attention.scaled_dot_product")
def dot_product():
    """By lengths; hidden scores are −10⁶."""
    return module(lambda: d2l.DotProductAttention(0.0), mask="lengths")


@component("AdditiveAttention", "attention.additive_weights")
def additive():
    """By lengths; the weights that it keeps are judged."""
    class Weights(d2l.AdditiveAttention):
        def forward(self, *given):
            return super().forward(*given), self.attention_weights
    weights = lambda W, v, d_q: {"W_q.weight": W[:, :d_q], "W_k.weight": W[:, d_q:], "w_v.weight": v.unsqueeze(0)}
    return module(lambda b: Weights(b, 0.0), weights, lambda attend, q, k, mask: attend(q, k, k, mask)[1], mask="lengths")


@component("MultiHeadAttention", "attention.multi_head")
def multi_head():
    """By lengths."""
    weights = lambda W_o, **w: {f"W_{of}.weight": rows(w[f"W_{of}"]) for of in "qkv"} | {"W_o.weight": W_o.T}
    build, call = lambda d_model, h: d2l.MultiHeadAttention(d_model, h, 0.0), lambda attend, x, y, mask: attend(x, y, y, mask)
    return module(build, weights, call, mask="lengths", sizes=ONE_WIDTH)


@component("PositionWiseFFN", "feedforward.relu")
def feedforward():
    """Two layers."""
    def weights(W_1, b_1, W_2, b_2):
        return {"dense1.weight": W_1.T, "dense1.bias": b_1, "dense2.weight": W_2.T, "dense2.bias": b_2}
    return module(lambda f, d: d2l.PositionWiseFFN(f, d), weights)


@component("AddNorm", "normalization.add_norm")
def add_norm():
    """With the ε of torch."""
    weights, call = lambda gamma, beta: {"ln.weight": gamma, "ln.bias": beta}, lambda add, r, x: add(r, x)
    return module(lambda d: d2l.AddNorm(d, 0.0), weights, call, fixed={"eps": 1e-5})


@component("PositionalEncoding", "positional.sinusoidal")
def positions():
    """A table in float32, of even widths."""
    return function(lambda n, d: d2l.PositionalEncoding(d, 0.0, n).P[0], sizes=EVEN)

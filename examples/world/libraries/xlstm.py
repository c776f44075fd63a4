"""xlstm."""

from xlstm.components.ln import LayerNorm

from examples.world.component import of
from verify.adapt import module

component = of("xlstm")

# fmt: off


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """Its gain is kept as what it is beyond 1."""
    weights = {"weight": "gamma - 1", "bias": "beta"}
    return module(LayerNorm, weights, arguments="d, bias=True, eps=eps", batch=None)

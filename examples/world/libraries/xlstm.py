"""xlstm."""

from xlstm.components.ln import LayerNorm

from examples.world.component import of
from verify.adapt import module

component = of("xlstm")

# fmt: off


@component("LayerNorm", "normalization.layer_norm")
def layer_norm():
    """Its gain is kept as what it is beyond 1."""
    weights = lambda gamma, beta: {"weight": gamma - 1, "bias": beta}
    return module(lambda d, eps: LayerNorm(d, bias=True, eps=eps), weights, batch=None)

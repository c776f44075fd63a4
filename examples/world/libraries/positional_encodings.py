"""positional-encodings."""

import torch
from positional_encodings.torch_encodings import PositionalEncoding1D

from examples.world.component import of
from verify.adapt import function

component = of("positional-encodings")

# fmt: off


@component("PositionalEncoding1D", "positional.sinusoidal")
def positions():
    """A table of frequencies in float32."""
    return function(lambda n, d: PositionalEncoding1D(d)(torch.zeros(1, n, d))[0])

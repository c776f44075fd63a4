"""positional-encodings."""

import torch
from positional_encodings.torch_encodings import PositionalEncoding1D

from examples.world.component import of
from examples.world.sizes import EVEN
from verify.adapt import function

component = of("positional-encodings")

# fmt: off


@component("PositionalEncoding1D", "positional.sinusoidal")
def positions():
    """A table of frequencies in float32, of even widths."""
    return function(lambda n, d: PositionalEncoding1D(d)(torch.zeros(1, n, d))[0], sizes=EVEN)


@component("PositionalEncoding1D, any width", "positional.sinusoidal")
def widths():
    """An odd width is rounded up, and the last column is cut off: its frequencies are those of d + 1."""
    return function(lambda n, d: PositionalEncoding1D(d)(torch.zeros(1, n, d))[0])

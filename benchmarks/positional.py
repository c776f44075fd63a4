"""The sinusoidal table, beside transformers' two ways of making it and that of PyTorch's tutorial.

Peers compute angles in float32 (Marian: in float64, one Python number at a time), and are wrong in the fifth digit at position
1,000; ours rounds float64 once, which takes longer. M2M-100's spreads d/2 frequencies over d/2 − 1 steps, another table at the
same cost.
"""

import math
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

from benchmarks.harness import Comparison
from impl.positional import sinusoidal

D = 512


def tutorial(n: int, d: int) -> Tensor:
    """The form of PyTorch's tutorial "Language Modeling with nn.Transformer"."""
    position = torch.arange(n).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
    pe = torch.zeros(n, d)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def entries(quick: bool) -> Iterator[Comparison]:
    """Each layout beside the peers that make it."""
    for n in (16, 256) if quick else (16, 256, 1024, 4096):
        size = f"{n}×{D}"
        peers = {"torch tutorial": partial(tutorial, n, D)}
        yield Comparison("sinusoidal, interleaved", size, partial(sinusoidal, n, D), peers)
        peers = {"transformers M2M-100": partial(M2M100SinusoidalPositionalEmbedding.get_embedding, n, D)}
        if n <= 256:  # a second and more beyond
            peers["transformers Marian"] = MarianSinusoidalPositionalEmbedding(n, D).create_weight
        ours = partial(sinusoidal, n, D, layout="concatenated")
        yield Comparison("sinusoidal, concatenated", size, ours, peers)

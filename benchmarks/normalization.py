"""Layer normalisation, beside torch's function and module."""

from collections.abc import Iterator
from functools import partial

import torch
import torch.nn.functional as F

from benchmarks.harness import Comparison, seeded
from impl.normalization import layer_norm

D, EPS = 768, 1e-5


def entries(quick: bool) -> Iterator[Comparison]:
    """Rows of BERT-base's width."""
    for n in (16, 256) if quick else (16, 256, 1024, 4096):
        x = torch.randn(n, D, generator=seeded(n))
        module = torch.nn.LayerNorm(D, EPS)
        gamma, beta = module.weight, module.bias
        peers = {
            "torch F.layer_norm": partial(F.layer_norm, x, (D,), gamma, beta, EPS),
            "torch nn.LayerNorm": partial(module, x),
        }
        yield Comparison(
            "layer norm", f"{n}×{D}", partial(layer_norm, x, gamma, beta, EPS), peers, 0.8 if n < 256 else 1.0
        )

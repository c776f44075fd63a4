"""Small models whose parameters are all random."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from impl.transformer import Transformer, TransformerConfig

CONFIG = TransformerConfig(
    source_vocabulary=13,
    target_vocabulary=17,
    d_model=14,
    heads=2,
    d_ff=11,
    encoder_layers=2,
    decoder_layers=3,
    max_length=23,
)


@pytest.fixture
def config() -> TransformerConfig:
    """Sizes that are all different."""
    return CONFIG


@pytest.fixture
def model(randomized: Callable[[nn.Module], nn.Module]) -> Callable[..., Transformer]:
    """A random model in evaluation: ``model(torch.float32, norm="pre")``."""

    def build(dtype: torch.dtype = torch.float64, **changes) -> Transformer:
        return randomized(Transformer(replace(CONFIG, **changes)).to(dtype))

    return build

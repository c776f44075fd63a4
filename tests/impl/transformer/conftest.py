"""Small models whose parameters are all random, and how far two correct computations may be apart."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

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
def randomized(normal: Callable[..., Tensor]) -> Callable[[nn.Module], nn.Module]:
    """A module with random parameters, gains and biases among them, in evaluation. Float32 holds them exactly."""

    def draw(module: nn.Module) -> nn.Module:
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(normal(*parameter.shape) / 2)
        return module.eval()

    return draw


@pytest.fixture
def model(randomized: Callable[[nn.Module], nn.Module]) -> Callable[..., Transformer]:
    """A random model in evaluation: ``model(torch.float32, norm="pre")``."""

    def build(dtype: torch.dtype = torch.float64, **changes) -> Transformer:
        return randomized(Transformer(replace(CONFIG, **changes)).to(dtype))

    return build


@pytest.fixture
def allowed() -> Callable[..., float]:
    """How far a correct result in ``dtype`` may be from the same in float64, or another correct one in float64: eight times the
    largest difference that float32 makes in the computation ``f``, times the ratio of the types' precisions.

    The rounding errors of two orders of summation are two draws of the same kind, and their maxima over a hundred entries or more
    are within a small factor of one another; eight leaves room for that. A wrong mask, place or scale is off by 10⁵ times
    as much in float32, and by 10¹⁴ in float64.
    """

    def of(f: Callable[[torch.dtype], Tensor], dtype: torch.dtype) -> float:
        unit = (f(torch.float32) - f(torch.float64)).abs().max().item()
        assert unit > 0
        return 8 * unit * torch.finfo(dtype).eps / torch.finfo(torch.float32).eps

    return of

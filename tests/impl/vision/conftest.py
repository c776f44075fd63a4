"""A small Vision Transformer whose parameters are all random, and transformers' model with the same."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from impl.vision import ViT, ViTConfig


@pytest.fixture
def config() -> ViTConfig:
    """Sizes that are all different."""
    return ViTConfig(image=6, patch=2, channels=5, d_model=14, layers=3, heads=2, d_ff=11, classes=7)


@pytest.fixture
def model(randomized: Callable[[nn.Module], nn.Module], config: ViTConfig) -> ViT:
    """In float64; weights are small, so that bounds stay small."""
    made = randomized(ViT(config, dtype=torch.float64))
    for parameter in made.parameters():
        parameter.data /= 2
    return made


@pytest.fixture
def images(normal: Callable[..., Tensor]) -> Tensor:
    """Two of them."""
    return normal(2, 5, 6, 6, dtype=torch.float64)


@pytest.fixture
def theirs(tmp_path) -> Callable[[ViT, str], nn.Module]:
    """transformers' model with the parameters of one of ours: ours is saved, theirs reads it."""
    transformers = pytest.importorskip("transformers")

    def build(ours: ViT, name: str, **how: object) -> nn.Module:
        ours.save_pretrained(tmp_path / name)
        found, told = getattr(transformers, name).from_pretrained(
            tmp_path / name, output_loading_info=True, dtype=ours.cls.dtype, **how
        )
        assert not any(told.values()), told
        return found.eval()

    return build

"""Fixtures of impl's tests. ``tests/conftest.py`` has annotations enforced in them, on every call."""

from collections.abc import Callable

import pytest
import torch
from jaxtyping import config


@pytest.fixture
def normal() -> Callable[..., torch.Tensor]:
    """Draws normal tensors, the same in every run: ``normal(2, 3, dtype=torch.float64, grad=True)``."""
    generator = torch.Generator().manual_seed(20260)

    def draw(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)

    return draw


@pytest.fixture
def unchecked() -> None:
    """Annotations are not enforced, as for users: what the function itself refuses can be seen."""
    config.update("jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def _compiler_afresh(request: pytest.FixtureRequest) -> None:
    """A compiled test starts from nothing: to Dynamo all annotated functions are one, which it recompiles 8 times only."""
    if request.node.get_closest_marker("compiled"):
        torch.compiler.reset()

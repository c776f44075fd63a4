"""Fixtures of impl's tests. ``tests/conftest.py`` has annotations enforced in them, on every call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
from jaxtyping import config
from torch import Tensor, nn


@pytest.fixture
def normal() -> Callable[..., torch.Tensor]:
    """Draws normal tensors, the same in every run: ``normal(2, 3, dtype=torch.float64, grad=True)``."""
    generator = torch.Generator().manual_seed(20260)

    def draw(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_(grad)

    return draw


@pytest.fixture
def stated() -> Callable[..., list[tuple[Tensor, Tensor]]]:
    """What a statement says of its results, and of its gradients where the result's is given: each value with its bound.

    ``stated("scores.additive", [q, k, W, v], g)``; inputs have no batch axes.
    """
    from spec.language.differentiation.gradients import pull_back
    from spec.language.evaluation.evaluate import bound
    from spec.language.registry import find

    def of(
        formula_id: str,
        inputs: Sequence[Any],
        g: Tensor | None = None,
        conventions: Mapping[str, str] | None = None,
    ) -> list[tuple[Tensor, Tensor]]:
        formula, dtype = find(formula_id), str(inputs[0].dtype).removeprefix("torch.")
        arrays = [x.detach().cpu().numpy() if isinstance(x, Tensor) else x for x in inputs]
        found = list(bound(formula, arrays, conventions, dtype))
        if g is not None:
            found += pull_back(formula, arrays, g.numpy(), None, conventions, dtype).values()
        return [(torch.tensor(value), torch.tensor(limit)) for value, limit in found]

    return of


@pytest.fixture
def within() -> Callable[..., bool]:
    """Whether tensors are within the bounds of what is stated."""

    def judge(got: Sequence[Tensor], stated: Sequence[tuple[Tensor, Tensor]]) -> bool:
        assert all(limit.isfinite().all() for _, limit in stated)
        return all(
            bool(((x.double() - value).abs() <= limit).all())
            for x, (value, limit) in zip(got, stated, strict=True)
        )

    return judge


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
def unchecked() -> None:
    """Annotations are not enforced, as for users: what the function itself refuses can be seen."""
    config.update("jaxtyping_disable", True)


@pytest.fixture(autouse=True)
def _compiler_afresh(request: pytest.FixtureRequest) -> None:
    """A compiled test starts from nothing: to Dynamo all annotated functions are one, which it recompiles 8 times only."""
    if request.node.get_closest_marker("compiled"):
        torch.compiler.reset()

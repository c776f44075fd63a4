"""The spread of careful arithmetic by random roundings of each operation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from verify.comparing.noise import Rounding, Spread, in_parts

CPU = torch.device("cpu")


def run(
    call: Callable[..., Tensor],
    arguments: list[Tensor],
    dtype: str = "float32",
    seed: int | None = 0,
    **more: Any,
) -> Tensor:
    """One run under a mode; without a seed nothing is rounded."""
    with in_parts(), Rounding(dtype, seed, CPU, **more), torch.no_grad():
        return call(*arguments)


def spread(
    call: Callable[..., Tensor], arguments: list[Tensor], dtype: str, samples: int
) -> tuple[Tensor, Tensor]:
    """The value, and σ."""
    wide = [x.double() for x in arguments]

    def again(mode: Rounding) -> dict[str, Tensor]:
        with in_parts(), mode, torch.no_grad():
            return {"y": call(*wide)}

    found = Spread(again, again(Rounding(dtype, None, CPU)), dtype, 0)
    found.draw(samples)
    return found.expected["y"], found.sigma("y")


@pytest.mark.parametrize(
    ("dtype", "kept"), [("float32", torch.float32), ("float16", torch.float16), ("bfloat16", torch.bfloat16)]
)
def test_results_lie_on_the_grid_of_the_type_and_what_lies_there_stays(dtype: str, kept: torch.dtype) -> None:
    """A third lies on no such grid: both neighbours come, the nearer more often. A copy rounds nothing."""
    third = torch.full((4096,), 1.0).double()
    got = run(lambda x: x / 3, [third], dtype)
    assert torch.equal(got.to(kept).double(), got)
    assert len(got.unique()) == 2
    assert abs(float(got.mean()) - 1 / 3) < 0.1 * float(got.max() - got.min())
    plain = torch.randn(512).to(kept).double()
    assert torch.equal(run(lambda x: torch.cat([x[::2], x.flip(0).clone()]).relu(), [plain], dtype),
                       torch.cat([plain[::2], plain.flip(0)]).relu())  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        lambda x, w: F.layer_norm(x @ w, (53,)),
        lambda x, w: F.scaled_dot_product_attention(x, x, x @ w @ w.mT),
        lambda x, w: (
            F.gelu(F.conv1d(x[None], w[:, None, :7], padding=3, groups=1)) if len(x) == 1 else F.silu(x @ w)
        ),
        lambda x, w: torch.logsumexp(x @ w, -1),
        lambda x, w: F.cross_entropy(x @ w, torch.arange(len(x)), reduction="none"),
    ],
)
def test_torch_s_own_errors_are_a_few_sigma(call: Callable[..., Tensor]) -> None:
    """In float32 the largest is at least a quarter σ, and at most 8; so with roots of mean squares, within a factor of four."""
    generator = torch.Generator().manual_seed(0)
    arguments = [torch.randn(41, 53, generator=generator), torch.randn(53, 53, generator=generator)]
    value, sigma = spread(call, arguments, "float32", 16)
    error = call(*arguments).double() - value
    assert 0.25 < float((error.abs() / sigma).max()) < 8
    assert 0.25 < math.sqrt(float(error.square().mean() / sigma.square().mean())) < 4


def test_a_sum_of_many_terms_spreads_as_partial_sums_in_a_loop_do() -> None:
    """A plain loop over 1,009 terms in float32 is within a factor of three of what is expected of it."""
    x = torch.rand(64, 1009, generator=torch.Generator().manual_seed(0)) + 0.5
    value, sigma = spread(lambda x: x.sum(-1), [x], "float32", 16)
    total = torch.zeros(64)
    for place in range(x.shape[1]):
        total = total + x[:, place]
    error = math.sqrt(float((total.double() - value).square().mean()))
    assert sigma.mean() / 3 < error < 3 * sigma.mean()


def test_a_type_that_the_computation_holds_itself_is_part_of_the_spread_and_not_of_the_value() -> None:
    """Scores held in half are not in what is expected; their rounding is in σ."""

    def held(x: Tensor) -> Tensor:
        return torch.softmax(x.half(), -1, dtype=torch.float32)

    x = torch.randn(7, 13, generator=torch.Generator().manual_seed(0))
    value, sigma = spread(held, [x], "float32", 16)
    assert torch.allclose(value, torch.softmax(x.double(), -1), rtol=1e-13)
    assert float(sigma.mean()) > 1e3 * float(
        spread(lambda x: torch.softmax(x, -1), [x], "float32", 16)[1].mean()
    )


def test_tf32_rounds_the_factors_of_products() -> None:
    """A product of numbers of 20 digits is exact in float32's σ, and not in TF32's."""
    a = torch.full((3, 1), 1 + 2.0**-11).double()
    exact = run(torch.matmul, [a, a[:1]], seed=None)
    assert torch.allclose(run(torch.matmul, [a, a[:1]]), exact, rtol=1e-6)
    assert float((run(torch.matmul, [a, a[:1]], tf32=True) - exact).abs().max()) > 2.0**-12


def test_an_operation_of_which_nothing_is_known_is_named() -> None:
    """Distances of all pairs are taken for one rounding each, and that is told."""
    mode = Rounding("float32", 0, CPU)
    with in_parts(), mode, torch.no_grad():
        torch.cdist(torch.randn(3, 5).double(), torch.randn(7, 5).double())
    assert mode.unmodelled

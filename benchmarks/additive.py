"""Additive attention's scores, forward and backward, beside the naive split form: time, and peak memory."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.harness import Comparison, Memory, Work, seeded
from impl.scores import additive

D, A = 64, 256  # widths of queries and keys, and of the hidden layer


def entries(quick: bool) -> Iterator[Comparison | Memory]:
    """Scores and the gradients of all their inputs."""
    for n in (256,) if quick else (256, 1024):
        yield Comparison(
            "additive scores, training",
            f"{n}×{n}×{A}",
            blocked(n),
            {"naive": naive(n)},
            1.5,
        )
    n = 256 if quick else 1024
    yield Memory(
        "additive scores, training, peak memory",
        f"{n}×{n}×{A}",
        partial(blocked, n),
        {"naive": partial(naive, n)},
        None if quick else 50.0,
    )


def blocked(n: int) -> Work:
    """Ours: in blocks."""
    return _trained(additive, n)


def naive(n: int) -> Work:
    """The split form as it is usually written, with the hidden layer whole."""
    return _trained(_naive, n)


def _trained(score: Callable[..., Tensor], n: int) -> Work:
    """Scores of n queries against n keys and all gradients, their inputs made beforehand."""
    generator = seeded(n)
    shapes = (n, D), (n, D), (A, 2 * D), (A,)
    inputs = [torch.randn(shape, generator=generator).requires_grad_() for shape in shapes]
    g = torch.randn(n, n, generator=generator)

    def work() -> tuple[Tensor, ...]:
        with torch.enable_grad():
            return torch.autograd.grad(score(*inputs), inputs, g)

    return work


def _naive(q: Tensor, k: Tensor, W: Tensor, v: Tensor) -> Tensor:
    query, key = F.linear(q, W[:, :D]), F.linear(k, W[:, D:])
    return torch.tanh(query[:, None] + key[None]) @ v

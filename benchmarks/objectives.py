"""Cross entropy of a linear layer, both passes, beside the logits held whole and torch's function: time, and peak memory."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.harness import Comparison, Memory, Work, seeded
from impl.objectives import linear_cross_entropy

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
PLACES, WORDS, WIDTH = 4096, 32768, 512
FEW = 256  # places where it has to be quick


def entries(quick: bool) -> Iterator[Comparison | Memory]:
    """The loss and the gradients of both inputs; then the same with 15 % of the places asked, as BERT's training does."""
    T, peers = FEW if quick else PLACES, {"naive": naive}
    if hasattr(F, "linear_cross_entropy"):  # torch 2.11 has none
        peers |= {"torch F.linear_cross_entropy": fused, "torch F.linear_cross_entropy(chunked)": chunked}
    size = f"{T}×{WORDS}×{WIDTH}"
    for share, said in ((1.0, ""), (0.15, ", 15 % asked")):
        yield Comparison(
            f"linear cross entropy, training{said}",
            size,
            ours(T, share),
            {name: peer(T, share) for name, peer in peers.items()},
            {"naive": 1.0},
        )
    yield Memory(
        "linear cross entropy, training, peak memory",
        f"{T}×{WORDS}×{WIDTH}",
        partial(ours, T),
        {name: partial(peer, T) for name, peer in peers.items()},
        None,  # of the naive form's memory an eighth is wanted; torch's parts take less
    )


def ours(T: int, share: float = 1.0) -> Work:
    """Ours: in blocks of rows."""
    return _trained(linear_cross_entropy, T, share)


def naive(T: int, share: float = 1.0) -> Work:
    """The product, then the loss."""
    return _trained(lambda x, W, y: F.cross_entropy(x @ W.mT, y), T, share)


def fused(T: int, share: float = 1.0) -> Work:
    """torch's function as it is called without options."""
    return _trained(F.linear_cross_entropy, T, share)


def chunked(T: int, share: float = 1.0) -> Work:
    """torch's function in parts."""
    options = torch.nn.LinearCrossEntropyOptions()
    return _trained(partial(F.linear_cross_entropy, options=options), T, share)


def _trained(loss: Loss, T: int, share: float) -> Work:
    """The loss and both gradients, their inputs made beforehand."""
    generator = seeded(T)
    x = torch.randn(T, WIDTH, generator=generator).requires_grad_()
    W = (torch.randn(WORDS, WIDTH, generator=generator) / WIDTH**0.5).requires_grad_()
    y = torch.randint(WORDS, (T,), generator=generator)
    y[torch.rand(T, generator=generator) >= share] = -100

    def work() -> tuple[Tensor, ...]:
        with torch.enable_grad():
            return torch.autograd.grad(loss(x, W, y), (x, W))

    return work

"""Twenty kernels: ten right in different ways, ten wrong as kernels are (``python -m tests.verify.comparing.seeds``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Function = Callable[..., Any]


class Kernel(NamedTuple):
    """A candidate, the reference it stands for, what both are called with, and whether it is right."""

    reference: Any
    candidate: Any
    inputs: Function
    right: bool
    init_inputs: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.candidate.__name__)


KERNELS: list[Kernel] = []


def kernel(reference: Any, inputs: Function, right: bool, *init_inputs: Any) -> Callable[[Any], Any]:
    """Add the decorated candidate to the corpus."""

    def add(candidate: Any) -> Any:
        KERNELS.append(Kernel(reference, candidate, inputs, right, init_inputs))
        return candidate

    return add


# References -------------------------------------------------------------------------------------------------------------


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention as on paper."""
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention to no later key."""
    hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
    return torch.softmax((q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf), -1) @ v


def softmax(x: Tensor) -> Tensor:
    """A softmax over rows."""
    return torch.softmax(x, -1)


def log_sum_exp(x: Tensor) -> Tensor:
    """The logarithm of a sum of exponentials."""
    return torch.logsumexp(x, -1)


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """A layer norm."""
    return F.layer_norm(x, x.shape[-1:], gamma, beta, 1e-5)


def rms_norm(x: Tensor, gamma: Tensor) -> Tensor:
    """An RMS norm."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gamma


def product(a: Tensor, b: Tensor) -> Tensor:
    """A product of matrices."""
    return a @ b


class Network(nn.Module):
    """Two layers with GELU."""

    def __init__(self, d: int, f: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(d, f), nn.Linear(f, d)

    def forward(self, x: Tensor) -> Tensor:
        """The network."""
        return self.outer(F.gelu(self.inner(x)))


def rows(n: int = 37, d: int = 96) -> list[Tensor]:
    """Rows."""
    return [torch.randn(n, d)]


def normed(n: int = 37, d: int = 96) -> list[Tensor]:
    """Rows, a gain and a bias."""
    return [torch.randn(n, d), 1 + 0.1 * torch.randn(d), torch.randn(d)]


def gained(n: int = 37, d: int = 96) -> list[Tensor]:
    """Rows and a gain."""
    return [torch.randn(n, d), 1 + 0.1 * torch.randn(d)]


def heads(n: int = 64, m: int = 96, d: int = 32) -> list[Tensor]:
    """Queries, keys and values."""
    return [torch.randn(3, n, d), torch.randn(3, m, d), torch.randn(3, m, d)]


def texts(n: int = 64, d: int = 32) -> list[Tensor]:
    """Queries, keys and values of one text."""
    return [torch.randn(3, n, d) for _ in range(3)]


def matrices(n: int = 48, k: int = 160, m: int = 32) -> list[Tensor]:
    """Two matrices."""
    return [torch.randn(n, k), torch.randn(k, m)]


def streamed(q: Tensor, k: Tensor, v: Tensor, kept: torch.dtype = torch.float32, block: int = 32) -> Tensor:
    """Attention block by block with a running maximum; the running numbers are held in a type."""
    top = q.new_full((*q.shape[:-1], 1), -math.inf)
    total, out = torch.zeros_like(top), torch.zeros(*q.shape[:-1], v.shape[-1])
    for begin in range(0, k.shape[-2], block):
        scores = q @ k[..., begin : begin + block, :].mT / math.sqrt(q.shape[-1])
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        weights, old = torch.exp(scores - new), torch.exp(top - new)
        total = (total * old + weights.sum(-1, keepdim=True)).to(kept).float()
        out = (out * old + weights @ v[..., begin : begin + block, :]).to(kept).float()
        top = new
    return out / total


# Right ------------------------------------------------------------------------------------------------------------------


@kernel(attention, heads, True)
def fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Torch's fused attention."""
    return F.scaled_dot_product_attention(q, k, v)


@kernel(attention, heads, True)
def streamed_in_float32(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The softmax in one pass over blocks."""
    return streamed(q, k, v)


@kernel(layer_norm, normed, True)
def two_passes(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Mean first, then the variance about it."""
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5) * gamma + beta


@kernel(layer_norm, normed, True)
def welford(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Mean and variance updated entry by entry."""
    mean, spread = x[..., :1].clone(), torch.zeros_like(x[..., :1])
    for place in range(1, x.shape[-1]):
        entry = x[..., place : place + 1]
        off = entry - mean
        mean = mean + off / (place + 1)
        spread = spread + off * (entry - mean)
    return (x - mean) / torch.sqrt(spread / x.shape[-1] + 1e-5) * gamma + beta


@kernel(product, matrices, True)
def split_sum(a: Tensor, b: Tensor) -> Tensor:
    """The product as a sum over parts of its terms."""
    parts = range(0, a.shape[1], 32)
    return torch.stack([a[:, i : i + 32] @ b[i : i + 32] for i in parts]).sum(0)


@kernel(log_sum_exp, rows, True)
def in_chunks(x: Tensor) -> Tensor:
    """Log-sum-exps of chunks, joined by one of them."""
    return torch.logsumexp(torch.stack([torch.logsumexp(part, -1) for part in x.split(16, -1)]), 0)


@kernel(product, matrices, True)
def transposed(a: Tensor, b: Tensor) -> Tensor:
    """The other way round, from contiguous copies."""
    return (b.mT.contiguous() @ a.mT.contiguous()).mT


@kernel(softmax, rows, True)
def in_place(x: Tensor) -> Tensor:
    """On a buffer of its own, in place."""
    out = torch.empty_like(x).copy_(x)
    out.sub_(out.amax(-1, keepdim=True)).exp_()
    return out.div_(out.sum(-1, keepdim=True))


@kernel(Network, lambda n=37: [torch.randn(n, 24)], True, 24, 53)
class Compiled(Network):
    """Traced by torch.compile."""

    def __init__(self, d: int, f: int) -> None:
        super().__init__(d, f)
        self.traced = torch.compile(super().forward, backend="aot_eager", dynamic=True)

    def forward(self, x: Tensor) -> Tensor:
        """The network."""
        return self.traced(x)


@kernel(rms_norm, gained, True)
def wide_inside(x: Tensor, gamma: Tensor) -> Tensor:
    """In float64 inside: more accurate than any reference in float32."""
    wide = x.double()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5) * gamma).to(x.dtype)


# Wrong ------------------------------------------------------------------------------------------------------------------


@kernel(softmax, lambda n=37, d=2048: [torch.randn(n, d)], False)
def zeros(x: Tensor) -> Tensor:
    """Zeros, which are near the shares of a long row."""
    return torch.zeros_like(x)


@kernel(attention, heads, False)
def streamed_in_half(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The running sums held in float16."""
    return streamed(q, k, v, torch.float16)


@kernel(layer_norm, normed, False)
def statistics_in_bfloat16(x: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    """Mean and variance held in bfloat16."""
    mean = x.mean(-1, keepdim=True).bfloat16().float()
    variance = (x - mean).square().mean(-1, keepdim=True).bfloat16().float()
    return (x - mean) * torch.rsqrt(variance + 1e-5) * gamma + beta


@kernel(softmax, lambda n=37, d=128: [torch.randn(n, d)], False)
def last_block_lost(x: Tensor) -> Tensor:
    """Only whole blocks of 16 columns are written; the rest of a row is as the input."""
    whole = x.shape[-1] // 16 * 16
    return torch.cat([torch.softmax(x, -1)[..., :whole], x[..., whole:]], -1)


@kernel(rms_norm, lambda n=37, d=128: gained(n, d), False)
def padding_counted(x: Tensor, gamma: Tensor) -> Tensor:
    """The mean of squares over whole blocks of 32: the zeros that pad the last count as entries."""
    counted = -(-x.shape[-1] // 32) * 32
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) / counted + 1e-5) * gamma


_kept: dict[Any, Tensor] = {}


@kernel(softmax, rows, False)
def buffer_kept(x: Tensor) -> Tensor:
    """The same memory is returned by every call."""
    out = _kept.setdefault(tuple(x.shape), torch.empty(x.shape))
    return out.copy_(torch.softmax(x, -1))


@kernel(softmax, rows, False)
def input_written(x: Tensor) -> Tensor:
    """Computed where the input lies."""
    x.sub_(x.amax(-1, keepdim=True)).exp_()
    return x / x.sum(-1, keepdim=True)


@kernel(product, matrices, False)
class RightAtFirst(nn.Module):
    """After sixty calls the first result is returned again."""

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.first = 0, torch.empty(0)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """A product, at first."""
        self.calls += 1
        if self.calls == 1:
            self.first = a @ b
        return a @ b if self.calls < 60 or self.first.shape != (len(a), b.shape[1]) else self.first.clone()


@kernel(Network, lambda n=37: [torch.randn(n, 24)], False, 24, 53)
class WeightsInBfloat16(Network):
    """The weights are rounded to bfloat16."""

    def forward(self, x: Tensor) -> Tensor:
        """The network."""
        return F.linear(F.gelu(self.inner(x)), self.outer.weight.bfloat16().float(), self.outer.bias)


@kernel(causal, texts, False)
def mask_off_by_one(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The next key may be seen too."""
    hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(2)
    return torch.softmax((q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hidden, -math.inf), -1) @ v

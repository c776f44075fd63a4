"""Variants of ``bert.pooler``."""

import torch.nn.functional as F
from torch import Tensor

from verify.mutants import right, wrong

POOLER = "bert.pooler"


@wrong(POOLER)
def pooled_without_tanh(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """Forgets the tanh."""
    return F.linear(x[..., 0, :], W.mT, b)


@wrong(POOLER)
def last_token_pooled(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """Reads the last token."""
    return F.linear(x[..., -1, :], W.mT, b).tanh()


@wrong(POOLER)
def second_token_pooled(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """Counts tokens from 1, where there is a second."""
    return F.linear(x[..., min(1, x.shape[-2] - 1), :], W.mT, b).tanh()


@wrong(POOLER)
def mean_pooled(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """The mean of all tokens."""
    return F.linear(x.mean(-2), W.mT, b).tanh()


@wrong(POOLER)
def largest_pooled(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """The largest entry over all tokens."""
    return F.linear(x.amax(-2), W.mT, b).tanh()


@wrong(POOLER)
def pooled_untransposed(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """The matrix transposed: being square, it does not show."""
    return F.linear(x[..., 0, :], W, b).tanh()


@wrong(POOLER)
def pooled_without_bias(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """Forgets the bias."""
    return F.linear(x[..., 0, :], W.mT, 0 * b).tanh()


@wrong(POOLER)
def tanh_before_the_layer(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """The tanh of the row, not of the layer."""
    return F.linear(x[..., 0, :].tanh(), W.mT, b)


@wrong(POOLER)
def pooled_by_gelu(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """GELU in the place of tanh."""
    return F.gelu(F.linear(x[..., 0, :], W.mT, b))


@wrong(POOLER)
def pooled_detached(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """No gradient reaches the hidden states."""
    return F.linear(x[..., 0, :].detach(), W.mT, b).tanh() + 0 * x[..., 0, :]


@right(POOLER)
def pooled_by_products(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """The products written out, and their sum over the entries of the row."""
    return ((x[..., 0, :, None] * W).sum(-2) + b).tanh()


@right(POOLER)
def pooled_everywhere(x: Tensor, W: Tensor, b: Tensor) -> Tensor:
    """Every token through the layer, then the first."""
    return F.linear(x, W.mT, b).tanh()[..., 0, :]

"""Variants of ``attention.hard``."""

import math

import torch
from torch import Generator, Tensor

from verify.mutants import right, wrong
from verify.mutants.attention import blank, blank_queries, masked, raw

HARD = "attention.hard"
Pair = tuple[Tensor, Tensor]


def weights(q: Tensor, k: Tensor, mask: Tensor | None, scale: float = 1.0) -> Tensor:
    """The attention weights; rows of 0 where nothing is permitted."""
    return masked(raw(blank_queries(q, mask), blank(k, mask)) * scale, mask)


def drawn(a: Tensor, u: Tensor) -> Tensor:
    """The index that a uniform number picks from rows of weights, right: the first whose running sum exceeds it."""
    total = a.double().cumsum(-1)
    index = (total > u[..., None] * total[..., -1:]).int().argmax(-1)
    return torch.where(total[..., -1] > 0, index, -1)


def uniform(a: Tensor, generator: Generator) -> Tensor:
    """A uniform number for each row."""
    return torch.rand(a.shape[:-1], generator=generator, dtype=torch.float64)


def read(v: Tensor, index: Tensor) -> Tensor:
    """The values at the indices, 0 where the index is −1."""
    at = index.clamp(min=0)[..., None].expand(*index.shape, v.shape[-1])
    z = torch.gather(v.expand(*index.shape[:-1], *v.shape[-2:]), -2, at)
    return torch.where(index[..., None] < 0, 0.0, z)


def looked(v: Tensor, index: Tensor) -> Pair:
    """What is returned for these indices."""
    return read(v, index), index


@wrong(HARD)
def likeliest(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Takes the key of largest weight instead of drawing one."""
    a = weights(q, k, mask)
    return looked(v, torch.where(a.sum(-1) > 0, a.argmax(-1), -1))


@wrong(HARD)
def alike(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Draws among the permitted keys without regard to their weights."""
    a = weights(q, k, mask)
    return looked(v, drawn((a > 0).to(a), uniform(a, generator)))


@wrong(HARD)
def from_scores(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Draws in proportion to the scores (moved above 0), not to their exponentials."""
    s = raw(q, k)
    s = s - s.amin(-1, keepdim=True) + 1e-3
    s = s if mask is None else s * mask
    return looked(v, drawn(s, uniform(s, generator)))


@wrong(HARD)
def one_number(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """One uniform number for all queries: each draw is right, all depend on one another."""
    a = weights(q, k, mask)
    u = torch.rand((), generator=generator, dtype=torch.float64)
    return looked(v, drawn(a, u.expand(a.shape[:-1])))


@wrong(HARD)
def one_number_for_a_batch(
    q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None
) -> Pair:
    """The members of a batch share their uniform numbers."""
    a = weights(q, k, mask)
    u = torch.rand(a.shape[-2], generator=generator, dtype=torch.float64)
    return looked(v, drawn(a, u.expand(a.shape[:-1])))


@wrong(HARD)
def antithetic(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Every other query uses 1 − u of its neighbour: less variance, no independence."""
    a = weights(q, k, mask)
    u = uniform(a, generator)
    count = u.shape[-1] // 2
    u[..., 1 : 2 * count : 2] = 1 - u[..., 0 : 2 * count : 2]
    return looked(v, drawn(a, u))


@wrong(HARD)
def own_randomness(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Ignores the generator and draws from the global one."""
    a = weights(q, k, mask)
    return looked(v, drawn(a, torch.rand(a.shape[:-1], dtype=torch.float64)))


@wrong(HARD)
def same_every_time(
    q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None
) -> Pair:
    """Draws from a copy of the generator, whose own state never advances."""
    a = weights(q, k, mask)
    copy = Generator().manual_seed(generator.initial_seed())
    return looked(v, drawn(a, uniform(a, copy)))


@wrong(HARD)
def warm(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Draws at temperature 2."""
    a = weights(q, k, mask, 0.5)
    return looked(v, drawn(a, uniform(a, generator)))


@wrong(HARD)
def unscaled(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Forgets 1/√d_k."""
    a = weights(q, k, mask, math.sqrt(q.shape[-1]))
    return looked(v, drawn(a, uniform(a, generator)))


@wrong(HARD)
def maskless(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Takes the mask and does not look at it."""
    a = weights(q, k, None)
    return looked(v, drawn(a, uniform(a, generator)))


@wrong(HARD)
def one_too_far(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Counts the keys from 1: the context is right, the index is that of the next key."""
    a = weights(q, k, mask)
    index = drawn(a, uniform(a, generator))
    return read(v, index), torch.where(index < 0, -1, index + 1)


@wrong(HARD)
def soft_context(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Returns the weighted mean beside the index drawn."""
    a = weights(q, k, mask)
    return a @ blank(v, mask), drawn(a, uniform(a, generator))


@wrong(HARD)
def drawn_twice(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Draws once for the context and once more for the index."""
    a = weights(q, k, mask)
    z = read(v, drawn(a, uniform(a, generator)))
    return z, drawn(a, uniform(a, generator))


@wrong(HARD)
def normal_noise(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Adds normal noise to the scores where Gumbel noise belongs."""
    s = raw(q, k)
    s = s + torch.randn(s.shape, generator=generator, dtype=s.dtype) * math.pi / math.sqrt(6)
    s = s if mask is None else s.masked_fill(~mask, -math.inf)
    return looked(v, torch.where(s.isneginf().all(-1), -1, s.argmax(-1)))


@wrong(HARD)
def first_key_for_none(
    q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None
) -> Pair:
    """A query that may attend to nothing gets the first key."""
    a = weights(q, k, mask)
    return looked(v, drawn(a, uniform(a, generator)).clamp(min=0))


@wrong(HARD)
def value_scaled(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Weighs the value that was drawn by its weight, too."""
    a = weights(q, k, mask)
    index = drawn(a, uniform(a, generator))
    share = torch.gather(a, -1, index.clamp(min=0)[..., None])
    return read(v, index) * share, index


@wrong(HARD)
def without_shift(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Exponentiates the scores as they are: large ones overflow."""
    e = raw(blank_queries(q, mask), blank(k, mask)).exp()
    e = e if mask is None else e * mask
    return looked(v, drawn(e, uniform(e, generator)))


@wrong(HARD)
def finite_filler(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Fills scores that are masked with −10⁹: where the others lie below, a masked key is drawn."""
    s = raw(blank_queries(q, mask), blank(k, mask))
    if mask is not None:
        s = torch.where(mask | ~mask.any(-1, keepdim=True), s, -1e9)
    a = s.softmax(-1) if mask is None else s.softmax(-1) * mask.any(-1, keepdim=True)
    return looked(v, drawn(a, uniform(a, generator)))


@wrong(HARD)
def first_256(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Looks at the first 256 keys only."""
    a = weights(q, k[..., :256, :], None if mask is None else mask[..., :256])
    return looked(v, drawn(a, uniform(a, generator)))


@wrong(HARD)
def value_detached(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """Passes no gradient to the value that was drawn."""
    a = weights(q, k, mask)
    return looked(v.detach(), drawn(a, uniform(a, generator)))


@wrong(HARD)
def value_of_a_mean_learns(
    q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None
) -> Pair:
    """Straight through: the value that was drawn forward, the gradient of the soft mean backward."""
    a = weights(q, k, mask)
    z, index = looked(v, drawn(a, uniform(a, generator)))
    soft = a @ torch.where(a.sum(-2)[..., None] > 0, v, 0.0)
    return z.detach() + (soft - soft.detach()), index


@wrong(HARD)
def gradient_of_each_key_once(
    q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None
) -> Pair:
    """A value that several queries drew gets their mean gradient, not the sum."""
    a = weights(q, k, mask)
    z, index = looked(v, drawn(a, uniform(a, generator)))
    keys = torch.zeros((*a.shape[:-2], a.shape[-1] + 1), dtype=index.dtype).scatter_add(
        -1, index + 1, torch.ones_like(index)
    )
    return z.detach() + (z - z.detach()) / keys.gather(-1, index + 1)[..., None], index


@right(HARD)
def by_gumbel(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """The largest score plus Gumbel noise."""
    s = raw(blank_queries(q, mask), blank(k, mask)).double()
    u = torch.rand(s.shape, generator=generator, dtype=torch.float64).clamp_min(1e-300)
    noisy = s - torch.log(-torch.log(u))
    noisy = noisy if mask is None else noisy.masked_fill(~mask, -math.inf)
    return looked(v, torch.where(noisy.isneginf().all(-1), -1, noisy.argmax(-1)))


@right(HARD)
def by_multinomial(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Pair:
    """torch.multinomial over the rows that have a permitted key."""
    a = weights(q, k, mask)
    some = a.sum(-1) > 0
    safe = torch.where(some[..., None], a, torch.ones_like(a))
    index = torch.multinomial(safe.flatten(0, -2), 1, replacement=True, generator=generator)
    return looked(v, torch.where(some, index.reshape(some.shape), -1))


@right(HARD)
def by_running_sums(
    q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None
) -> Pair:
    """The first running sum of the weights above a uniform number."""
    a = weights(q, k, mask)
    return looked(v, drawn(a, uniform(a, generator)))

"""Variants of ``attention.hard``."""

import math

import torch
from torch import Generator

from tests.mutants import right, wrong
from tests.mutants.attention import blank, blank_queries, masked, raw, times

HARD = "attention.hard"
SHARES = "(index|even|likely).* expected"
"""What a headline says of shares that are off: how often something was drawn, and how often it is expected."""


def weights(q, k, mask, scale=1.0):
    """The attention weights; rows of 0 where nothing is permitted."""
    return masked(raw(blank_queries(q, mask), blank(k, mask)) * scale, mask)


def drawn(a, u):
    """The index that a uniform number picks from rows of weights, right: the first whose running sum exceeds it."""
    total = a.double().cumsum(-1)
    index = (total > u[..., None] * total[..., -1:]).int().argmax(-1)
    return torch.where(total[..., -1] > 0, index, -1)


def uniform(a, generator):
    """A uniform number for each row."""
    return torch.rand(a.shape[:-1], generator=generator, dtype=torch.float64)


def read(v, index):
    """The values at the indices, 0 where the index is −1."""
    at = index.clamp(min=0)[..., None].expand(*index.shape, v.shape[-1])
    z = torch.gather(v.expand(*index.shape[:-1], *v.shape[-2:]), -2, at)
    return torch.where(index[..., None] < 0, 0.0, z)


def looked(v, index):
    """What is returned for these indices."""
    return read(v, index), index


def hard(
    weigh=weights,
    number=uniform,
    pick=drawn,
    found=lambda a, v, index: looked(v, index),
):
    """Hard attention, right but for its weights, the random numbers, the index they pick, or what is returned for it."""

    def attend(q, k, v, generator, mask=None):
        a = weigh(q, k, mask)
        return found(a, v, pick(a, number(a, generator)))

    return attend


def fewer_numbers(a, generator, shape):
    """Uniform numbers of a smaller shape, shared."""
    return torch.rand(shape, generator=generator, dtype=torch.float64).expand(a.shape[:-1])


wrong(
    HARD, "likeliest", "Takes the key of largest weight instead of drawing one.", cause="another seed gave"
)(hard(number=lambda a, _: a.argmax(-1), pick=lambda a, best: torch.where(a.sum(-1) > 0, best, -1)))
wrong(HARD, "alike", "Draws among the permitted keys without regard to their weights.", cause=SHARES)(
    hard(pick=lambda a, u: drawn((a > 0).to(a), u))
)


@wrong(HARD, via=hard, cause=SHARES)
def from_scores(q, k, mask):
    """Draws in proportion to the scores (moved above 0), not to their exponentials."""
    s = raw(q, k)
    return times(s - s.amin(-1, keepdim=True) + 1e-3, mask)


wrong(
    HARD,
    "one_number",
    "One uniform number for all queries: each draw is right, all depend on one another.",
    cause="not drawn independently",
)(hard(number=lambda a, generator: fewer_numbers(a, generator, ())))
wrong(HARD, "one_number_for_a_batch", "The members of a batch share their uniform numbers.", cause="members")(
    hard(number=lambda a, generator: fewer_numbers(a, generator, a.shape[-2]))
)


@wrong(HARD, via=lambda step: hard(number=step), cause="not drawn independently")
def antithetic(a, generator):
    """Every other query uses 1 − u of its neighbour: less variance, no independence."""
    u, count = uniform(a, generator), a.shape[-2] // 2
    u[..., 1 : 2 * count : 2] = 1 - u[..., 0 : 2 * count : 2]
    return u


wrong(
    HARD,
    "own_randomness",
    "Ignores the generator and draws from the global one.",
    cause="global random state|same seed gave another",
)(hard(number=lambda a, generator: torch.rand(a.shape[:-1], dtype=torch.float64)))
wrong(
    HARD,
    "same_every_time",
    "Draws from a copy of the generator, whose own state never advances.",
    cause="a second call with the same generator",
)(hard(number=lambda a, generator: uniform(a, Generator().manual_seed(generator.initial_seed()))))
wrong(HARD, "warm", "Draws at temperature 2.", cause=SHARES)(
    hard(lambda q, k, mask: weights(q, k, mask, 0.5))
)
wrong(HARD, "unscaled", "Forgets 1/√d_k.", cause=SHARES)(
    hard(lambda q, k, mask: weights(q, k, mask, math.sqrt(q.shape[-1])))
)
wrong(HARD, "maskless", "Takes the mask and does not look at it.", cause="that of a permitted key")(
    hard(lambda q, k, mask: weights(q, k, None))
)
wrong(
    HARD,
    "one_too_far",
    "Counts the keys from 1: the context is right, the index is that of the next key.",
    cause="the index is that|value at the index",
)(hard(found=lambda a, v, index: (read(v, index), torch.where(index < 0, -1, index + 1))))


@wrong(HARD, cause="context is the value")
def soft_context(q, k, v, generator, mask=None):
    """Returns the weighted mean beside the index drawn."""
    a = weights(q, k, mask)
    return a @ blank(v, mask), drawn(a, uniform(a, generator))


@wrong(HARD, cause="context is the value")
def drawn_twice(q, k, v, generator, mask=None):
    """Draws once for the context and once more for the index."""
    a = weights(q, k, mask)
    z = read(v, drawn(a, uniform(a, generator)))
    return z, drawn(a, uniform(a, generator))


@wrong(HARD, cause=SHARES)
def normal_noise(q, k, v, generator, mask=None):
    """Adds normal noise to the scores where Gumbel noise belongs."""
    s = raw(q, k)
    s = s + torch.randn(s.shape, generator=generator, dtype=s.dtype) * math.pi / math.sqrt(6)
    s = s if mask is None else s.masked_fill(~mask, -math.inf)
    return looked(v, torch.where(s.isneginf().all(-1), -1, s.argmax(-1)))


wrong(HARD, "first_key_for_none", "A query that may attend to nothing gets the first key.", cause="−1 where")(
    hard(pick=lambda a, u: drawn(a, u).clamp(min=0))
)


@wrong(HARD, via=lambda step: hard(found=step), cause="context is the value")
def value_scaled(a, v, index):
    """Weighs the value that was drawn by its weight, too."""
    return read(v, index) * torch.gather(a, -1, index.clamp(min=0)[..., None]), index


wrong(
    HARD,
    "without_shift",
    "Exponentiates the scores as they are: large ones overflow.",
    cause="overflow|huge inputs",
)(hard(lambda q, k, mask: times(raw(blank_queries(q, mask), blank(k, mask)).exp(), mask)))


@wrong(HARD, via=hard, cause="that of a permitted key|finite number")
def finite_filler(q, k, mask):
    """Fills with −10⁹: where the other scores lie below, a masked key is drawn."""
    s = raw(blank_queries(q, mask), blank(k, mask))
    if mask is None:
        return s.softmax(-1)
    some = mask.any(-1, keepdim=True)
    return torch.where(mask | ~some, s, -1e9).softmax(-1) * some


wrong(HARD, "first_256", "Looks at the first 256 keys only.", cause="never drawn")(
    hard(lambda q, k, mask: weights(q, k[..., :256, :], None if mask is None else mask[..., :256]))
)
wrong(HARD, "value_detached", "Passes no gradient to the value that was drawn.", cause=r"reaches v\b")(
    hard(found=lambda a, v, index: looked(v.detach(), index))
)


@wrong(HARD, via=lambda step: hard(found=step), cause="gradient .*(soft|mean)|gradient of v")
def value_of_a_mean_learns(a, v, index):
    """Straight through: the gradient is that of the soft mean."""
    soft = a @ torch.where(a.sum(-2)[..., None] > 0, v, 0.0)
    return read(v, index).detach() + (soft - soft.detach()), index


@wrong(HARD, via=lambda step: hard(found=step), cause="gradient .*(once|often|mean)|gradient of v")
def gradient_of_each_key_once(a, v, index):
    """A value that several queries drew gets their mean gradient."""
    z, keys = read(v, index), torch.zeros((*a.shape[:-2], a.shape[-1] + 1), dtype=index.dtype)
    keys = keys.scatter_add(-1, index + 1, torch.ones_like(index))
    return z.detach() + (z - z.detach()) / keys.gather(-1, index + 1)[..., None], index


@right(HARD)
def by_gumbel(q, k, v, generator, mask=None):
    """The largest score plus Gumbel noise."""
    s = raw(blank_queries(q, mask), blank(k, mask)).double()
    u = torch.rand(s.shape, generator=generator, dtype=torch.float64).clamp_min(1e-300)
    noisy = s - torch.log(-torch.log(u))
    noisy = noisy if mask is None else noisy.masked_fill(~mask, -math.inf)
    return looked(v, torch.where(noisy.isneginf().all(-1), -1, noisy.argmax(-1)))


@right(HARD)
def by_multinomial(q, k, v, generator, mask=None):
    """torch.multinomial over the rows that have a permitted key."""
    a = weights(q, k, mask)
    some = a.sum(-1) > 0
    safe = torch.where(some[..., None], a, torch.ones_like(a))
    index = torch.multinomial(safe.flatten(0, -2), 1, replacement=True, generator=generator)
    return looked(v, torch.where(some, index.reshape(some.shape), -1))


right(HARD, "by_running_sums", "The first running sum of the weights above a uniform number.")(hard())

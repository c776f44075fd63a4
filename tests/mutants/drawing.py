"""Variants of ``decoding.sample``: one plain way of drawing in which every mistake is a change of a step."""

import torch

from tests.mutants import right, wrong

SAMPLE = "decoding.sample"


def ranked(z):
    """Values from the largest down, of equal ones the first first; and where they stood."""
    return torch.sort(z.double(), dim=-1, descending=True, stable=True)


def nucleus(share, p, whole=True):
    """Ranked probabilities cut to the nucleus: with its last member, or (``whole`` False) before it."""
    total = share.cumsum(-1)
    inside = total - share < p if whole else total <= p
    return torch.where(inside, share, 0.0)


def drawn(share, token, generator):
    """A token for each row of ranked probabilities, which need not sum to 1."""
    total = share.cumsum(-1)
    u = torch.rand(total.shape[:-1], generator=generator, dtype=torch.float64)[..., None] * total[..., -1:]
    at = (total > u).int().argmax(-1, keepdim=True)
    return token.gather(-1, at)[..., 0]


def shares(x, T, k):
    """Ranked probabilities of the k likeliest at the temperature, and the tokens."""
    z, token = ranked(x.double() / T)
    return torch.softmax(z[..., :k], -1), token


@right(SAMPLE)
def step_by_step(x, T, k, p, generator):
    """Right: ranks, cuts, cuts again, draws."""
    share, token = shares(x, T, k)
    return drawn(nucleus(share, p), token, generator)


@right(SAMPLE)
def gumbel(x, T, k, p, generator):
    """Right: the largest of logits with Gumbel noise, over what is left."""
    share, token = shares(x, T, k)
    left = nucleus(share, p).log()
    noise = -(-torch.rand(left.shape, generator=generator, dtype=torch.float64).log()).log()
    return token.gather(-1, (left + noise).argmax(-1, keepdim=True))[..., 0]


@wrong(SAMPLE)
def never_cold(x, T, k, p, generator):
    """Takes no temperature below 0.01, lest anything be divided by 0."""
    share, token = shares(x, max(T, 0.01), k)
    return drawn(nucleus(share, p), token, generator)


@wrong(SAMPLE)
def never_hot(x, T, k, p, generator):
    """Takes no temperature above 20."""
    share, token = shares(x, min(T, 20.0), k)
    return drawn(nucleus(share, p), token, generator)


@wrong(SAMPLE)
def cut_before_last(x, T, k, p, generator):
    """The nucleus ends before the token that reaches p; the likeliest always stays."""
    share, token = shares(x, T, k)
    left = nucleus(share, p, whole=False)
    left[..., 0] = share[..., 0]
    return drawn(left, token, generator)


@wrong(SAMPLE)
def one_beyond(x, T, k, p, generator):
    """The nucleus has one token more than it takes to reach p."""
    share, token = shares(x, T, k)
    inside = nucleus(share, p) > 0
    inside[..., 1:] |= inside[..., :-1].clone()
    return drawn(torch.where(inside, share, 0.0), token, generator)


@wrong(SAMPLE)
def temperature_last(x, T, k, p, generator):
    """The temperature comes after top-k and nucleus, which are those of T = 1."""
    z, token = ranked(x)
    left = nucleus(torch.softmax(z[..., :k], -1), p)
    warm = torch.where(left > 0, (z[..., :k] / T).softmax(-1), 0.0)
    return drawn(warm, token, generator)


@wrong(SAMPLE)
def temperature_inverted(x, T, k, p, generator):
    """Logits are multiplied by the temperature."""
    share, token = shares(x, 1 / T, k)
    return drawn(nucleus(share, p), token, generator)


@wrong(SAMPLE)
def one_more(x, T, k, p, generator):
    """k + 1 tokens are kept."""
    share, token = shares(x, T, k + 1)
    return drawn(nucleus(share, p), token, generator)


@wrong(SAMPLE)
def one_fewer(x, T, k, p, generator):
    """k − 1 tokens are kept, one at least."""
    share, token = shares(x, T, max(1, k - 1))
    return drawn(nucleus(share, p), token, generator)


@wrong(SAMPLE)
def ties_kept(x, T, k, p, generator):
    """Whatever is as likely as the k-th stays, too."""
    z, token = ranked(x.double() / T)
    last = z[..., min(k, z.shape[-1]) - 1, None]
    share = torch.softmax(z.masked_fill(z < last, -torch.inf), -1)
    return drawn(nucleus(share, p), token, generator)


@wrong(SAMPLE)
def nucleus_of_all(x, T, k, p, generator):
    """The nucleus is that of the whole distribution, taken before the k likeliest are."""
    z, token = ranked(x.double() / T)
    left = nucleus(torch.softmax(z, -1), p)[..., :k]
    return drawn(left, token, generator)


@wrong(SAMPLE)
def likeliest(x, T, k, p, generator):
    """Takes the likeliest token instead of drawing one."""
    torch.rand(x.shape[:-1], generator=generator)
    return x.argmax(-1)


@wrong(SAMPLE)
def uniform_within(x, T, k, p, generator):
    """Draws alike among the tokens that are left."""
    share, token = shares(x, T, k)
    return drawn((nucleus(share, p) > 0).double(), token, generator)


@wrong(SAMPLE)
def one_number(x, T, k, p, generator):
    """One random number for all positions, so that they move together."""
    share, token = shares(x, T, k)
    left = nucleus(share, p)
    total = left.cumsum(-1)
    u = torch.rand((), generator=generator, dtype=torch.float64) * total[..., -1:]
    return token.gather(-1, (total > u).int().argmax(-1, keepdim=True))[..., 0]


@wrong(SAMPLE)
def global_generator(x, T, k, p, generator):
    """Draws from the global random state, not from the generator passed."""
    share, token = shares(x, T, k)
    left = nucleus(share, p)
    at = torch.multinomial(left.reshape(-1, left.shape[-1]), 1).reshape(*left.shape[:-1], 1)
    return token.gather(-1, at)[..., 0]

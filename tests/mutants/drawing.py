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


def sample(temperature=lambda T: T, count=lambda k: k, cut=nucleus):
    """A token for each row, right but for the temperature, how many are kept, or the nucleus."""

    def draw(x, T, k, p, generator):
        share, token = shares(x, temperature(T), count(k))
        return drawn(cut(share, p), token, generator)

    return draw


right(SAMPLE, "step_by_step", "Right: ranks, cuts, cuts again, draws.")(sample())


@right(SAMPLE)
def gumbel(x, T, k, p, generator):
    """Right: the largest of logits with Gumbel noise, over what is left."""
    share, token = shares(x, T, k)
    left = nucleus(share, p).log()
    noise = -(-torch.rand(left.shape, generator=generator, dtype=torch.float64).log()).log()
    return token.gather(-1, (left + noise).argmax(-1, keepdim=True))[..., 0]


wrong(
    SAMPLE,
    "never_cold",
    "Takes no temperature below 0.01, lest anything be divided by 0.",
    cause="small numbers|temperature",
)(sample(lambda T: max(T, 0.01)))
wrong(SAMPLE, "never_hot", "Takes no temperature above 20.", cause="large numbers|temperature")(
    sample(lambda T: min(T, 20.0))
)


@wrong(SAMPLE, via=lambda step: sample(cut=step), cause="never drawn|nucleus")
def cut_before_last(share, p):
    """The nucleus ends before the token that reaches p, if not the likeliest."""
    left = nucleus(share, p, whole=False)
    left[..., 0] = share[..., 0]
    return left


@wrong(SAMPLE, via=lambda step: sample(cut=step), cause="gives this probability 0|nucleus")
def one_beyond(share, p):
    """The nucleus has one token more than it takes to reach p."""
    inside = nucleus(share, p) > 0
    inside[..., 1:] |= inside[..., :-1].clone()
    return torch.where(inside, share, 0.0)


@wrong(SAMPLE, cause="gives this probability 0|never drawn|temperature")
def temperature_last(x, T, k, p, generator):
    """The temperature comes after top-k and nucleus, which are those of T = 1."""
    z, token = ranked(x)
    left = nucleus(torch.softmax(z[..., :k], -1), p)
    warm = torch.where(left > 0, (z[..., :k] / T).softmax(-1), 0.0)
    return drawn(warm, token, generator)


wrong(
    SAMPLE,
    "temperature_inverted",
    "Logits are multiplied by the temperature.",
    cause="temperature|(small|large) numbers",
)(sample(lambda T: 1 / T))
wrong(SAMPLE, "one_more", "k + 1 tokens are kept.", cause=r"gives this probability 0|k \+ 1")(
    sample(count=lambda k: k + 1)
)
wrong(SAMPLE, "one_fewer", "k − 1 tokens are kept, one at least.", cause="never drawn|k − 1")(
    sample(count=lambda k: max(1, k - 1))
)


@wrong(SAMPLE, cause=r"inputs are equal|\balike:")
def ties_kept(x, T, k, p, generator):
    """Whatever is as likely as the k-th stays, too."""
    z, token = ranked(x.double() / T)
    last = z[..., min(k, z.shape[-1]) - 1, None]
    share = torch.softmax(z.masked_fill(z < last, -torch.inf), -1)
    return drawn(nucleus(share, p), token, generator)


@wrong(SAMPLE, cause="gives this probability 0|nucleus")
def nucleus_of_all(x, T, k, p, generator):
    """The nucleus is that of the whole distribution, taken before the k likeliest are."""
    z, token = ranked(x.double() / T)
    left = nucleus(torch.softmax(z, -1), p)[..., :k]
    return drawn(left, token, generator)


@wrong(SAMPLE, cause="another seed gave the same|never drawn")
def likeliest(x, T, k, p, generator):
    """Takes the likeliest token instead of drawing one."""
    torch.rand(x.shape[:-1], generator=generator)
    return x.argmax(-1)


wrong(SAMPLE, "uniform_within", "Draws alike among the tokens that are left.", cause=r"token \d+.*expected")(
    sample(cut=lambda share, p: (nucleus(share, p) > 0).double())
)


@wrong(SAMPLE, cause="not drawn independently")
def one_number(x, T, k, p, generator):
    """One random number for all positions, so that they move together."""
    share, token = shares(x, T, k)
    left = nucleus(share, p)
    total = left.cumsum(-1)
    u = torch.rand((), generator=generator, dtype=torch.float64) * total[..., -1:]
    return token.gather(-1, (total > u).int().argmax(-1, keepdim=True))[..., 0]


@wrong(SAMPLE, cause="global random")
def global_generator(x, T, k, p, generator):
    """Draws from the global random state, not from the generator passed."""
    share, token = shares(x, T, k)
    left = nucleus(share, p)
    at = torch.multinomial(left.reshape(-1, left.shape[-1]), 1).reshape(*left.shape[:-1], 1)
    return token.gather(-1, at)[..., 0]

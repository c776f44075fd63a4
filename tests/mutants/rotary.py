"""Variants of ``positional.rotary``."""

import torch

from tests.mutants import right, wrong

ROTARY = "positional.rotary"


def angles(x, pos, theta):
    """The angle of each pair of each token, right."""
    return pos[..., None] * theta


def neighbours(x):
    """The first and the second entry of each pair, right."""
    return x[..., 0::2], x[..., 1::2]


def alternate(first, second):
    """The entries of pairs in their places, right."""
    return torch.stack((first, second), -1).flatten(-2)


def turn(first, second, phi):
    """A pair turned, right."""
    return first * phi.cos() - second * phi.sin(), second * phi.cos() + first * phi.sin()


def rotary(angle=angles, split=neighbours, turned=turn, join=alternate):
    """The rotary embedding, right but for what is given."""

    def embed(x, pos, theta):
        return join(*turned(*split(x), angle(x, pos, theta).to(x.dtype)))

    return embed


def halves(x):
    """The first half of a row, and the second."""
    return x.chunk(2, -1)


def beside(first, second):
    """Two halves side by side."""
    return torch.cat((first, second), -1)


wrong(ROTARY, "backwards", "Turns the other way.", cause=r"theta.*sign|sign of (sin|theta|pos)|−sin|minus")(
    rotary(turned=lambda a, b, phi: turn(a, b, -phi))
)
wrong(ROTARY, "arange_instead", "Ignores the positions: 0, 1, 2, …", cause="pos is ignored")(
    rotary(angle=lambda x, pos, theta: torch.arange(x.shape[-2])[:, None] * theta)
)
wrong(ROTARY, "half_angles", "Holds the angles in bfloat16.", cause="bfloat16|8 bits")(
    rotary(angle=lambda x, pos, theta: (pos[..., None].bfloat16() * theta.bfloat16()).to(x.dtype))
)
wrong(ROTARY, "in_halves", "Pairs of halves where neighbours were promised.", cause="pairs=halves")(
    rotary(split=halves, join=beside)
)
wrong(
    ROTARY,
    "in_neighbours",
    "Pairs of neighbours where halves were promised.",
    pairs="halves",
    cause="pairs=interleaved",
)(rotary())
wrong(
    ROTARY,
    "joined_as_halves",
    "Takes neighbours apart and puts them together as halves.",
    cause="pairs|columns|order",
)(rotary(join=beside))
wrong(ROTARY, "from_one", "Counts positions from 1.", cause="pos.*(from 1|1 is added)|off by one")(
    rotary(angle=lambda x, pos, theta: angles(x, pos + 1, theta))
)
wrong(ROTARY, "sign_lost", "Adds both products: a reflection, not a rotation.", cause="sign")(
    rotary(turned=lambda a, b, phi: (a * phi.cos() + b * phi.sin(), b * phi.cos() + a * phi.sin()))
)
wrong(
    ROTARY,
    "sine_and_cosine_exchanged",
    "Takes the sine for the cosine.",
    cause="sin and cos are|cos in the place",
)(rotary(turned=lambda a, b, phi: (a * phi.sin() - b * phi.cos(), b * phi.sin() + a * phi.cos())))
wrong(
    ROTARY, "frequencies_detached", "Passes no gradient to the frequencies.", cause="gradient reaches theta"
)(rotary(angle=lambda x, pos, theta: angles(x, pos, theta.detach())))
wrong(
    ROTARY,
    "frequencies_in_reverse",
    "Gives the first pair the last frequency.",
    cause="theta.*(reverse|order)",
)(rotary(angle=lambda x, pos, theta: angles(x, pos, theta.flip(-1))))


@wrong(ROTARY, via=lambda step: rotary(turned=step), cause="new value|already")
def overwritten(first, second, phi):
    """Turns in place: the second entry is made of the first one's new value."""
    first = first * phi.cos() - second * phi.sin()
    return first, second * phi.cos() + first * phi.sin()


@wrong(ROTARY, cause="pos of the (first|others)")
def positions_of_the_first(x, pos, theta):
    """Turns all sequences of a batch by the positions of the first."""
    return rotary()(x, pos.reshape(-1, pos.shape[-1])[0], theta)


@wrong(ROTARY, via=lambda step: rotary(turned=step), cause="last (pair|row|entr)")
def last_pair_left(first, second, phi):
    """Leaves the last pair as it is."""
    phi = torch.cat((phi[..., :-1], torch.zeros_like(phi[..., -1:])), -1)
    return turn(first, second, phi)


right(ROTARY, "pair_by_pair", "As it is written.")(rotary())
right(ROTARY, "half_by_half", "As it is written, of halves.", pairs="halves")(
    rotary(split=halves, join=beside)
)


@right(ROTARY)
def by_complex_numbers(x, pos, theta):
    """Each pair is a complex number, which e^{iφ} turns, as in Llama's own code."""
    phi = angles(x, pos, theta).to(x.dtype)
    turned = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) * torch.polar(
        torch.ones_like(phi), phi
    )
    return torch.view_as_real(turned).flatten(-2)


@right(ROTARY, pairs="halves")
def rotated_half(x, pos, theta):
    """x cos + (−second, first) sin with tables of full width, as in transformers."""
    phi = angles(x, pos, theta).to(x.dtype)
    cos, sin = (torch.cat((wave, wave), -1) for wave in (phi.cos(), phi.sin()))
    first, second = halves(x)
    return x * cos + beside(-second, first) * sin

"""Variants of ``positional.turned`` and ``positional.rotary``."""

import math

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


wrong(ROTARY, "backwards", "Turns the other way.", cause="sign of phi")(
    rotary(turned=lambda a, b, phi: turn(a, b, -phi))
)
wrong(ROTARY, "arange_instead", "Ignores the positions: 0, 1, 2 and so on.", cause="pos is ignored")(
    rotary(angle=lambda x, pos, theta: torch.arange(x.shape[-2])[:, None] * theta)
)
wrong(ROTARY, "half_angles", "Holds the angles in bfloat16.", cause="bfloat16|8 bits")(
    rotary(angle=lambda x, pos, theta: (pos[..., None].bfloat16() * theta.bfloat16()).to(x.dtype))
)
wrong(ROTARY, "in_halves", "Pairs of halves where neighbours were promised.", cause="pairs=halves")(
    rotary(split=halves, join=beside)
)
wrong(ROTARY, "from_one", "Counts positions from 1.", cause="1 is added to pos")(
    rotary(angle=lambda x, pos, theta: angles(x, pos + 1, theta))
)
wrong(
    ROTARY, "frequencies_detached", "Passes no gradient to the frequencies.", cause="gradient reaches theta"
)(rotary(angle=lambda x, pos, theta: angles(x, pos, theta.detach())))
wrong(
    ROTARY,
    "frequencies_in_reverse",
    "Gives the first pair the last frequency.",
    cause="theta is read from the end",
)(rotary(angle=lambda x, pos, theta: angles(x, pos, theta.flip(-1))))


@wrong(ROTARY, cause="pos of the (first|others)")
def positions_of_the_first(x, pos, theta):
    """Turns all sequences of a batch by the positions of the first."""
    return rotary()(x, pos.reshape(-1, pos.shape[-1])[0], theta)


@right(ROTARY)
def by_complex_numbers(x, pos, theta):
    """Each pair is a complex number, which e^{iφ} turns, as in Llama's own code."""
    phi = angles(x, pos, theta).to(x.dtype)
    turned = torch.complex(*neighbours(x)) * torch.polar(torch.ones_like(phi), phi)
    return torch.view_as_real(turned).flatten(-2)


@right(ROTARY, pairs="halves")
def rotated_half(x, pos, theta):
    """x cos + (−second, first) sin with tables of full width, as in transformers."""
    phi = angles(x, pos, theta).to(x.dtype)
    cos, sin = (torch.cat((wave, wave), -1) for wave in (phi.cos(), phi.sin()))
    first, second = halves(x)
    return x * cos + beside(-second, first) * sin


TURNED = "positional.turned"


def by_angles(angle=lambda phi: phi, **parts):
    """Rows turned by given angles, right but for what is given."""
    embed = rotary(lambda x, phi, theta: angle(phi), **parts)
    return lambda x, phi: embed(x, phi, None)


wrong(TURNED, "turned_backwards", "Turns the other way.", cause="sign of phi")(by_angles(lambda phi: -phi))
wrong(TURNED, "angles_rounded", "Holds the angles in bfloat16.", cause="bfloat16|8 bits")(
    by_angles(lambda phi: phi.bfloat16())
)
wrong(TURNED, "angles_detached", "Passes no gradient to the angles.", cause="gradient reaches phi")(
    by_angles(lambda phi: phi.detach())
)
wrong(
    TURNED,
    "in_neighbours",
    "Pairs of neighbours where halves were promised.",
    pairs="halves",
    cause="pairs=interleaved",
)(by_angles())
wrong(
    TURNED,
    "joined_as_halves",
    "Takes neighbours apart and puts them together as halves.",
    cause="pairs|columns|order",
)(by_angles(join=beside))
wrong(
    TURNED,
    "sign_lost",
    "Adds both products: a reflection, not a rotation.",
    cause="sign|added in y, not subtracted",
)(by_angles(turned=lambda a, b, phi: (a * phi.cos() + b * phi.sin(), b * phi.cos() + a * phi.sin())))
wrong(
    TURNED,
    "sine_and_cosine_exchanged",
    "Takes the sine for the cosine.",
    cause="sin and cos are|cos in the place",
)(by_angles(turned=lambda a, b, phi: (a * phi.sin() - b * phi.cos(), b * phi.sin() + a * phi.cos())))


@wrong(TURNED, via=lambda step: by_angles(turned=step), cause="new value|already")
def overwritten(first, second, phi):
    """Turns in place: the second entry is made of the first one's new value."""
    first = first * phi.cos() - second * phi.sin()
    return first, second * phi.cos() + first * phi.sin()


right(TURNED, "turned_pairs", "As it is written.")(by_angles())
right(TURNED, "turned_halves", "As it is written, of halves.", pairs="halves")(
    by_angles(split=halves, join=beside)
)

PARTIAL = "positional.partial_rotary"


def partial(turned=None, rest=lambda x, width: x[..., width:]):
    """The rotary embedding of the first entries, right but for what is given."""

    def embed(x, pos, theta):
        width = 2 * len(theta)
        return torch.cat(((turned or rotary())(x[..., :width], pos, theta), rest(x, width)), -1)

    return embed


@wrong(PARTIAL, cause="half|halves|turned", pairs="halves")
def halves_of_all(x, pos, theta):
    """Halves of the whole row: entries of its second half are turned, too."""
    middle = x.shape[-1] // 2
    h = min(len(theta), middle)
    a, b = turn(x[..., :h], x[..., middle : middle + h], angles(x, pos, theta[:h]).to(x.dtype))
    return torch.cat((a, x[..., h:middle], b, x[..., middle + h :]), -1)


wrong(PARTIAL, "last_turned", "Turns the last entries, and leaves the first.", cause="turned|order")(
    lambda x, pos, theta: torch.cat(
        (x[..., : -2 * len(theta)], rotary()(x[..., -2 * len(theta) :], pos, theta)), -1
    )
)
wrong(PARTIAL, "rest_dropped", "Zeros for the entries that stay.", cause="rest|stay|is 0")(
    partial(rest=lambda x, width: torch.zeros_like(x[..., width:]))
)
wrong(PARTIAL, "rest_detached", "Passes no gradient to the entries that stay.", cause="gradient")(
    partial(rest=lambda x, width: x[..., width:].detach())
)
wrong(PARTIAL, "nothing_turned", "Returns the rows as they are.", cause="x as it is")(
    lambda x, pos, theta: x * 1
)
wrong(PARTIAL, "part_in_halves", "Halves of the part where neighbours were promised.", cause="pairs=halves")(
    partial(rotary(split=halves, join=beside))
)
wrong(PARTIAL, "part_backwards", "Turns the part the other way.", cause="sign of phi")(
    partial(rotary(turned=lambda a, b, phi: turn(a, b, -phi)))
)
wrong(PARTIAL, "rest_in_reverse", "The entries that stay, in reverse.", cause="revers|from the end")(
    partial(rest=lambda x, width: x[..., width:].flip(-1))
)
right(PARTIAL, "first_then_rest", "As it is written.")(partial())


@right(PARTIAL, pairs="halves")
def rotated_half_of_a_part(x, pos, theta):
    """x cos + (−second, first) sin of the part, as in transformers."""
    return partial(rotated_half)(x, pos, theta)


FREQUENCIES = "positional.frequencies"


def frequencies(h, base, s, exponent=lambda pair, h: -pair / h, scale=lambda theta, s, pair, h: theta / s):
    """Frequencies in float64, right but for what is given."""
    pair = torch.arange(h, dtype=torch.float64)
    return scale(base ** exponent(pair, h), s, pair, h)


def slower(theta, s, pair, h):
    """The base grown by the scale, right."""
    return theta * s ** (-pair / max(h - 1, 1))


wrong(FREQUENCIES, "exponent_doubled", "base^(−2i/h), with h for the width.", cause="exponent|base is")(
    lambda h, base, s: frequencies(h, base, s, lambda pair, h: -2 * pair / h)
)
wrong(FREQUENCIES, "multiplied", "Multiplies by the scale.", cause="inverse of s|multiplied by s")(
    lambda h, base, s: frequencies(h, base, s, scale=lambda theta, s, pair, h: theta * s)
)
wrong(
    FREQUENCIES, "unscaled", "Leaves the scale out.", cause=r"\bs is (ignored|not read)|not divided by s\b"
)(lambda h, base, s: frequencies(h, base, s, scale=lambda theta, s, pair, h: theta))
wrong(FREQUENCIES, "rising", "base^(i/h): frequencies that rise.", cause="sign|inverse of base")(
    lambda h, base, s: frequencies(h, base, s, lambda pair, h: pair / h)
)
wrong(FREQUENCIES, "from_the_second", "Counts the pairs from 1.", cause="from 1|off by one|\\+ ?1")(
    lambda h, base, s: frequencies(h, base, s, lambda pair, h: -(pair + 1) / h)
)
wrong(FREQUENCIES, "closed", "Spreads them down to 1/base exactly.", cause="h ?(−|-) ?1|h . 1")(
    lambda h, base, s: frequencies(h, base, s, lambda pair, h: -pair / max(h - 1, 1))
)
wrong(FREQUENCIES, "base_grown", "Has the base grow where linear scaling was promised.", cause="scaling=ntk")(
    lambda h, base, s: frequencies(h, base, s, scale=slower)
)
wrong(
    FREQUENCIES,
    "interpolated",
    "Slows all pairs down where the base was promised to grow.",
    scaling="ntk",
    cause="scaling=linear",
)(frequencies)
wrong(FREQUENCIES, "base_fixed", "Base 10000 whatever was asked for.", cause="base is (ignored|not read)")(
    lambda h, base, s: frequencies(h, 1e4, s)
)
wrong(FREQUENCIES, "in_half", "Holds them in bfloat16.", cause="bfloat16|8 bits")(
    lambda h, base, s: frequencies(h, base, s).bfloat16().float()
)

right(FREQUENCIES, "by_powers", "As it is written.")(frequencies)
right(
    FREQUENCIES,
    "by_a_larger_base",
    "base·s^(h/(h − 1)) in place of the base, as in transformers.",
    scaling="ntk",
)(lambda h, base, s: frequencies(h, base * s ** (h / (h - 1)) if h > 1 else base, 1.0))


YARN = "positional.yarn"


def turned_ramp(turns, h, base, L, alpha, beta):
    """The share that stays, by turns, right."""
    return ((turns - alpha) / (beta - alpha)).where(turns < beta, 1).where(turns > alpha, 0)


def slowed(free, s, gamma):
    """A frequency of which the share γ stays, right."""
    return (1 - gamma) * free / s + gamma * free


def longer(s):
    """The factor of queries and keys, right."""
    return 0.1 * math.log(s) + 1 if s > 1 else 1.0


def yarn(ramp=turned_ramp, mix=slowed, around=2 * math.pi, factor=longer):
    """YaRN, right but for what is given."""

    def by_parts(h, base, s, L, alpha, beta):
        free = frequencies(h, base, 1)
        gamma = ramp(L * free / around, h, base, L, alpha, beta)
        return mix(free, s, gamma), torch.tensor(float(factor(s)), dtype=torch.float64)

    return by_parts


def reversed_ramp(turns, *numbers):
    """What stays and what does not, exchanged."""
    return 1 - turned_ramp(turns, *numbers)


def in_pairs(turns, h, base, L, alpha, beta):
    """The share that stays, by the logarithm of the turns."""
    return turned_ramp(turns.log(), h, base, L, math.log(alpha), math.log(beta))


wrong(
    YARN,
    "ramp_reversed",
    "Fast pairs slowed down, and slow ones left.",
    cause="gamma.*(exchanged|inverted|1 −)",
)(yarn(reversed_ramp))
wrong(YARN, "ramp_by_pairs", "A ramp over pairs where one over turns was promised.", cause="ramp=pairs")(
    yarn(in_pairs)
)
wrong(
    YARN,
    "ramp_by_turns",
    "A ramp over turns where one over pairs was promised.",
    ramp="pairs",
    cause="ramp=turns",
)(yarn())
wrong(
    YARN, "ramp_unlimited", "The straight line below 0 and above 1.", cause="gamma.*(limit|below 0|above 1)"
)(yarn(lambda turns, h, base, L, alpha, beta: (turns - alpha) / (beta - alpha)))
wrong(YARN, "wavelengths_mixed", "Mixes wavelengths, not frequencies.", cause="wavelength|inverse")(
    yarn(mix=lambda free, s, gamma: free / ((1 - gamma) * s + gamma))
)
wrong(YARN, "radians_for_turns", "Counts radians, not turns.", cause="π")(yarn(around=1.0))
wrong(YARN, "no_factor", "m = 1 where lengths were to grow.", cause="lengths=stay")(yarn(factor=lambda s: 1))
wrong(YARN, "factor_of_scores", "m², as scores have it.", cause="m is squared")(
    yarn(factor=lambda s: longer(s) ** 2)
)
right(YARN, "yarn_by_turns", "As it is written.")(yarn())
right(YARN, "yarn_by_pairs", "As it is written, by the logarithm of the turns.", ramp="pairs")(yarn(in_pairs))
right(YARN, "yarn_clamped", "The ramp as a number that is clamped, as in transformers.")(
    yarn(
        lambda turns, h, base, L, alpha, beta: (
            ((turns - alpha) / (beta - alpha)).clamp(0, 1) if alpha < beta else (turns > alpha).double()
        )
    )
)

"""YaRN, and the rule of Llama 3.1: in longer texts pairs are slowed down by how often they turn within a text of training."""

from collections.abc import Callable
from typing import Any

from sympy import pi

from spec.positional.frequencies import base, h, i, s, theta
from spec.positional.rotary import LONGEST, rotary
from spec.positional.turned import c as entry
from spec.positional.turned import j as key
from spec.positional.turned import n
from spec.positional.turned import t as token
from spec.vocabulary import *

L = number("L", domain="positive", meaning="length: how many positions texts had in training")
alpha = number(
    "alpha", domain="positive", meaning="pairs that turn at most so often within L are slowed down in full; 1"
)
beta = number(
    "beta",
    domain="positive",
    meaning="pairs that turn at least so often within L stay; 32, or 4 in Llama 3.1",
)
r = tensor("r", h, domain="positive", meaning="how often each pair turns within a text of training")
gamma = tensor("gamma", h, meaning="how far each pair stays as it was: from 0, slowed down in full, to 1")
m = tensor("m", meaning="what turned queries and keys are both multiplied by")

RAMP = Convention(
    "ramp",
    {
        "turns": "γ grows with the number of turns, as in the paper and in Llama 3.1",
        "pairs": "γ grows with the logarithm of that number, which falls by the same amount from pair to pair, as in gpt-oss",
        "whole": "the same between two whole pairs, rounded outwards, as in the paper's code and transformers; of a base of 1 "
        "nothing is said",
    },
    default="turns",
)
LENGTHS = Convention(
    "lengths",
    {"grow": "m = 0.1·ln s + 1 for longer texts, as in YaRN", "stay": "m = 1, as in Llama 3.1"},
    default="grow",
)


def by_parts(at: Any, low: Any, high: Any, slow: Any, middle: Any, fast: Any) -> Node:
    """What is ``slow`` up to ``low``, ``fast`` from ``high`` on, and ``middle`` between them."""
    return case(le(at, low), slow, case(le(high, at), fast, middle))


def ramp(at: Any, low: Any, high: Any) -> Node:
    """0 up to ``low``, 1 from ``high`` on, and a straight line between them."""
    return by_parts(at, low, high, 0, (at - low) / (high - low), 1)


def pair_of(turns: Any, whole: Callable[[Node], Node]) -> Node:
    """The pair that turns so often within L, if it were a whole one."""
    return whole(h * log(L / (2 * lift(pi) * turns)) / log(base))


def round_down(value: Node) -> Node:
    """⌊value⌋ of what is no whole number: π keeps it from being one."""
    return rounded(value - Rational(1, 2))


def round_up(value: Node) -> Node:
    """⌈value⌉ of what is no whole number."""
    return rounded(value + Rational(1, 2))


unscaled = base ** (-i / h)

BY_TURNS = {"h": 2, "base": 100, "s": 2, "L": 1000, "alpha": 1, "beta": 32}

yarn = Formula(
    "positional.yarn",
    "Frequencies by parts, and YaRN",
    why="Which pairs have to be slowed down in a longer text? One that came round many times in training has met every angle, "
    "and tells neighbours apart: it may stay. One that never came round would meet angles it has not seen: its positions are "
    "interpolated. Between the two the change is gradual. In long texts attention also spreads over more keys; YaRN makes "
    "queries and keys a little longer, so that the softmax is sharper, at no cost once the tables of sines and cosines hold "
    "the factor.",
    sizes={h: "pairs: half the width of a head"},
    inputs=(h, base, s, L, alpha, beta),
    lines=(
        define(r[i], L * unscaled / (2 * lift(pi))),
        define(
            gamma[i],
            by_convention(
                "ramp",
                turns=ramp(r[i], alpha, beta),
                pairs=ramp(log(r[i]), log(alpha), log(beta)),
                whole=case(
                    eq(base, 1), Undefined(), ramp(-i, -pair_of(alpha, round_up), -pair_of(beta, round_down))
                ),
            ),
        ),
        define(theta[i], (1 - gamma[i]) * unscaled / s + gamma[i] * unscaled),
        define(m, by_convention("lengths", grow=case(lt(1, s), log(s) / 10 + 1, 1), stay=lift(1))),
    ),
    outputs=(theta, m),
    conventions=(RAMP, LENGTHS),
    pitfalls=(
        pitfall("fast pairs slowed down, and slow ones left", mutant="ramp_reversed"),
        pitfall("the ramp over pairs where it is over turns", convention="ramp"),
        pitfall(
            "the factor left out, or used twice: once in the tables, once in the scores", mutant="no_factor"
        ),
        pitfall("keys of a cache turned again, as if to turn twice were to turn by the sum", theorem="twice"),
    ),
    sources=(paper("peng2023", "section 3.2: by parts; section 3.4: YaRN"),),
    worked=(
        Worked(
            "Two pairs of base 100 in training texts of 1000 positions turn 159.2 and 15.9 times. The first, above 32, stays; of "
            "the second γ = (15.9155 − 1)/31 = 0.48114: at s = 2 it turns by (0.51886/2 + 0.48114)/10",
            BY_TURNS,
            ["1.00000", "0.07406"],
            5,
        ),
        Worked("Queries and keys are multiplied by 0.1·ln 2 + 1", BY_TURNS, "1.06931", 5, output="m"),
        Worked(
            "By whole pairs: 32 turns would be those of pair 0.70, one that of pair 2.20, so γ falls from pair 0 to pair 3, and "
            "the second pair turns by ((1/3)/2 + 2/3)/10",
            BY_TURNS,
            ["1.00000", "0.08333"],
            5,
            conventions={"ramp": "whole"},
        ),
    ),
    notes="With α = 1, β = 4, s = 8, L = 8192 and lengths=stay these are the frequencies of Llama 3.1, as its code has them. "
    "positional.rotary turns by θ; m multiplies its rows, or its sines and cosines.",
)

# Theorems -----------------------------------------------------------------------------------------------------------------

x, pos = given("x", n, 2 * h), given("pos", n, domain="integer", below=LONGEST)
k, pos_k = given("k", n, 2 * h), given("pos_k", n, domain="integer", below=LONGEST)
near, step = (given(name, n, domain="integer", below=LONGEST // 2) for name in ("near", "step"))
omega, more = given("omega", h), given("more")
as_it_was = yarn(h, base, 1, L, alpha, beta)


def turned(rows: Any, at: Any) -> Node:
    """Rows turned by any frequencies and multiplied by m."""
    return each(m * rotary(rows, at, omega)[token, entry], token, entry)


for option, measure, turns in (("turns", lift, beta + more), ("pairs", log, beta * exp(more))):
    suffix = "" if option == "turns" else "_pairs"
    at, low, high = measure(r[i]), measure(alpha), measure(beta)
    ordered, slower = lt(low, high), unscaled * (s - 1) / s

    yarn.theorem(
        "fast" + suffix,
        "A pair that turns β times or more within a text of training, and more than α times, stays",
        claim(yarn(h, base, s, 2 * lift(pi) * turns / unscaled, alpha, beta)[i], "=", unscaled).by_definition(
            "γ = 1"
        ),
        given=more,
        assuming=(le(0, more), lt(low, measure(turns))),
        conventions={"ramp": option},
    )

    yarn.theorem(
        "slow" + suffix,
        "A pair that turns at most α times turns s times more slowly",
        claim(theta[i], "=", unscaled / s, where=le(at, low)).by_definition("γ = 0"),
        assuming=(ordered,),
        conventions={"ramp": option},
    )

    yarn.theorem(
        "between" + suffix,
        "In longer texts no pair turns faster than before, and none more than s times more slowly",
        claim(theta[i], "<=", unscaled).by_definition(
            "1 − γ is at least 0", gap=by_parts(at, low, high, slower, slower * (high - at) / (high - low), 0)
        ),
        claim(unscaled / s, "<=", theta[i]).by_definition(
            "γ is at least 0", gap=by_parts(at, low, high, 0, slower * (at - low) / (high - low), slower)
        ),
        assuming=(ordered, lt(1, s)),
        conventions={"ramp": option},
    )

    yarn.theorem(
        "unscaled" + suffix,
        "A scale of 1 changes nothing: θᵢ = base^(−i/h) and m = 1",
        claim(as_it_was[i], "=", unscaled).by_definition("(1 − γ) + γ = 1"),
        claim(as_it_was.output(m), "=", 1).by_definition("it is more where texts are longer"),
        assuming=(ordered,),
        conventions={"ramp": option},
    )

yarn.theorem(
    "length",
    "A row that is turned, by any frequencies, and multiplied is m times as long as it was",
    claim(Sum(turned(x, pos)[token, entry] ** 2 - m**2 * x[token, entry] ** 2, entry), "=", 0)
    .step(
        m**2 * Sum(rotary(x, pos, omega)[token, entry] ** 2 - x[token, entry] ** 2, entry),
        "the factor comes out",
    )
    .because("turning keeps lengths"),
    given=(x, pos, omega),
)

yarn.theorem(
    "temperature",
    "Scores are multiplied by m²: their softmax is that of a temperature of 1/m²",
    claim(
        Sum(turned(x, pos)[token, entry] * turned(k, pos_k)[key, entry], entry),
        "=",
        m**2 * Sum(rotary(x, pos, omega)[token, entry] * rotary(k, pos_k, omega)[key, entry], entry),
    )
    .keeping(rotary)
    .by_definition("once by the query's factor, once by the key's"),
    given=(x, pos, k, pos_k, omega),
)

yarn.theorem(
    "twice",
    "Turned and multiplied twice is not turned by the sum and multiplied once: lengths grow twice",
    claim(
        turned(turned(x, near), step)[token, entry],
        "=",
        turned(x, each(near[token] + step[token], token))[token, entry],
    ).by_witness(
        n=1, h=1, x=[[1, 0]], near=[0], step=[0], omega=[1], base=2.0, s=2.0, L=1.0, alpha=1.0, beta=2.0
    ),
    given=(x, near, step, omega),
    exists=True,
    runs=False,
    conventions={"lengths": "grow"},
)

"""Masked language modelling in numbers: the shares that its law states, and those of other readings and of an actual draw."""

from __future__ import annotations

from functools import cache

import sympy
import torch

import impl.masking
from spec.language.registry import find
from verify.laws.statistics import ALPHA, POWER, sample_size

from .markup import table

VOCABULARY, TOKENS, MASK = 30_522, 2_000_000, 103

MASKED, RANDOM, KEPT = "[MASK]", "a random word", "unchanged"


def constants() -> dict[str, sympy.Rational]:
    """The law's constants by name: ρ of the tokens are selected; of these α are masked, ω become a random word."""
    return {t.name: sympy.Rational(v) for t, v in find("masking.mlm").constants.items()}


def stated() -> dict[str, sympy.Rational]:
    """What becomes of a selected token, by the statement."""
    c = constants()
    return {MASKED: c["alpha"], RANDOM: c["omega"], KEPT: 1 - c["alpha"] - c["omega"]}


@cache
def observed() -> dict[str, float]:
    """What became of the selected tokens in one draw. A random word that happens to be the old one counts as unchanged."""
    ids = torch.randint(1000, VOCABULARY, (TOKENS // 500, 500), generator=torch.Generator().manual_seed(1))
    corrupted, labels = impl.masking.mlm(
        ids, torch.zeros_like(ids, dtype=torch.bool), MASK, VOCABULARY, torch.Generator().manual_seed(0)
    )
    selected = labels != -100
    total = int(selected.sum())
    masked, kept = int((corrupted[selected] == MASK).sum()), int((corrupted[selected] == ids[selected]).sum())
    shares = {MASKED: masked, RANDOM: total - masked - kept, KEPT: kept}
    return {**{name: count / total for name, count in shares.items()}, "selected": total / ids.numel()}


def readings() -> dict[str, dict[str, sympy.Rational]]:
    """The shares that other readings of “80 / 10 / 10” lead to."""
    a, w = constants()["alpha"], constants()["omega"]
    half = w / (1 - a)
    return {
        "the statement": stated(),
        f"not masked, then random with probability {half}": {MASKED: a, RANDOM: (1 - a) * half, KEPT: (1 - a) * (1 - half)},
        f"not masked, then random with probability {percent(w)}": {MASKED: a, RANDOM: (1 - a) * w, KEPT: (1 - a) * (1 - w)},
        f"“unchanged” and “random” drawn independently, {percent(w)} each, and the rest masked": {
            MASKED: (1 - w) ** 2, RANDOM: (1 - w) * w, KEPT: w
        },
    }  # fmt: skip


def readings_table() -> str:
    """Those readings as a table, with how many selected tokens tell each from the statement."""
    rows, every = [], readings()
    first = next(iter(every.values()))
    for name, shares in every.items():
        gaps = [(float(stated()[k]), float(shares[k])) for k in shares if shares[k] != stated()[k]]
        needed = min((sample_size(p, q, ALPHA, POWER) for p, q in gaps), default=None)
        apart = "it is the same law" if needed is None else f"{needed:,}".replace(",", " ")
        rows.append((name, *(percent(x) for x in shares.values()), "–" if shares is first else apart))
    return table(("What is drawn", MASKED, RANDOM, KEPT, "Selected tokens that tell it apart"), rows)


def observed_table() -> str:
    """The shares stated and observed, of the selected tokens and of all."""
    rho, seen = constants()["rho"], observed()
    rows = [
        (
            name,
            percent(share),
            f"{100 * seen[name]:.3f} %",
            percent(rho * share),
            f"{100 * seen[name] * seen['selected']:.3f} %",
        )
        for name, share in stated().items()
    ]
    head = (
        "A selected token becomes",
        "Of the selected: stated",
        "observed",
        "Of all tokens: stated",
        "observed",
    )
    return table(head, rows)


def percent(value: sympy.Rational) -> str:
    """A share in percent, with the digits that it has."""
    return f"{float(100 * value):g} %"


def conditional() -> str:
    """The probability of a random word, given that the token is not masked."""
    c = constants()
    return str(c["omega"] / (1 - c["alpha"]))

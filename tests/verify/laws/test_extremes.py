"""A sampler wrong only where its numbers are extreme, or a call has one position, is found in the situation made for that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Generator, Tensor

from impl.decoding import sample as ours
from spec.decoding.sample import sample
from spec.masking.nsp import nsp
from tests.mutants.pairs import plain
from verify import check
from verify.laws.choice_tests import Situation, independence, outcomes
from verify.laws.choices import EXTREME, ChoiceTrial, situations
from verify.laws.statistics import ALPHA, Tally

Sampler = Callable[[Tensor, float, int, float, Generator], Tensor]
NAMED = {each.name: each for each in situations(sample)}


def coarse(x: Tensor, g: Generator) -> Tensor:
    """Drawn by a number of which there are a thousand: what is less likely is never met, but for some."""
    u = torch.randint(0, 1000, (len(x), 1), generator=g) / 1000
    total = torch.softmax(x.double(), -1).cumsum(-1)
    return torch.searchsorted(total, u.double(), right=True).squeeze(-1).clamp_max(x.shape[-1] - 1)


def is_found(wrong: Sampler, situation: Situation) -> bool:
    """Whether what is drawn in the situation shows it: something impossible, or shares that are off."""
    draws = ChoiceTrial(wrong, sample).draw(situation)
    tally = Tally(ALPHA, 20)
    outcomes(draws, tally)
    return bool(draws.impossible()) or not tally.verdict()[0]


WRONG: dict[str, Sampler] = {
    "one at most": lambda x, T, k, p, g: ours(x, T, k if k > 1 else x.shape[-1], p, g),
    "all at most": lambda x, T, k, p, g: ours(x, T, min(k, 50), p, g),
    "more than there are": lambda x, T, k, p, g: ours(x, T, k if k <= x.shape[-1] else 1, p, g),
    "small numbers": lambda x, T, k, p, g: ours(x, max(T, 0.01), k, p, g),
    "a small share": lambda x, T, k, p, g: ours(x, T, k, p if p >= 0.1 else 1.0, g),
    "next to no share": lambda x, T, k, p, g: ours(x, T, k, p if 1 - p < 1 else 1.0, g),
    "large numbers": lambda x, T, k, p, g: ours(x, min(T, 20.0), k, p, g),
    "far from zero": lambda x, T, k, p, g: ours(x.bfloat16().float(), T, k, p, g),
    "a vocabulary": lambda x, T, k, p, g: coarse(x, g) if k == x.shape[-1] else ours(x, T, k, p, g),
    "one position": lambda x, T, k, p, g: x.argmax(-1) if x.numel() == x.shape[-1] else ours(x, T, k, p, g),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_at_an_extreme_alone_is_found_there(name: str) -> None:
    """A limit of its own, or another way at the end of what a number may be; ours conforms there."""
    assert is_found(WRONG[name], NAMED[name])
    assert not is_found(ours, NAMED[name])


def test_every_extreme_situation_has_something_that_it_finds() -> None:
    """None is there for nothing."""
    assert {each.name for each in EXTREME} <= set(WRONG)


def test_what_takes_no_numbers_is_not_asked_for_extreme_ones() -> None:
    """Pairs of sentences have none."""
    assert not set(EXTREME) & set(situations(nsp))


def test_the_numbers_of_a_situation_are_those_it_says() -> None:
    """How many stay at most, the temperature, the share; the sizes of the rest are as they are."""
    seen = set()

    def asked(x: Tensor, T: float, k: int, p: float, g: Generator) -> Tensor:
        seen.add((tuple(x.shape[1:]), T, k, p))
        return ours(x, T, k, p, g)

    small = NAMED["small numbers"]
    ChoiceTrial(asked, sample).draw(small)
    assert seen == {((small.outcomes,), small.numbers[0], small.whole[0], small.numbers[1])}


def test_who_draws_rightly_and_meddles_is_told_so() -> None:
    """The headline says that the draws conform, and what does not."""

    def meddles(starts: Tensor, first: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        torch.rand(1)
        return plain(starts, first, generator, 0.5)

    report = check(meddles, nsp)
    said = "falsified: what it draws conforms; wrong in: “leaves global state alone”"
    assert report.headline == said


def halves(x: Tensor, T: float, k: int, p: float, g: Generator) -> Tensor:
    """The second half of the positions is drawn by 1 − u of the first."""
    return by(lambda u: torch.cat((u, 1 - u)), x, g)


def mirrored(x: Tensor, T: float, k: int, p: float, g: Generator) -> Tensor:
    """The same from the end."""
    return by(lambda u: torch.cat((u, u.flip(0))), x, g)


def by(used: Callable[[Tensor], Tensor], x: Tensor, g: Generator) -> Tensor:
    """Drawn from all outcomes by inversion, with half as many uniform numbers as positions."""
    u = used(torch.rand((len(x) + 1) // 2, 1, generator=g, dtype=torch.float64))[: len(x)]
    return torch.searchsorted(torch.softmax(x.double(), -1).cumsum(-1), u).squeeze(-1)


@pytest.mark.parametrize("wrong", [halves, mirrored])
def test_numbers_used_twice_in_a_call_are_found(wrong: Sampler) -> None:
    """However far apart: half of a call, or from its two ends."""
    every = Situation("every outcome", 4, 7, 30_000, whole=(7,), numbers=(1.0, 1.0))
    for sampler, right in ((wrong, False), (ours, True)):
        tally = Tally(ALPHA, 20)
        independence(ChoiceTrial(sampler, sample).draw(every), tally)
        assert tally.verdict()[0] is right


def test_which_of_equal_ones_it_takes_is_named_as_the_reason() -> None:
    """Where nothing is wrong but that: of equal logits torch.topk keeps any."""

    def last_of_equals(x: Tensor, T: float, k: int, p: float, g: Generator) -> Tensor:
        return x.shape[-1] - 1 - ours(x.flip(-1), T, k, p, g)

    report = check(last_of_equals, "decoding.sample")
    assert report.headline.startswith("falsified: only where inputs are equal it takes others of them")

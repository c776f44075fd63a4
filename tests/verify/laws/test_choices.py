"""Laws of choices: right implementations pass at every seed, each planned alternative is refused, any such law can be tested."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Generator, Tensor

from impl.attention import hard as ours
from impl.attention import log_weight
from impl.masking import nsp as our_nsp
from spec.attention.hard import hard
from spec.attention.log_weight import log_weight as stated_log_weight
from spec.language import Axiom, Law, Sum, case, data, define, eq, indices, le, lt, sizes, tensor
from spec.language.arrays import Tensor as Symbol
from spec.language.formula import Formula
from spec.language.known import forget
from spec.masking.nsp import nsp
from spec.vocabulary import Rational
from tests.mutants import variants
from tests.mutants.sampling import drawn, looked, uniform, weights
from verify import check
from verify.laws.checking import check_law
from verify.laws.choice_tests import Situation
from verify.laws.choices import ChoiceTrial, situations
from verify.laws.statistics import ALPHA, POWER, region
from verify.laws.trial import CORRELATION, SHIFT
from verify.report import CheckResult

in_other_documents = partial(our_nsp, negatives="other_document")


def failed(checks: list[CheckResult]) -> set[str]:
    """The names of falsified checks."""
    return {c.name for c in checks if c.verdict == "falsified"}


def test_our_log_weight_of_what_was_drawn_conforms() -> None:
    """impl.attention.log_weight, which score-function estimates differentiate, in value and gradient wherever a key was drawn."""
    report = check(log_weight, stated_log_weight, max_examples=60)
    assert report.verdict == "conforms", [c.message for c in report.falsified]


def test_ours_conforms() -> None:
    """impl.attention.hard conforms, in a minute of processor time, and every check says how much it looked at."""
    began = time.process_time()
    checks = check_law(ours, hard, None, 0)
    assert time.process_time() - began < 60
    assert failed(checks) == set()
    assert {c.name for c in checks} == {
        "law: the key is a permitted one",
        "law: the context is that key's value",
        "law: generator",
        "law: possible outcomes",
        "law: outcomes",
        "law: steadiness",
        "law: independence",
    }
    assert all(c.examples > 1_000_000 for c in checks if c.name != "law: generator")
    assert all(c.worst_ratio is not None and c.worst_ratio <= 1 for c in checks)


def test_seeds_are_told_apart_where_something_is_left_to_chance() -> None:
    """In a corpus of one document no sentence stands in another, and nothing is drawn: one corpus in 16 is such. What takes no
    notice of its generator is found at every seed.
    """
    under = {"negatives": "other_document"}

    def ignoring(starts: Tensor, first: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        return in_other_documents(starts, first, Generator().manual_seed(5))

    def used(callable_: Any, seed: int) -> tuple[bool, list[str] | None]:
        trial = ChoiceTrial(callable_, nsp, under, seed)
        samples = [trial.draw(replace(situation, draws=2, copies=8)) for situation in situations(nsp)[:5]]
        return samples[0].varies, trial.misuses(samples)

    found = [used(in_other_documents, seed) for seed in range(40)]
    assert [wrong for _, wrong in found if wrong] == []
    assert not all(varies for varies, _ in found)
    assert all("another seed gave the same result" in (used(ignoring, seed)[1] or []) for seed in range(40))


@pytest.mark.parametrize(("rate", "repeated"), [(0.05, True), (1e-12, False)])
def test_seeds_are_told_apart_by_all_positions_together(rate: float, repeated: bool) -> None:
    """An outcome of 5 % alone is enough, as there are many; of one in 10¹² nothing is said, and no call is claimed."""
    x, kept = data("x", n), case(lt(0, data("x", n)[i]), 1, 1)
    P, drop = tensor("P", n, 2), tensor("drop", n, domain="integer")
    (o,) = indices(o=2)
    chance = Rational(rate).limit_denominator(10**13)
    either = Axiom("0 or 1", "it is 0 or 1", le(0, drop[i]) & le(drop[i], 1))
    formula = Formula(
        "test.drops", "Entries dropped", inputs=(x, Symbol("generator", (), "generator", "generator")), outputs=(P,),
        lines=(define(P[i, o], case(eq(o, 1), chance * kept, 1 - chance)),),
        law=Law(probability=P, returns=(drop,), outcome=(drop[i],), over=((i, n),), axioms=(either,)),
    )  # fmt: skip

    def unadvanced(x: Tensor, generator: Generator) -> Tensor:
        again = Generator().manual_seed(generator.initial_seed())
        return (torch.rand(x.shape, generator=again, dtype=torch.float64) < rate).long()

    try:
        (found,) = (c for c in check_law(unadvanced, formula, None, 0) if c.name == "law: generator")
    finally:
        forget(formula.id)
    assert (found.verdict, found.examples) == (("falsified", 4) if repeated else ("inconclusive", 0))
    assert ("its state was not advanced" in found.message) == repeated


@pytest.fixture(scope="module")
def main() -> Any:
    """A sample of the main situation."""
    return ChoiceTrial(ours, hard).draw(situations(hard)[0])


def test_the_plan_reaches_its_power(main: Any) -> None:
    """Every probability of the main situation off by 0.01, and a correlation of 0.05, are seen, by exact computation."""
    level = ALPHA / 2 / 20
    draws = main.situation.draws
    for low, high in zip(main.low.ravel(), main.high.ravel(), strict=True):
        p = (low + high) / 2
        test = region(draws, p, level)
        assert min(test.power(p + SHIFT), test.power(p - SHIFT)) >= POWER
    total = np.cumsum((main.low[0] + main.high[0]) / 2, -1)
    for row in total:
        half = row[np.argmin(np.abs(row - 0.5))]
        joint = half * half
        shifted = joint + CORRELATION * half * (1 - half)
        assert region(draws // 2, joint, level).power(shifted) >= POWER


def test_situations_are_what_their_names_say() -> None:
    """Alike weights, a peak, a single key, a single permitted key, none at all, and members of a batch occur."""
    named = {s.name: s for s in situations(hard)}
    trial = ChoiceTrial(ours, hard)
    few = {name: Situation(**{**vars(s), "draws": 8, "copies": 4}) for name, s in named.items()}
    found = {name: trial.draw(s) for name, s in few.items()}
    for name, p in (("alike", 1 / 11), ("one outcome", 1.0)):
        assert (found[name].low <= p).all()
        assert (found[name].high >= p).all()
        assert (found[name].high - found[name].low).max() < 1e-5
    assert found["peaked"].low.max() > 0.9
    masks = found["masks"].high
    assert sorted(int((row > 0).sum()) for row in masks[0])[:2] == [0, 1]
    assert found["a batch"].chosen.shape == (2, 6, 4, 3)
    assert not np.allclose(found["a batch"].low[0, 0], found["a batch"].low[1, 0])


def changed(share: float = 0.0, tie: float = 0.0) -> Any:
    """Draws whose first key has ``share`` more, or whose uniform numbers repeat the one before with probability ``tie``."""

    def draw(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Any:
        a = weights(q, k, mask)
        if share and a.shape[-1] == 5 and mask is None:
            a = a.double()
            a[..., 0] += share
            a[..., 1] -= share
        u = uniform(a, generator)
        if tie:
            again = torch.rand(u.shape, generator=generator) < tie
            n = 4 if a.shape[-1] == 5 else 1
            u[..., n:] = torch.where(again[..., n:], u[..., :-n], u[..., n:])
        return looked(v, drawn(a, u))

    return draw


def at_once() -> bool:
    """Time runs out as soon as the first situation, the main one, is drawn: what is wrong shows there."""
    return True


@pytest.mark.parametrize("seed", range(2))
def test_a_probability_off_by_a_hundredth_is_seen(seed: int) -> None:
    """One hundredth moved from one key to another is refused."""
    found = failed(check_law(changed(share=SHIFT), hard, None, seed, over=at_once))
    assert "law: outcomes" in found
    assert "law: possible outcomes" not in found


@pytest.mark.parametrize("seed", range(2))
def test_draws_that_sometimes_repeat_are_seen(seed: int) -> None:
    """Every single draw is right; one in ten uses the number of the query's repetition before: only independence fails."""
    assert failed(check_law(changed(tie=0.1), hard, None, seed, over=at_once)) == {"law: independence"}


def test_a_draw_that_settles_within_a_call_is_seen() -> None:
    """Right on average, too many low keys at the start of a call and too many high ones at its end."""

    def drifting(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Any:
        a = weights(q, k, mask)
        n = a.shape[-2]
        u = uniform(a, generator)
        low = torch.rand(u.shape, generator=generator) < 0.1
        first = torch.arange(n) < n // 2
        # With probability 0.1, a number from the lower half in the first half of a call, from the upper half in the second.
        moved = torch.where(first, u / 2, 0.5 + u / 2)
        return looked(v, drawn(a, torch.where(low, moved, u)))

    found = failed(check_law(drifting, hard, None, 0, over=at_once))
    assert "law: steadiness" in found
    assert "law: possible outcomes" not in found


@pytest.mark.parametrize(
    ("then", "says"),
    [
        (lambda z, index: z, "must return 2 tensors (z, index); got"),
        (lambda z, index: (index, z), "output z has shape"),
        (lambda z, index: (z, index.double()), "output index has dtype torch.float64; expected integers"),
        (lambda z, index: (z.float().half(), index), "output z has dtype torch.float16; expected"),
        (lambda z, index: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_results_that_are_no_sample_are_one_clear_line(then: Any, says: str) -> None:
    """Wrong count, shape, dtype or kind, or an exception: falsified, with one line that says what."""

    def wrapped(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Any:
        return then(*ours(q, k, v, generator, mask))

    (check,) = check_law(wrapped, hard)
    assert check.verdict == "falsified"
    assert says in check.message
    assert "\n" not in check.message


def test_a_broken_axiom_says_where_and_what() -> None:
    """An index beyond the keys, with the value of another one: both axioms are named with the place."""

    def beyond(q: Tensor, k: Tensor, v: Tensor, generator: Generator, mask: Tensor | None = None) -> Any:
        z, index = ours(q, k, v, generator, mask)
        return z, torch.where(index == 1, k.shape[-2], index)

    checks = {c.name: c for c in check_law(beyond, hard, over=at_once)}
    broken = checks["law: the key is a permitted one"]
    assert broken.verdict == "falsified"
    assert "main: call 0, i = " in broken.message
    assert "index 5" in broken.message
    assert checks["law: possible outcomes"].verdict == "falsified"


def test_a_callable_that_takes_no_mask_is_asked_without() -> None:
    """Masks are left out where the callable does not take them; at another seed, too, ours conforms."""

    def maskless(q: Tensor, k: Tensor, v: Tensor, generator: Generator) -> Any:
        return ours(q, k, v, generator)

    report = check(maskless, "attention.hard", seed=1)
    assert report.verdict == "conforms"
    assert any("takes no mask" in note for note in report.notes)


# Another law ----------------------------------------------------------------------------------------------------------------

n, m = sizes("n m")
i, j, l = indices(i=n, j=m, l=m)


@pytest.fixture
def lottery() -> Iterator[Formula]:
    """A law that has nothing to do with attention: tickets are drawn in proportion to how many there are."""
    tickets = data("tickets", n, m, domain="positive")
    generator = Symbol("generator", (), "generator", "generator")
    P, winner = tensor("P", n, m), tensor("winner", n, domain="integer")
    formula = Formula(
        "test.lottery",
        "A lottery",
        inputs=(tickets, generator),
        lines=(define(P[i, j], tickets[i, j] / Sum(tickets[i, l], l)),),
        outputs=(P,),
        law=Law(
            probability=P,
            returns=(winner,),
            outcome=(winner[i],),
            over=((i, n),),
            axioms=(Axiom("somebody wins", "the winner is one of m", le(0, winner[i]) & lt(winner[i], m)),),
        ),
    )
    yield formula
    forget(formula.id)


def test_any_law_of_choices_is_tested(lottery: Formula) -> None:
    """The checks know nothing of attention: a lottery is held to its own law, and a rigged one refused."""

    def fair(tickets: Tensor, generator: Generator) -> Tensor:
        return drawn(tickets, uniform(tickets, generator))

    def rigged(tickets: Tensor, generator: Generator) -> Tensor:
        return drawn(tickets**2, uniform(tickets, generator))

    assert failed(check_law(fair, lottery)) == set()
    assert "law: outcomes" in failed(check_law(rigged, lottery, over=at_once))


@pytest.mark.parametrize("name", ["without_shift", "finite_filler", "first_256"])
def test_large_inputs_and_many_outcomes_are_among_the_situations(name: str) -> None:
    """Scores that overflow, a filler of −10⁹ for masked keys, a block of 256 keys: wrong only where inputs are large."""
    (variant,) = [v for v in variants((hard.id,)) if v.name == name]
    assert failed(check_law(variant.call, hard, None, 0))


def test_time_that_runs_out_is_said() -> None:
    """Where time runs out, what was drawn by then is judged, and what was not is said; nothing is falsified for it."""
    checks = {c.name: c for c in check_law(ours, hard, None, 0, over=at_once)}
    assert checks["law: outcomes"].verdict == "conforms"
    assert checks["law: other situations"].verdict == "inconclusive"
    assert checks["law: other situations"].message.startswith("time ran out: 1 of ")
    assert failed(list(checks.values())) == set()

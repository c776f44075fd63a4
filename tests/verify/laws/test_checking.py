"""Laws: right implementations pass, each planned alternative is refused, and the sample is as large as it says."""

from __future__ import annotations

import functools
import math
import time
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from impl.masking import mlm as ours
from spec.masking.mlm import mlm
from tests.mutants import variants
from tests.mutants.masking import choose, corrupt, uniform, words_for
from verify import adapt
from verify.laws.checking import check_law
from verify.laws.selections import LEAST, designs, plan, require_pointwise, statement
from verify.laws.statistics import ALPHA, POWER, sample_size
from verify.report import CheckResult


def failed(checks: list[CheckResult]) -> set[str]:
    """The names of falsified checks."""
    return {c.name for c in checks if c.verdict == "falsified"}


@pytest.mark.parametrize(("selection", "seed"), [("bernoulli", 0), ("exact_count", 1)])
def test_ours_conforms(selection: Any, seed: int) -> None:
    """impl.masking.mlm conforms under both conventions; every check says how much it looked at."""
    checks = check_law(functools.partial(ours, selection=selection), mlm, {"selection": selection}, seed)
    assert failed(checks) == set()
    assert {c.name for c in checks} >= {
        "law: selection",
        "law: counts",
        "law: independence",
        "law: outcomes",
        "law: words",
    }
    assert all(c.examples > LEAST for c in checks if c.name != "law: generator")
    assert all(c.worst_ratio is not None and c.worst_ratio <= 1 for c in checks)


def test_a_vectorised_implementation_takes_seconds() -> None:
    """A vectorised implementation is judged in a few seconds of processor time (about 2)."""
    began = time.process_time()
    check_law(ours, mlm, None, 3)
    assert time.process_time() - began < 10


def test_expected_probabilities_carry_the_vocabulary() -> None:
    """With 8 words, [MASK] has 0.8 + 0.1/8: the probabilities come from the statement, 1/V terms included."""
    layout = plan(mlm, None)[1]
    assert layout.words == 8
    _, rate, given, _, values = statement(mlm, None, designs(mlm, layout, 0))
    # A probability is a few products and a sum of at most 8 words' shares, each rounded once: 16 roundings at most.
    rounding = 16 * 2.0**-53
    assert rate[0] == pytest.approx(0.15, rel=rounding)
    assert given[0].sum(-1) == pytest.approx(1, rel=rounding)
    for share in (0.0125, 0.1125, 0.8125):
        assert any(value == pytest.approx(share, rel=rounding) for value in values.tolist())


@pytest.mark.parametrize("name", ["never_the_original", "never_mask"])
def test_a_random_word_may_be_any_word(name: str) -> None:
    """That the random word may be the original, or [MASK], shows where there are few words."""
    (variant,) = [v for v in variants(("masking.mlm",)) if v.name == name]
    found = {c.name: c.message for c in check_law(variant.call, mlm, None, 1) if c.verdict == "falsified"}
    assert set(found) == {"law: outcomes"}
    assert ": outcomes of probability" in found["law: outcomes"]


def one_selection_for_all_rows(
    ids: Tensor, special: Tensor, mask_id: int, V: int, generator: Generator
) -> tuple[Tensor, Tensor]:
    """A place is selected in every row or in none: in each by itself with the probability that is stated."""
    u = torch.rand((2, ids.shape[-1]), generator=generator)
    selected = (u[0] < 0.15).expand(ids.shape) & ~special
    words = torch.randint(0, V, ids.shape, generator=generator)
    new = torch.where(u[1] < 0.8, mask_id, torch.where(u[1] < 0.9, words, ids))
    return torch.where(selected, new, ids), ids.masked_fill(~selected, -100)


def test_what_is_drawn_once_for_a_batch_is_called_so() -> None:
    """All shares are off then, by chance: none of them is the cause."""
    causes = {
        c.details["cause"] for c in check_law(one_selection_for_all_rows, mlm) if c.verdict == "falsified"
    }
    (cause,) = causes
    assert cause.startswith("the rows of a batch are not drawn independently of each other")


def test_shares_are_told_of_a_vocabulary_in_which_they_are_off() -> None:
    """A random word that is never the original is one of 1,009 in the main layout, where nothing can be seen of it."""
    (variant,) = [v for v in variants(("masking.mlm",)) if v.name == "never_the_original"]
    (cause,) = {c.details["cause"] for c in check_law(variant.call, mlm) if c.verdict == "falsified"}
    assert "in a vocabulary of 2 words" in cause


def test_the_plan_reaches_its_power() -> None:
    """The main layout's size suffices for every alternative at the level of a headline test, by exact computation."""
    main = plan(mlm, None)[0]
    level = ALPHA / 2 / 5
    chosen = 0.15 * main.tokens - 6 * math.sqrt(main.tokens * 0.15 * 0.85)
    assert chosen >= sample_size(0.1, 0.09, level, POWER)
    assert main.tokens >= max(sample_size(0.15, 0.14, level, POWER), sample_size(0.15, 0.16, level, POWER))
    joint = 0.0225
    assert main.tokens / 3 >= sample_size(joint, joint + 0.05 * 0.1275, level, POWER)
    assert main.tokens >= LEAST == 600_000


def test_exact_count_draws_are_only_right_under_their_convention() -> None:
    """The exact count is refused where independence is claimed, and the other way round."""
    counted = functools.partial(ours, selection="exact_count")
    assert "law: counts" in failed(check_law(counted, mlm, {"selection": "bernoulli"}))
    assert failed(check_law(ours, mlm, {"selection": "exact_count"}))


def result(*, rate: float = 0.15, **changes: Any) -> Any:
    """A dense implementation with one thing changed."""

    def drawn(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Any:
        chosen = choose(special, generator, rate)
        corrupted, labels = corrupt(
            ids, chosen, uniform(ids, generator), words_for(ids, vocab_size, generator), mask_id
        )
        return changes["then"](corrupted, labels) if "then" in changes else (corrupted, labels)

    return drawn


@pytest.mark.parametrize(
    ("then", "says"),
    [
        (lambda c, y: c, "expected 2 tensors, got Tensor"),
        (lambda c, y: (c, y, y), "expected 2 tensors, got 3 values"),
        (lambda c, y: (c.flatten(), y), "has shape"),
        (lambda c, y: (c.double(), y), "must hold integers"),
        (lambda c, y: (c, y.tolist()), "must be a tensor; got list"),
        (lambda c, y: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_results_that_are_no_sample_are_one_clear_line(then: Any, says: str) -> None:
    """Wrong count, shape, dtype or kind, or an exception: falsified, with one line that says what."""
    (check,) = check_law(result(then=then), mlm)
    assert check.verdict == "falsified"
    assert says in check.message
    assert "\n" not in check.message


@pytest.mark.parametrize("rate", [0.14, 0.16])
def test_a_rate_off_by_a_hundredth_is_seen(rate: float) -> None:
    """14 and 16 % are refused, by the headline test; that it would be so at other seeds is what the plan's power says."""
    checks = {c.name: c for c in check_law(result(rate=rate), mlm, None, 0)}
    assert checks["law: selection"].verdict == "falsified"
    assert "expected 15 %" in checks["law: selection"].message


def test_uniform_numbers_of_eight_bits_are_seen() -> None:
    """They are below 0.15 with a probability of 39/256, and so is 15.2 % selected; those of 24 bits are right."""

    def chosen(dtype: torch.dtype) -> Any:
        def drawn(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Any:
            chosen = (torch.rand(ids.shape, generator=generator, dtype=dtype) < 0.15) & ~special
            words = words_for(ids, vocab_size, generator)
            return corrupt(ids, chosen, uniform(ids, generator), words, mask_id)

        return drawn

    assert failed(check_law(chosen(torch.bfloat16), mlm)) == {"law: selection"}
    assert not failed(check_law(chosen(torch.float32), mlm))


def test_word_of_the_id_is_seen() -> None:
    """A "random" word that is a function of the id is uniform over all positions, and still refused."""

    def neighbour(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Any:
        kind = uniform(ids, generator)
        return corrupt(ids, choose(special, generator), kind, (ids + 1) % vocab_size, mask_id)

    assert "law: words" in failed(check_law(neighbour, mlm))


def test_words_repeated_in_every_call_are_seen() -> None:
    """The same list of random words in each call is refused."""

    def listed(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Any:
        words = words_for(ids, vocab_size, Generator().manual_seed(3))
        return corrupt(ids, choose(special, generator), uniform(ids, generator), words, mask_id)

    assert "law: words" in failed(check_law(listed, mlm))


def test_a_word_outside_the_vocabulary_is_impossible() -> None:
    """V itself as a random word is refused as impossible, with the place."""

    def beyond(ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, generator: Generator) -> Any:
        words = torch.randint(vocab_size + 1, ids.shape, generator=generator)
        return corrupt(ids, choose(special, generator), uniform(ids, generator), words, mask_id)

    checks = {c.name: c for c in check_law(beyond, mlm)}
    assert checks["law: possible outcomes"].verdict == "falsified"
    assert "probability 0" in checks["law: possible outcomes"].message


def test_axioms_look_only_at_their_own_position() -> None:
    """Axioms are evaluated on a whole batch at once, which is right only if they are pointwise: others are refused."""
    from spec.language import eq

    (i, n) = mlm.law.over[0]  # type: ignore[union-attr]
    labels = mlm.law.returns[1]  # type: ignore[union-attr]
    for axiom in mlm.law.axioms:  # type: ignore[union-attr]
        require_pointwise(axiom.condition, i)
    with pytest.raises(NotImplementedError, match="other positions"):
        require_pointwise(eq(labels[i], labels[n - 1 - i]), i)


def test_an_adapted_callable_returns_what_is_drawn() -> None:
    """Several tensors, in another order, of arguments in another order: it is held to the law as it stands."""

    def drawn(special: Any, ids: Any, generator: Any, words: int, mask: int) -> Any:
        corrupted, labels = ours(ids, special, mask, words, generator=generator)
        return labels, corrupted

    def call(draw: Any, special: Any, ids: Any, generator: Any, V: int, mask_id: int) -> Any:
        return draw(special, ids, generator, V, mask_id)

    adapted = adapt.function(drawn, call, pick=[1, 0])
    checks = check_law(adapted.for_formula("masking.mlm"), mlm, asked=0.05)
    assert {check.verdict for check in checks} == {"conforms"}

"""Positions that are selected together: groups are judged as what is drawn, and what belongs to them exactly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Generator, Tensor

from spec.language import define, lt
from spec.language.formula import Formula
from spec.language.known import forget
from spec.masking.mlm import mlm
from spec.masking.parts import P, distribution, i, rho, special
from spec.masking.whole_words import continues, joined, whole_words
from tests.mutants import variants
from tests.mutants.masking import choose, corrupt, replaced, uniform, words_for
from tests.mutants.masking_words import begins, by_numbering, by_words, chosen_words
from verify import check
from verify.laws.checking import check_law
from verify.laws.selection_tests import Layout, Sample, apart, counts, independence, outcomes, selection
from verify.laws.selections import SelectionTrial, designs, find_joining_inputs, together
from verify.laws.statistics import ALPHA, Tally
from verify.report import CheckResult

WORDS = "masking.whole_words"
SMALL = Layout("small", 47, 13, 20_000, 16)


def failed(checks: list[CheckResult]) -> dict[str, CheckResult]:
    """The falsified checks by name."""
    return {c.name: c for c in checks if c.verdict == "falsified"}


def variant(name: str) -> Any:
    """A wrong variant by name."""
    (found,) = [v.call for v in variants((WORDS,)) if v.name == name]
    return found


@cache
def found(name: str) -> dict[str, CheckResult]:
    """What is falsified of a wrong variant."""
    return failed(check_law(variant(name), whole_words))


def expected(continues: Any, special: Any) -> list[bool]:
    """What goes with the position before it, one by one."""
    free = [not s for s in special]
    return [bool(i and continues[i] and free[i] and free[i - 1]) for i in range(len(free))]


def test_what_goes_together_is_evaluated_from_the_lines() -> None:
    """At each position of each design; of a law that says nothing of it, nowhere."""
    rows = designs(whole_words, SMALL, 5)
    goes = together(whole_words, None, rows)
    assert goes.tolist() == [expected(row["continues"], row["special"]) for row in rows]
    assert not together(mlm, None, designs(mlm, SMALL, 5)).any()


def stated(condition: Any) -> Formula:
    """Whole words, but for what joins them."""
    made = Formula(
        "test.joined",
        "",
        whole_words.inputs,
        (define(joined[i], condition), *distribution(rho)),
        (P,),
        constants=whole_words.constants,
        law=whole_words.law,
    )
    forget("test.joined")
    return made


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (continues[i] & ~special[i], "joined holds at the first position, which has none before it"),
        (lt(0, i) & continues[i], "what is selected together is stated to have different probabilities"),
    ],
    ids=["at the first position", "with special ones"],
)
def test_a_law_that_contradicts_itself_is_refused(condition: Any, said: str) -> None:
    """Nothing goes before the first position, and what goes together has one probability."""
    with pytest.raises(ValueError, match=f"test.joined: {said}"):
        SelectionTrial(by_numbering, stated(condition), seed=3).draw(SMALL)


def test_rows_have_words_of_one_to_four_pieces_none_and_all() -> None:
    """Also where no word can go on: at the first place of a row, and behind special tokens."""
    assert find_joining_inputs(whole_words) == {"continues"}
    assert find_joining_inputs(mlm) == set()
    rows = designs(whole_words, SMALL, 5)
    joined = together(whole_words, None, rows)
    kinds = {tuple(np.unique(row["continues"])) for row in rows}
    assert kinds == {(False,), (True,), (False, True)}
    places = np.where(joined, 0, np.arange(47))
    lengths = np.bincount(np.maximum.accumulate(places[0]))
    assert set(lengths[lengths > 0]) == {1, 2, 3, 4}
    assert any(row["continues"][0] for row in rows)
    assert any((row["continues"][1:] & row["special"][:-1] & ~row["special"][1:]).any() for row in rows)


def test_the_inputs_of_a_law_without_groups_are_as_they_were() -> None:
    """A second boolean input draws nothing from what the others are drawn from before it."""
    plain, grouped = designs(mlm, SMALL, 5), designs(whole_words, SMALL, 5)
    assert all(np.array_equal(a["special"], b["special"]) for a, b in zip(plain, grouped, strict=True))


@pytest.fixture(scope="module")
def sample() -> Sample:
    """What a right implementation draws."""
    return SelectionTrial(by_numbering, whole_words, seed=3).draw(SMALL)


def tried(sample: Sample, test: Any) -> float:
    """The p-value of the worst of the tests, times how many there are of its kind."""
    tally = Tally(ALPHA, 4)
    test(sample, tally)
    _, p, level, _ = tally.verdict()
    return p / level * ALPHA


def test_rates_are_those_of_what_is_selected_by_itself(sample: Sample) -> None:
    """What goes with another has the rate 0, and its own probabilities of what it becomes."""
    # A probability is a few products and a sum of at most 13 words' shares, each rounded once: 32 roundings at most.
    rounding = 32 * 2.0**-53
    assert (sample.rate[sample.joined] == 0).all()
    assert sample.rate[sample.rate > 0] == pytest.approx(0.15, rel=rounding)
    assert sample.given[sample.joined].sum(-1) == pytest.approx(1, rel=rounding)
    assert apart(sample) is None


def test_a_right_sample_passes_every_test(sample: Sample) -> None:
    """In all, by place, by length of the word, within words and across rows."""
    for test in (selection, counts, independence, outcomes):
        assert tried(sample, test) > ALPHA


def test_one_position_that_does_not_go_along_is_enough(sample: Sample) -> None:
    """There is no chance in it: the first such place is named."""
    t, r, i = (int(x[7]) for x in np.nonzero(sample.joined & sample.chosen))
    sample.chosen[t, r, i] = False
    try:
        assert apart(sample) == (t, r, i)
    finally:
        sample.chosen[t, r, i] = True


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("piece_by_piece", "a word's pieces are selected one by one"),
        ("first_piece_only", "only a word's first piece is selected"),
        ("across_rows", "a word goes on from one row into the next"),
        ("across_special_tokens", "a word goes on across a position that is never selected"),
        (
            "one_kind_for_a_word",
            "what becomes of the pieces of a word is not drawn for each by itself: two neighbours",
        ),
    ],
)
def test_what_is_wrong_with_groups_is_named(name: str, said: str) -> None:
    """In the words of the law."""
    (cause,) = {str(c.details["cause"]) for c in found(name).values()}
    assert cause.startswith(said)


def test_a_torn_group_is_falsified_exactly() -> None:
    """The statement gives it probability 0: the place is named, and nothing else need be wrong."""
    wrong = found("piece_by_piece")
    assert set(wrong) == {"law: together"}
    message = wrong["law: together"].message
    assert message.startswith("the pieces of a word are not selected together; main, design 0, ")
    assert message.endswith("the statement gives this probability 0")


def tied(continues: Tensor, special: Tensor, generator: Generator, share: float) -> Tensor:
    """Words of which a share copies what was drawn for the word before."""
    begin = begins(continues, special)
    drawn = uniform(special, generator)[begin]
    copies = torch.rand(drawn.shape, generator=generator) < share
    drawn = torch.where(copies, drawn.roll(1), drawn)
    return (drawn[begin.flatten().cumsum(0) - 1].view(special.shape) < 0.15) & ~special


def test_neighbouring_words_that_correlate_are_seen() -> None:
    """By 0.05, however many pieces stand between their beginnings."""

    def drawn(
        ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, V: int, generator: Generator
    ) -> Any:
        return replaced(ids, tied(continues, special, generator, 0.05), mask_id, V, generator)

    wrong = failed(check_law(drawn, whole_words))
    assert "both selected of neighbours" in wrong["law: independence"].message


def test_long_words_that_are_selected_less_often_are_seen() -> None:
    """14 % of the words with four pieces and more, 15 % of the others."""

    def drawn(
        ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, V: int, generator: Generator
    ) -> Any:
        begin = begins(continues, special)
        length = torch.bincount(begin.flatten().cumsum(0))[begin.flatten().cumsum(0)].view(ids.shape)
        chosen = by_words(choose(special, generator), begin)
        kept = by_words(uniform(ids, generator), begin) < torch.where(length >= 4, 0.5, 1.0)
        return replaced(ids, chosen & kept, mask_id, V, generator)

    assert "law: selection" in failed(check_law(drawn, whole_words))


def test_an_outcome_that_depends_on_the_place_in_the_word_is_seen() -> None:
    """First pieces are masked in 82 %, others in 78.7 %: 80 % of all."""

    def drawn(
        ids: Tensor, continues: Tensor, special: Tensor, mask_id: int, V: int, generator: Generator
    ) -> Any:
        first = begins(continues, special)
        kind = uniform(ids, generator) + torch.where(first, -0.02, 0.013)
        chosen = chosen_words(continues, special, generator)
        return corrupt(ids, chosen, kind, words_for(ids, V, generator), mask_id)

    assert (
        "at place 0 of what is selected together"
        in failed(check_law(drawn, whole_words))["law: outcomes"].message
    )


def test_the_other_replacement_is_found() -> None:
    """What always masks is told so, with the convention under which it conforms."""
    report = check(variant("always_masked"), WORDS)
    assert report.hint == "conforms under convention replacement=always_mask"

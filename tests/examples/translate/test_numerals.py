from __future__ import annotations

import pytest
import torch

from examples.translate.numerals import (
    BEGIN,
    END,
    HELD_OUT,
    IGNORED,
    LIMIT,
    LONGEST,
    VOCABULARY,
    Held,
    held_out,
    measured_numbers,
    pairs,
    read,
    spelt,
    training_numbers,
)


def generator(seed: int = 3) -> torch.Generator:
    """One of its own."""
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def held() -> Held:
    """What is held out for one seed."""
    return held_out(generator())


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (42, "forty two"),
        (100, "one hundred"),
        (207, "two hundred and seven"),
        (1000, "one thousand"),
        (1042, "one thousand and forty two"),
        (17300, "seventeen thousand three hundred"),
        (207042, "two hundred and seven thousand and forty two"),
        (999999, "nine hundred and ninety nine thousand nine hundred and ninety nine"),
    ],
)
def test_numbers_are_spelt_as_one_says_them(number: int, words: str) -> None:
    """With "and" before tens and units, behind hundreds as behind thousands."""
    assert " ".join(spelt(number)) == words


def test_words_are_read_back_to_the_number_that_they_name() -> None:
    """Every thousandth number and its neighbours, and all below two thousand; no two are spelt alike."""
    numbers = {*range(2000), *(n + k for n in range(0, LIMIT - 1, 997) for k in (-1, 0, 1) if n + k >= 0)}
    said = {number: spelt(number) for number in numbers}
    assert all(read(words) == number for number, words in said.items())
    assert len({" ".join(words) for words in said.values()}) == len(numbers)
    assert max(map(len, said.values())) <= LONGEST == len(spelt(999_999))


@pytest.mark.parametrize(
    "words", ["seven twenty", "zero thousand", "one hundred two", "thousand", "", "ninety-nine"]
)
def test_what_nobody_says_is_refused(words: str) -> None:
    """Numbers have one spelling."""
    with pytest.raises(ValueError, match=r"^numerals: expected"):
        read(words.split())


@pytest.mark.parametrize("number", [-1, LIMIT])
def test_numbers_that_have_no_words_here_are_refused(number: int) -> None:
    """Below 0, and from a million on."""
    with pytest.raises(ValueError, match=rf"^numerals: expected a number in 0..999999; got {number}$"):
        spelt(number)


def test_the_sets_held_out_are_disjoint(held: Held) -> None:
    """A hundred groups for each place; a seed gives one choice, another seed another."""
    assert len(held.before) == len(held.behind) == HELD_OUT
    assert not held.before & held.behind
    assert held.before | held.behind <= set(range(1, 1000))
    assert held_out(generator()) == held != held_out(generator(5))


def test_training_never_shows_a_group_where_it_is_held_out(held: Held) -> None:
    """And shows it in the other place; every word occurs, and so do numbers of every length."""
    numbers = training_numbers(20_000, held, generator())
    assert len(numbers) == 20_000
    before, behind = {n // 1000 for n in numbers}, {n % 1000 for n in numbers}
    assert not before & held.before
    assert not behind & held.behind
    assert held.before <= behind
    assert held.behind <= before
    assert {len(str(n)) for n in numbers} == {1, 2, 3, 4, 5, 6}
    assert {word for n in numbers for word in spelt(n)} == set(VOCABULARY[12:])


def test_what_is_measured_is_new_in_both_halves(held: Held) -> None:
    """Each number once; there are ten thousand."""
    numbers = measured_numbers(10**6, held, generator())
    assert len(numbers) == len(set(numbers)) == HELD_OUT**2
    assert all(n // 1000 in held.before and n % 1000 in held.behind and held.out(n) for n in numbers)


def test_a_batch_holds_each_number_in_both_directions() -> None:
    """Targets end in the end word, decoders are given the same one place later, and nothing counts behind."""
    batch = pairs([42, 207_042])
    rows = [
        (["forty", "two"], list("42")),
        (spelt(207_042), list("207042")),
        (list("42"), ["forty", "two"]),
        (list("207042"), spelt(207_042)),
    ]
    for (source, target), ids, mask, wanted, previous in zip(
        rows, batch.source, batch.source_mask, batch.target, batch.previous, strict=True
    ):
        assert [VOCABULARY[i] for i in ids[mask].tolist()] == source
        n = len(target)
        assert [VOCABULARY[i] for i in wanted[:n].tolist()] == target
        assert wanted[n] == END
        assert (wanted[n + 1 :] == IGNORED).all()
        assert previous[: n + 1].tolist() == [BEGIN, *wanted[:n].tolist()]

"""Byte-level BPE: the reference satisfies its requirements in every small problem, and each requirement can be broken."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from spec.gpt import bpe
from spec.language.procedure import Requirement

WORDS = tuple("".join(word) for length in range(5) for word in itertools.product("ab", repeat=length))
"""All words of at most four letters."""


def lists(most: int) -> Iterator[tuple[bpe.Pair, ...]]:
    """Every list of so many pairs at most, each of letters or of what pairs before it make, none making what is known."""
    rows: list[tuple[bpe.Pair, ...]] = [()]
    while rows:
        merges = rows.pop()
        yield merges
        known = ("a", "b", *("".join(pair) for pair in merges))
        if len(merges) < most:
            rows += [(*merges, p) for p in itertools.product(known, known) if "".join(p) not in known]


def test_bpe_satisfies_every_requirement_in_every_small_problem() -> None:
    """The reference, for all lists of up to three pairs; in some a pair is lost to one that was learned before it."""
    lost = 0
    for merges in lists(3):
        problem = bpe.Problem(WORDS, merges)
        for requirement in bpe.bpe.requirements:
            assert requirement.broken(problem, bpe.reference) == "", (requirement.name, problem)
        lost += ("b", "a") in merges and bpe.tokens_of(problem, "aba") == ("ab", "a")
    assert lost > 0


def test_a_byte_is_written_as_gpt_2_writes_it() -> None:
    """A space as Ġ, a line's end as Ċ, a soft hyphen as Ń; every byte as another character."""
    assert [bpe.character_of(ord(c)) for c in " \n~\x00\xad"] == ["Ġ", "Ċ", "~", "Ā", "Ń"]
    assert len({bpe.character_of(byte) for byte in range(256)}) == 256


PROBLEM = bpe.Problem(("abab", "b", " é"), (("a", "b"), ("ab", "a"), ("ab", "ab")))
TOKENS: dict[str, list[bpe.Tokens]] = {
    "bytes": [("abab",), ("b",), ("Ġ", "é")],
    "joined": [("abab",), ("b",), ("Ã", "©")],
    "known": [("aba", "b"), ("b",), ("ĠÃ", "©")],
    "finished": [("ab", "ab"), ("b",), ("Ġ", "Ã", "©")],
    "stepwise": [("ab", "ab"), ("b",), ("Ġ", "Ã", "©")],
    "alone": [("abab",), ("b",), ("Ġ", "Ã", "©")],
}
"""For each requirement, tokens that break it, whatever is asked."""


@pytest.mark.parametrize("requirement", bpe.bpe.requirements, ids=lambda r: r.name)
def test_a_requirement_of_bpe_can_be_broken(requirement: Requirement) -> None:
    """Tokens changed on purpose are refused, in one line; what a word becomes alone differs where each gets the first one's."""
    found = TOKENS[requirement.name]
    said = requirement.broken(PROBLEM, lambda problem: found[: len(problem.words)])
    assert said
    assert "\n" not in said

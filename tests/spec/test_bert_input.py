"""Packing and WordPiece: the references satisfy their requirements in every small problem, and each requirement can be broken."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest

from spec.bert import pack, wordpiece
from spec.language.procedure import Requirement

PIECES = ("a", "b", "ab", "ba", "##a", "##b", "##ab", "##ba", "##bab")
"""Pieces of two letters: any of them may be in the vocabulary."""
WORDS = tuple("".join(word) for length in range(5) for word in itertools.product("ab", repeat=length))
"""All words of at most four letters, one of them too long."""
LONGEST = 3


def packed_texts() -> Iterator[pack.Problem]:
    """Texts of up to five tokens, alone and in pairs, every room for them and every convention; those that can be cut."""
    texts = range(6)
    for a, b, longest in itertools.product(texts, (None, *texts), range(3, 14)):
        for truncation, odd in itertools.product(pack.TRUNCATION.options, pack.ODD.options):
            conventions = {"truncation": truncation, "odd": odd}
            second = None if b is None else tuple(range(20, 20 + b))
            problem = pack.Problem(tuple(range(10, 10 + a)), second, 1, 2, longest, conventions)
            try:
                pack.truncate_lengths(problem)
            except ValueError:
                continue
            yield problem


def vocabularies() -> Iterator[wordpiece.Problem]:
    """Every vocabulary of the pieces, and all words under it."""
    for chosen in itertools.product((False, True), repeat=len(PIECES)):
        yield wordpiece.Problem(WORDS, frozenset(itertools.compress(PIECES, chosen)), longest=LONGEST)


def test_packing_satisfies_every_requirement_in_every_small_problem() -> None:
    """The reference, under all conventions; there are texts that had to be cut, and some of each kind that had not."""
    cut = set()
    for problem in packed_texts():
        for requirement in pack.pack.requirements:
            assert requirement.broken(problem, pack.reference) == "", (requirement.name, problem)
        kept = pack.truncate_lengths(problem)
        cut.add((len(problem.a) > kept[0], len(problem.b or ()) > kept[1]))
    assert len(cut) == 4


def test_wordpiece_satisfies_every_requirement_in_every_small_problem() -> None:
    """The reference, for all vocabularies of nine pieces; in some the longest piece loses a word that others make."""
    lost = 0
    for problem in vocabularies():
        for requirement in wordpiece.wordpiece.requirements:
            assert requirement.broken(problem, wordpiece.reference) == "", (requirement.name, problem)
        unknown = dict(zip(problem.words, wordpiece.reference(problem), strict=True))["aba"] == ("[UNK]",)
        lost += unknown and {"a", "##ba"} <= problem.vocabulary
    assert lost > 0


PAIR = pack.Problem((11, 12, 13, 14, 15), (21, 22), 1, 2, 8, pack.pack.choose())
SPOILED: dict[str, Callable[[pack.Ids, pack.Ids], pack.Packed]] = {
    "layout": lambda ids, segments: (ids[::-1], segments),
    "segments": lambda ids, segments: (ids, tuple(1 - s for s in segments)),
    "fits": lambda ids, segments: (ids[:-1], segments[:-1]),
    "fair": lambda ids, segments: ((1, 11, 12, 13, 14, 2, 2), (0, 0, 0, 0, 0, 0, 1)),
}
"""For each requirement of packing, a result that breaks it."""


@pytest.mark.parametrize("requirement", pack.pack.requirements, ids=lambda r: r.name)
def test_a_requirement_of_packing_can_be_broken(requirement: Requirement) -> None:
    """A sequence changed on purpose is refused, in one line."""
    said = requirement.broken(PAIR, lambda problem: SPOILED[requirement.name](*pack.reference(problem)))
    assert said
    assert "\n" not in said


SPLIT = wordpiece.Problem(
    ("abab", "ab", "c", "abc"), frozenset({"a", "ab", "##a", "##b", "##ab"}), longest=LONGEST + 1
)
PARTS: dict[str, list[wordpiece.Pieces]] = {
    "known": [("ab", "##ab"), ("ab",), ("c",), ("[UNK]",)],
    "joined": [("ab", "##b"), ("ab",), ("[UNK]",), ("[UNK]",)],
    "greedy": [("ab", "##a", "##b"), ("ab",), ("[UNK]",), ("[UNK]",)],
    "whole": [("ab", "##ab"), ("a", "##b"), ("[UNK]",), ("[UNK]",)],
    "unknown": [("ab", "##ab"), ("ab",), ("[UNK]",), ("ab", "[UNK]")],
}
"""For each requirement of WordPiece that looks at one result, pieces that break it."""


@pytest.mark.parametrize("requirement", wordpiece.wordpiece.requirements, ids=lambda r: r.name)
def test_a_requirement_of_wordpiece_can_be_broken(requirement: Requirement) -> None:
    """Pieces changed on purpose are refused; what a word becomes alone differs where all are given the first one's pieces."""
    wrong = PARTS.get(requirement.name)
    said = requirement.broken(
        SPLIT, lambda problem: wrong or [wordpiece.reference(problem)[0]] * len(problem.words)
    )
    if requirement.name == "alone":
        assert "alone" in said
    assert said
    assert "\n" not in said


def test_a_single_text_is_the_first() -> None:
    """All but only_second cut it; where that is the convention, what does not fit is refused, and what fits is as it was."""
    for truncation in ("longest_first", "only_first"):
        assert pack.reference(pack.Problem((5, 6, 7), None, 1, 2, 4, {"truncation": truncation}))[0] == (
            1,
            5,
            6,
            2,
        )
    second = {"truncation": "only_second"}
    assert pack.reference(pack.Problem((5, 6, 7), None, 1, 2, 5, second))[0] == (1, 5, 6, 7, 2)
    with pytest.raises(ValueError, match="a sequence of 4 has no room"):
        pack.reference(pack.Problem((5, 6, 7), None, 1, 2, 4, second))
    assert "only_second never does" in pack.pack.notes


def test_a_text_that_may_not_be_cut_and_does_not_fit_is_refused() -> None:
    """Five tokens of the first text stay, and there is room for two of both."""
    problem = pack.Problem(PAIR.a, PAIR.b, 1, 2, 5, {"truncation": "only_second"})
    with pytest.raises(ValueError, match="a sequence of 5 has no room"):
        pack.reference(problem)

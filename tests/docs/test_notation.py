"""The notation of the decks and papers beside ours: every letter of ours is one of the formula, which cites the work."""

from __future__ import annotations

import re

import pytest
from generate import notation
from generate.bibliography import citations
from generate.lines import symbols
from generate.markup import inline

from spec.bibliography import DECKS
from spec.language.registry import find

EVERY = [(key, formula_id) for key, formulas in notation.LETTERS.items() for formula_id in formulas]


@pytest.mark.parametrize(("key", "formula_id"), EVERY)
def test_each_of_our_letters_is_one_of_the_formula_and_not_theirs(key: str, formula_id: str) -> None:
    """It has a meaning, which the table shows; and it differs from the work's, which is what the table is for."""
    known = symbols(find(formula_id))
    for theirs, ours in notation.LETTERS[key][formula_id].items():
        assert ours in known, f"{formula_id} has no {ours}"
        letter, meaning, *_ = known[ours]
        assert meaning, f"{formula_id} does not say what {ours} means"
        assert inline(theirs) != letter


@pytest.mark.parametrize(("key", "formula_id"), EVERY)
def test_a_formula_beside_a_works_letters_cites_the_work(key: str, formula_id: str) -> None:
    """Otherwise the letters would be compared with something else."""
    assert key in {source.reference.key for source in citations(find(formula_id))}


def test_every_deck_has_a_table_and_every_letter_a_row() -> None:
    """With the letter, ours, its meaning and a link."""
    text = notation.tables()
    for work in DECKS:
        assert f"## Deck {work.key}: " in text
    assert len(re.findall("<tr><td>", text)) == sum(
        len(letters) for formulas in notation.LETTERS.values() for letters in formulas.values()
    )

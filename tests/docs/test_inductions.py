"""Inductions on a page: what is shown, where it begins, the hypothesis, the step; one that serves twice is shown once."""

from __future__ import annotations

import re

from generate import theorems

from spec.language.proving.proof import check
from spec.language.registry import find


def derivation_of(formula_id: str, name: str) -> str:
    """The part of a formula's theorems that is about one of them, mathematics left out."""
    formula = find(formula_id)
    return re.sub(r"<math.*?</math>", "", theorems.written(check(formula.theorems[name], formula)))


def test_an_induction_has_a_base_a_hypothesis_and_a_step() -> None:
    """In this order, before what follows from it."""
    shown = derivation_of("recurrent.bidirectional", "reversal")
    words = [
        shown.index(word)
        for word in ("By induction over", "Base, at", "Step, from", "the hypothesis", "Hence")
    ]
    assert words == sorted(words)


def test_a_claim_that_is_its_own_induction_has_no_further_step() -> None:
    """The last step of the induction is the end of the derivation."""
    shown = derivation_of("recurrent.rnn", "vanishes")
    assert "By induction over" in shown
    assert "Hence" not in shown


def test_an_induction_inside_another_is_shown_inside_it_and_only_once() -> None:
    """Layer by layer, and step by step within each: both claims rest on the same."""
    shown = derivation_of("recurrent.lstm_stacked", "prefix")
    assert shown.count("By induction over") >= 3
    assert "By the same induction as above" in shown
    assert shown.count('<div class="induction">') == shown.count("By induction over")

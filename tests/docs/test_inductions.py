"""Inductions on a page: what is shown, where it begins, the hypothesis, the step; one that serves twice is shown once."""

from __future__ import annotations

import re
from collections.abc import Callable


def without_mathematics(section: str) -> str:
    """Its words."""
    return re.sub(r"<math.*?</math>", "", section)


def test_an_induction_has_a_base_a_hypothesis_and_a_step(section: Callable[[str], str]) -> None:
    """In this order, before what follows from it."""
    shown = without_mathematics(section("recurrent.bidirectional.reversal"))
    words = [
        shown.index(word)
        for word in ("By induction over", "Base, at", "Step, from", "the hypothesis", "Hence")
    ]
    assert words == sorted(words)


def test_a_claim_that_is_its_own_induction_has_no_further_step(section: Callable[[str], str]) -> None:
    """The last step of the induction is the end of the derivation."""
    shown = without_mathematics(section("recurrent.rnn.vanishes"))
    assert "By induction over" in shown
    assert "Hence" not in shown


def test_an_induction_inside_another_is_shown_inside_it_and_only_once(section: Callable[[str], str]) -> None:
    """Layer by layer, and step by step within each: both claims rest on the same."""
    shown = without_mathematics(section("recurrent.lstm_stacked.prefix"))
    assert shown.count("By induction over") >= 3
    assert "By the same induction as above" in shown
    assert shown.count('<div class="induction">') == shown.count("By induction over")

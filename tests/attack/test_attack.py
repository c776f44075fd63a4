"""Every written claim is false by evaluation, and refused by the prover alone; a short run of the fuzzer finds no hit."""

from __future__ import annotations

import time

import pytest

from tests.attack.checking import said
from tests.attack.claims import CLAIMS
from tests.attack.board import False_
from tests.attack.fuzzing import Tally, mutated_round, random_round
from tests.attack.refute import refuted

FEWEST = 300
EVER = 10**9
"""Seconds that a short run may take at most: it ends by its number of examples."""


def test_there_are_enough_claims_and_none_twice() -> None:
    """Each has a name of its own in its category."""
    labels = [one.label for one in CLAIMS]
    assert len(set(labels)) == len(labels) >= FEWEST


@pytest.mark.parametrize("one", CLAIMS, ids=lambda one: one.label)
def test_a_false_claim_is_refuted_by_evaluation_and_refused(one: False_) -> None:
    """Some are refused already when they are written; the others by the prover, its guard switched off, in one line."""
    try:
        theorem = one.theorem()
    except (ValueError, TypeError):
        assert one.made
        return
    assert refuted(one, theorem)
    found = said(theorem, one.formula)
    assert found.verdict == "refused", found.words
    assert "\n" not in found.words


@pytest.mark.parametrize("run", [random_round, mutated_round], ids=["random", "mutated"])
def test_nothing_that_is_proved_is_refuted(run: object) -> None:
    """Random claims and mutants of our theorems: what the prover alone accepts, evaluation does not refute."""
    tally = Tally("short")
    run(1, tally, time.monotonic() + EVER, 40)  # type: ignore[operator]  (one of the two rounds)
    assert tally.counts["tried"]
    assert not tally.hits, "\n".join(tally.hits)

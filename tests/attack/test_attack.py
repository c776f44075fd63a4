"""Every written claim is false by evaluation, and refused by the prover alone; a short run of the fuzzer finds no hit."""

from __future__ import annotations

import gc
import math
import time

import pytest

from tests.attack.board import FalseClaim
from tests.attack.checking import OutOfTime, budget, said
from tests.attack.claims import CLAIMS
from tests.attack.fuzzing import Tally, mutated_round, random_round
from tests.attack.refute import refuted

FEWEST = 300
EVER = math.inf
"""A short run ends by its number of examples, not by the clock."""


def test_there_are_enough_claims_and_none_twice() -> None:
    """Each has a name of its own in its category."""
    labels = [one.label for one in CLAIMS]
    assert len(set(labels)) == len(labels) >= FEWEST


@pytest.mark.parametrize("one", CLAIMS, ids=lambda one: one.label)
def test_a_false_claim_is_refuted_by_evaluation_and_refused(one: FalseClaim) -> None:
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


def _spend(seconds: float) -> None:
    """So much of this process's own time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_budget_that_ends_during_a_collection_of_garbage_ends_after_it() -> None:
    """What is raised there would be dropped, and the rest would run without an end."""

    def look_on(_: str, __: dict[str, int]) -> None:
        _spend(0.1)

    def collect_and_go_on() -> None:
        gc.collect()
        _spend(60.0)

    gc.callbacks.append(look_on)
    try:
        with pytest.raises(OutOfTime), budget(0.05):
            collect_and_go_on()
    finally:
        gc.callbacks.remove(look_on)


def test_no_random_claim_that_is_proved_is_refuted() -> None:
    """Trees and what laws, right and wrong, make of them: what the prover alone accepts, evaluation does not refute."""
    tally = Tally("random")
    random_round(1, tally, EVER, 40)
    assert tally.counts["tried"] == 40
    assert not tally.hits, "\n".join(tally.hits)


def test_no_mutant_of_ours_that_is_proved_is_refuted() -> None:
    """Our theorems changed in one place, each in a few seconds of this process's own time."""
    tally = Tally("mutated")
    mutated_round(1, tally, EVER, 12, 1.0)
    assert tally.counts["tried"] == 12
    assert not tally.hits, "\n".join(tally.hits)

"""Conditions asked once for all places that they cannot tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from spec.language.evaluation import scope
from spec.language.evaluation.alike import FEWEST, alike, representatives
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import Evaluator
from spec.language.evaluation.walk import Walk
from spec.language.flatten import chosen
from spec.masking.nsp import candidate, e, first, follows, k, n, nsp, second
from spec.vocabulary import Some, given, lt

PAIRS, SENTENCES = 131, 11


def evaluator(seed: int, convention: str) -> Evaluator:
    """Many pairs of few sentences."""
    rng = np.random.default_rng(seed)
    bindings = bind(
        nsp.flat({"negatives": convention}),
        {"starts": rng.random(SENTENCES) < 0.4, "first": rng.integers(0, SENTENCES, PAIRS)},
    )
    bindings.tensor(nsp.id, second, rng.integers(-1, SENTENCES, PAIRS))
    return Evaluator(Walk(), bindings)


@pytest.mark.parametrize("convention", ["not_next", "other_document", "any"])
@pytest.mark.parametrize("seed", range(3))
def test_asked_once_a_condition_holds_where_it_holds_asked_everywhere(
    seed: int, convention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under guards that tell places apart as well as without."""
    inside = lt(-1, second[k])
    conditions = [
        chosen(each, {"negatives": convention})
        for each in (Some(candidate(e), e), Some(follows(e), e), ~inside | candidate(second[k]))
    ]
    found = []
    for fewest in (FEWEST, PAIRS + 1):
        monkeypatch.setattr("spec.language.evaluation.alike.FEWEST", fewest)
        here = evaluator(seed, convention)
        with here.within([(k, 0, PAIRS - 1)], None):
            found.append([np.broadcast_to(here.condition(each), (PAIRS,)) for each in conditions])
    for once, everywhere in zip(*found, strict=True):
        np.testing.assert_array_equal(once, everywhere)


def test_few_places_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of places that are really asked is that of the different rows, and all of them where there are few."""
    asked = []
    plain = scope.Scope._any_here

    def counted(self: scope.Scope, node: object) -> object:
        asked.append(len(self.ranges[k]))
        return plain(self, node)

    monkeypatch.setattr(scope.Scope, "_any_here", counted)
    here = evaluator(0, "other_document")
    with here.within([(k, 0, PAIRS - 1)], None):
        here.condition(chosen(Some(candidate(e), e), {"negatives": "other_document"}))
    assert max(asked) <= SENTENCES


def test_a_place_of_its_own_is_never_taken_for_another() -> None:
    """Where an index itself counts, or an entry next to it, places differ."""
    places = {k: np.arange(PAIRS)}
    entries = {"first": np.zeros(PAIRS, np.int64)}
    free = given("free", n, domain="integer", below=7)
    assert alike(Some(follows(e), e), places, entries | {"starts": np.zeros(SENTENCES, bool)}) is not None
    assert alike(lt(first[k], k), places, entries) is None
    assert alike(lt(first[k + 1], 3), places, entries) is None
    assert alike(lt(free[k], 3), places, entries) is None


def test_representatives_stand_for_equal_rows_alone() -> None:
    """Each place is like its representative in every column, and representatives differ."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(-3, 3, 97), rng.integers(0, 2, 97).astype(bool)]
    kept, kind = representatives(columns)
    for column in columns:
        np.testing.assert_array_equal(column[kept][kind], column)
    rows = {tuple(column[at] for column in columns) for at in kept}
    assert len(rows) == len(kept) == len(set(zip(*columns, strict=True)))
    assert (np.diff(kept) > 0).all()

"""Conditions asked once for all places that they cannot tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from spec.language.evaluation.binding import bind
from spec.language.evaluation.compiled import conditions as compiled_conditions
from spec.language.evaluation.compiled.conditions import factor_cases, representatives
from spec.language.evaluation.compiled.frame import Around
from spec.language.evaluation.evaluator import Evaluator
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import apply_conventions
from spec.language.trees import refs
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
    return Evaluator(RunningError(), bindings)


@pytest.mark.parametrize("convention", ["not_next", "other_document", "any"])
@pytest.mark.parametrize("seed", range(3))
def test_asked_once_a_condition_holds_where_it_holds_asked_everywhere(
    seed: int, convention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under guards that tell places apart as well as without."""
    inside = lt(-1, second[k])
    conditions = [
        apply_conventions(each, {"negatives": convention})
        for each in (Some(candidate(e), e), Some(follows(e), e), ~inside | candidate(second[k]))
    ]
    found = []
    for fewest in (compiled_conditions.FEWEST, PAIRS + 1):
        monkeypatch.setattr(compiled_conditions, "FEWEST", fewest)
        here = evaluator(seed, convention)
        found.append([here.condition(each, ((k, 0, PAIRS - 1),)) for each in conditions])
    for once, everywhere in zip(*found, strict=True):
        np.testing.assert_array_equal(once, everywhere)


def test_few_places_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of places that are really asked is that of the different rows."""
    kept = []
    monkeypatch.setattr(compiled_conditions.Cases, "store_entries", _counted(kept))
    evaluator(0, "other_document").condition(
        apply_conventions(Some(candidate(e), e), {"negatives": "other_document"}), ((k, 0, PAIRS - 1),)
    )
    assert kept
    assert max(kept) <= SENTENCES


def _counted(kept: list[int]) -> object:
    plain = compiled_conditions.Cases.store_entries

    def put(self: compiled_conditions.Cases, frame: object, rows: object, places: np.ndarray) -> None:
        kept.append(len(places))
        plain(self, frame, rows, places)

    return put


def test_a_place_of_its_own_is_never_taken_for_another() -> None:
    """Where an index itself counts, or an entry next to it, places differ."""
    around = Around().inside(k, 0, fixed=False, static=True)
    free = given("free", n, domain="integer", below=7)
    found = factor_cases(Some(follows(e), e), around)
    assert found is not None
    assert found.symbol == k
    assert not {first} & {entry.tensor for entry in refs(found.node)}
    for tied in (lt(first[k], k), lt(first[k + 1], 3), lt(free[e], 3)):
        assert factor_cases(Some(tied, e), around) is None


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

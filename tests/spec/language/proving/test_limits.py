"""What a step may take: searches within searches, and an end to rewriting."""

from __future__ import annotations

import pytest

from spec.language.proving.knowledge import limits
from spec.language.proving.knowledge.limits import Limits
from spec.language.proving.obligations import Unprovable
from spec.language.proving.proof import check
from spec.language.registry import find
from spec.language.theorem import Assurance


def test_a_search_beyond_the_limit_is_left_out_and_counted() -> None:
    """And may begin again when one has ended."""
    found = Limits()
    with found.within("witness", 1) as first:
        assert first
        with found.within("witness", 1) as second:
            assert not second
    assert found.count_left_out("witness") == 1
    assert found.count_left_out("estimate", "step") == 0
    with found.within("witness", 1) as third:
        assert third


def test_where_there_are_none_none_begins() -> None:
    """However few are running; afterwards it is as before."""
    found = Limits()
    with found.without("estimate"):
        assert not found.allows("estimate", 5)
    assert found.allows("estimate", 0)


def test_a_step_that_takes_too_long_is_refused_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to do; nothing is proved by giving up."""
    monkeypatch.setattr(limits, "MOST_REWRITINGS", 20)
    with pytest.raises(Unprovable, match="undecided after 20 rewritings"):
        Limits().rewrites(21)
    formula = find("attention.softmax")
    checked = check(formula.theorems["jacobian"], formula, guard=False)
    assert checked.assurance == Assurance.REFUSED
    assert "put a line between the two" in checked.refusal
    assert "\n" not in checked.refusal

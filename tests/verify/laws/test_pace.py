"""A callable that draws one by one gets its verdict in time: from fewer draws, whose power is said."""

from __future__ import annotations

import time
from typing import Any

import pytest
from torch import Generator, Tensor

from impl.masking import mlm
from spec.decoding.sample import sample
from spec.masking.nsp import nsp
from tests.mutants.pairs import plain
from verify import check
from verify.laws import trial
from verify.laws.checking import check_law
from verify.laws.choice_tests import LEAST, Situation
from verify.laws.choices import situations
from verify.laws.selection_tests import Layout
from verify.laws.statistics import ALPHA, POWER, region
from verify.subject import timing

Pair = tuple[Tensor, Tensor]


def busy(count: int, each: float) -> None:
    """Use ``each`` seconds of the processor for every position, as a loop over them would."""
    end = time.process_time() + count * each
    while time.process_time() < end:
        pass


def slow(share: float) -> Any:
    """Pairs drawn as if one by one, in a fifth of a millisecond each."""

    def draw(starts: Tensor, first: Tensor, generator: Generator) -> Pair:
        busy(first.numel(), 2e-4)
        return plain(starts, first, generator, share)

    return draw


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few seconds for all calls."""
    monkeypatch.setattr(trial, "SECONDS", 2.0)


def test_a_slow_callable_gets_a_verdict(hurried: None) -> None:
    """Pairs that would take nine minutes are judged by few draws, and the report says what these see."""
    began = time.process_time()
    report = check(slow(0.5), "masking.nsp")
    assert time.process_time() - began < 60
    assert report.verdict == "conforms"
    (note,) = report.notes
    assert note.startswith("calls are slow: ")
    assert "is seen with power 0.999" in note
    assert any("power ≥ 0.999 against 0." in check.message for check in report.checks)


def test_what_is_far_off_is_seen_of_a_slow_callable(hurried: None) -> None:
    """Nine of ten pairs are the next sentence: few draws tell."""
    found = [c for c in check_law(slow(0.9), nsp) if c.verdict == "falsified"]
    assert found[0].details["cause"].startswith("the share of label 0 is off: 9")


def test_rows_drawn_token_by_token_get_a_verdict(hurried: None) -> None:
    """A law that selects positions keeps the same pace."""

    def token_by_token(*inputs: Any) -> Any:
        busy(inputs[0].numel(), 5e-5)
        return mlm(*inputs)

    report = check(token_by_token, "masking.mlm")
    assert report.verdict == "conforms"
    assert any(note.startswith("calls are slow: ") for note in report.notes)


def test_a_quick_callable_is_asked_for_all_draws() -> None:
    """Nothing is said of draws that were all made."""
    main, *_ = situations(sample)
    assert main.take_share(1.0) is main
    assert check(plain, nsp).notes == []


def test_the_share_follows_from_what_a_call_and_a_position_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten milliseconds a call and two a position: a tenth of ten calls of 149 positions takes 0.308 s."""
    clock = [0.0]
    monkeypatch.setattr(timing.time, "process_time", lambda: clock[0])
    monkeypatch.setattr(trial, "SECONDS", 0.308)

    def once(copies: int) -> int:
        clock[0] += 0.010 + 0.002 * 3 * copies
        return 3 * copies

    assert trial.share(once, [(10, 149)], 7) == pytest.approx(0.1)
    monkeypatch.setattr(trial, "SECONDS", 3.5)
    assert trial.share(once, [(10, 149)], 7) == 1.0


@pytest.mark.parametrize(("count", "p"), [(31_000, 0.5), (2_003, 0.15), (67, 0.5)])
def test_the_power_told_is_reached(count: int, p: float) -> None:
    """By exact computation: the deviation told is seen with the stated power, one a hundredth smaller is not on some side."""
    level = ALPHA / 40
    off = trial.least_seen(count, p, level)
    test = region(count, p, level)
    assert all(test.power(q) >= POWER for q in (p - off, p + off) if 0 < q < 1)
    assert any(test.power(q) < POWER for q in (p - off + 0.01, p + off - 0.01) if 0 < q < 1)


def test_everything_is_drawn_some_times() -> None:
    """However slow a callable is, a situation keeps a few calls, and a layout its two."""
    assert all(s.take_share(1e-9).draws >= min(s.draws, LEAST) for s in situations(sample))
    little = Situation("some", 3, 5, 30_000).take_share(1e-9)
    assert (little.draws, little.copies, little.calls) == (LEAST, 32, 2)
    layout = Layout("some", 48, 1009, 600_000, 64).take_share(1e-9)
    assert (layout.copies, layout.plan_calls(12)[0]) == (1, 2)

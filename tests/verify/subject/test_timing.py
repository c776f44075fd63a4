"""How long a call takes: what happens once, or between two ticks of the clock, does not count."""

from __future__ import annotations

import pytest

from verify.subject import timing


@pytest.mark.parametrize(
    ("each", "said", "calls"),
    [
        ((4.0, 0.0625, 0.03125), 0.03125, 3),  # the first sets something up
        ((0.0, 4e-3, 0.0), 0.0, 3),  # the clock ticks during one of them
        ((3.0, 2.0), 2.0, 2),  # long ones are not made more often than needed
    ],
)
def test_the_least_of_a_few_calls_counts(
    monkeypatch: pytest.MonkeyPatch, each: tuple[float, ...], said: float, calls: int
) -> None:
    """Three calls at most, two where they are long; the shortest is how long it takes."""
    clock, left = [0.0], list(each)
    monkeypatch.setattr(timing.time, "process_time", lambda: clock[0])

    def call() -> None:
        clock[0] += left.pop(0)

    assert timing.least_seconds(call) == pytest.approx(said)
    assert len(each) - len(left) == calls

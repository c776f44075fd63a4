"""Arrays that nobody writes to: each is read through once, however often it is drawn, and tells what its entries tell."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from verify import closed_arrays
from verify.closed_arrays import Digests, close, digest


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Those that were read through."""
    seen: list[Any] = []
    once = closed_arrays._read
    monkeypatch.setattr(closed_arrays, "_read", lambda array: seen.append(array) or once(array))
    return seen


def test_an_array_is_read_once_and_so_is_one_that_is_drawn_anew(read: list[Any]) -> None:
    """Another one's is read by itself."""
    told: Digests = {}
    for _ in range(3):
        array = np.arange(7.0)
        close(array, told, "x")
        assert digest(array) == digest(array) == sha256(array.tobytes()).digest()
    assert len(read) == 1
    for other, name in ((told, "y"), ({}, "x")):
        array = np.arange(5.0)
        close(array, other, name)
        assert digest(array) == sha256(array.tobytes()).digest()
    assert len(read) == 3


def test_nobody_writes_to_it() -> None:
    """What was told of it would no longer hold."""
    array = np.arange(7.0)
    close(array, {}, "x")
    with pytest.raises(ValueError, match="read-only"):
        array[2] = 0


def test_what_may_be_written_to_is_read_each_time() -> None:
    """One that was never closed, one that was opened again, and a view of another's memory, which cannot be closed."""
    told: Digests = {}
    array = np.arange(7.0)
    before = digest(array)
    array[2] = 9
    assert digest(array) != before
    close(array, told, "x")
    before = digest(array)
    array.flags.writeable = True
    array[2] = 8
    assert digest(array) != before
    view = np.broadcast_to(array, (2, 7))
    with pytest.raises(ValueError, match="a view of another"):
        close(view, told, "view")
    before = digest(view)
    array[3] = 8
    assert digest(view) != before
    assert "view" not in told


def test_what_was_told_of_an_array_is_forgotten_with_it() -> None:
    """Another that comes to lie in its place is read by itself."""
    for turn in range(50):
        array = np.full(7, float(turn))
        close(array, {}, "x")
        assert digest(array) == sha256(array.tobytes()).digest()
        place = id(array)
        assert place in closed_arrays._held
        del array
        assert place not in closed_arrays._held


@pytest.mark.parametrize(
    "array", [np.zeros((2, 3)).T, np.zeros((4, 6))[::2, ::3], np.zeros((0, 3)), np.array([1, "a"], object)]
)
def test_entries_are_told_in_order_wherever_they_lie(array: Any) -> None:
    """Turned, with gaps, none at all, objects."""
    assert digest(array) == sha256(array.tobytes()).digest()

"""Memory that two processes share, in which one leaves what it found."""

from __future__ import annotations

import os
import sys

import pytest

from verify import board
from verify.board import Board

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are branched off on Linux alone")


def test_what_another_process_leaves_is_found_once_and_in_order() -> None:
    """Under its place, whatever it is; nothing is there before."""
    shared = Board()
    assert shared.found() == {}
    process = os.fork()
    if not process:
        shared.leave(5, {"found": [1.5, None]})
        shared.leave(3, "a" * 100_000)
        os._exit(0)
    os.waitpid(process, 0)
    found = shared.found()
    assert list(found.items()) == [(5, {"found": [1.5, None]}), (3, "a" * 100_000)]
    assert shared.found() == {}


def test_what_has_no_room_is_nothing() -> None:
    """Its place is told, and what is left afterwards finds room."""
    shared = Board(40_000)
    shared.leave(1, "a" * 50_000)
    shared.leave(2, "b")
    assert shared.found() == {1: None, 2: "b"}
    for place in range(2, board.MOST):
        shared.leave(place, None)
    with pytest.raises(IndexError):
        shared.leave(0, None)

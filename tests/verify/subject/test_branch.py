"""A process that is branched off: it leaves what it finds, and does not outlive what it was begun for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import pytest

from verify.board import Board
from verify.subject.branch import branch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are branched off on Linux alone")


def ended(process: int) -> bool:
    """Whether there is no such process any more."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def test_it_leaves_what_it_finds_and_ends(capfd: pytest.CaptureFixture[str]) -> None:
    """What it prints is not shown, and it is told from this process by its number."""

    def work(board: Board) -> None:
        os.write(1, b"not to be seen")
        board.leave(3, os.getpid())

    with branch(work) as made:
        assert made is not None
        while not made.gone():
            time.sleep(0.01)
        (found,) = made.board.found().items()
        assert found[0] == 3
        assert found[1] != os.getpid()
        assert made.process == 0
    assert capfd.readouterr().out == ""


def test_it_is_ended_with_what_it_was_begun_for_and_with_what_it_has_begun() -> None:
    """Whatever ends that, and whatever it does."""
    begun: list[int] = []

    def work(board: Board) -> None:
        board.leave(0, subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
        signal.pause()

    def interrupted() -> None:
        with branch(work) as made:
            assert made is not None
            begun.append(made.process)
            while not (found := made.board.found()):
                time.sleep(0.01)
            begun.extend(found.values())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ended(begun[0])
    until = time.monotonic() + 60
    while not ended(begun[1]) and time.monotonic() < until:
        time.sleep(0.01)  # the system takes it away
    assert ended(begun[1])


def test_without_room_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is interrupted for ever: signals arrive as before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    monkeypatch.setattr(os, "fork", Mock(side_effect=BlockingIOError("no more processes")))
    with branch(lambda board: None) as made:
        assert made is None
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before

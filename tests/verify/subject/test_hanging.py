"""Calls that do not return: interrupted, waited for once, and told from time that the machine took."""

import os
import signal
import subprocess
import time

import pytest

from tests.verify.subject.calling import call, right
from verify import check
from verify.faults import Fault
from verify.subject import containment, ending


def test_a_hang_ends(monkeypatch):
    """A call that does not return is interrupted, even if it swallows exceptions; another's timer goes on afterwards."""
    monkeypatch.setattr(containment, "LIMIT", 0.1)

    def stuck(x, gamma, beta, eps):
        while True:
            try:
                time.sleep(0.05)
            except Exception:
                continue

    handler = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 100.0)
    try:
        with pytest.raises(Fault, match=r"did not return within 0\.3 s"):
            call(stuck)
        assert 90 < signal.getitimer(signal.ITIMER_REAL)[0] <= 100
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


def test_a_first_call_may_take_longer_than_others(monkeypatch):
    """What sets something up at its first call, for longer than a call may take, is judged by what it returns."""
    monkeypatch.setattr(containment, "LIMIT", 1.0)
    asked = []

    def slow(q, k):
        if not asked:
            time.sleep(1.6)
        asked.append(q)
        return q @ k.mT

    assert check(slow, "scores.dot", max_examples=5).verdict == "conforms"
    assert len(asked) > 5


def test_a_hang_is_waited_for_once(monkeypatch):
    """After a call that did not return no further check is begun, and the report says so once."""
    monkeypatch.setattr(containment, "LIMIT", 0.2)
    asked = []

    def stuck(q, k):
        asked.append(q)
        time.sleep(60)

    report = check(stuck, "scores.dot")
    assert len(asked) == 1
    assert report.verdict == "falsified"
    assert "did not return within 0.6 s" in report.falsified[0].message
    assert sum("not begun" in note for note in report.notes) == 1


def test_time_in_which_the_process_stands_still_does_not_count(monkeypatch):
    """A process that is stopped for longer than the limit, and goes on, was not hung."""
    monkeypatch.setattr(containment, "LIMIT", 0.3)
    pause = f"kill -STOP {os.getpid()}; sleep 2; kill -CONT {os.getpid()}"

    def stopped(x, gamma, beta, eps):
        subprocess.run(["sh", "-c", pause], check=True)
        return right(x, gamma, beta, eps)

    began = time.monotonic()
    call(stopped)
    assert time.monotonic() - began > 1.5


def test_imports_and_compilers_are_waited_for(monkeypatch):
    """A slow import or compilation inside a call is no hang; one without end is."""
    source = "import time\nend = time.monotonic() + {0}\nwhile time.monotonic() < end: pass\n"

    def slow(x, gamma, beta, eps):
        exec(compile(source.format(1.5), "torch/_inductor/codegen.py", "exec"), {})
        return right(x, gamma, beta, eps)

    monkeypatch.setattr(containment, "LIMIT", 0.3)
    call(slow)
    monkeypatch.setattr(ending, "PATIENCE", 0.6)
    with pytest.raises(Fault, match="did not return"):
        call(slow)

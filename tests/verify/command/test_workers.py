"""Which process does what, when many checks run side by side."""

from __future__ import annotations

import os
import weakref
from dataclasses import replace

import pytest

from spec.language.evaluation.batching import batched
from spec.language.evaluation.compiled.program import compiled
from spec.language.registry import find
from verify.command.workers import THREADS, Queue, Task, perform, shared_threads
from verify.targets import TARGETS


def tasks(**counts: int) -> list[Task]:
    """So many tasks for each formula."""
    return [Task("target", f"{name} {turn}", name) for name, n in counts.items() for turn in range(n)]


def test_a_process_stays_with_a_formula_until_nothing_of_it_is_left() -> None:
    """Its oracle remembers what it has answered for the target before."""
    every = tasks(a=2, b=3, c=1)
    queue = Queue(every)
    took = [every[queue.next(0) or 0].formula_id for _ in range(6)]
    assert took == ["c", "b", "b", "b", "a", "a"]  # the last listed, which apply the others, first


def test_processes_begin_with_different_formulas_and_share_one_at_the_end() -> None:
    """None waits while something is left."""
    every = tasks(a=5, b=1)
    queue = Queue(every)
    took = [[queue.next(lane) for lane in (0, 1)] for _ in range(3)]
    assert [[every[place or 0].formula_id for place in pair] for pair in took] == [
        ["b", "a"],
        ["a", "a"],
        ["a", "a"],
    ]
    assert queue.next(0) is None
    assert sorted(place for pair in took for place in pair if place is not None) == list(range(6))


def test_a_process_that_turns_to_another_formula_keeps_no_program_of_the_former() -> None:
    """Programs of many examples are what takes most memory; one of the same formula stays."""
    perform(Task("target", "impl.scores.dot", "scores.dot", {"max_examples": 1}))
    program = weakref.ref(compiled(batched(find("scores.dot").flat())))
    perform(Task("target", "nobody's", "scores.dot"))
    assert program() is not None
    perform(Task("target", "nobody's", "scores.general"))
    assert program() is None


def test_processes_share_the_cores_and_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a library reads the number of its threads as it loads; afterwards the environment is as before."""
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    for name in THREADS[1:]:
        monkeypatch.delenv(name, raising=False)
    with shared_threads(2) as threads:
        assert threads == 3
        assert [os.environ[name] for name in THREADS] == ["5", "3", "3"]
    assert [os.environ.get(name) for name in THREADS] == ["5", None, None]


def test_what_is_installed_without_a_target_is_told_of_and_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older version lacks a function, a device is not served: neither is an error."""
    target = next(t for t in TARGETS if t.formula_id == "similarity.dot" and t.peer == "torch")
    task = Task("target", target.label, target.formula_id, {"max_examples": 1, "device": "cpu"})
    for changed, said in (
        (replace(target, needs="nn.functional.of_tomorrow"), "has no nn.functional.of_tomorrow"),
        (replace(target, needs="of.tomorrow"), "has no of.tomorrow"),
    ):
        monkeypatch.setattr("verify.targets.TARGETS", (changed,))
        outcome = perform(task)
        assert outcome.report is None
        assert not outcome.error
        assert said in outcome.absent
    assert replace(target, cpu_only=True).lacking("cuda:1") == "it works on the CPU alone"
    assert replace(target, cpu_only=True, needs="nn.functional.softmax").lacking() == ""

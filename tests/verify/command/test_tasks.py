"""Tasks that check a callable each."""

from __future__ import annotations

import weakref
from dataclasses import replace

import pytest

from spec.language.evaluation.batching import add_example_axis
from spec.language.evaluation.compiled.program import compile_program
from spec.language.registry import find
from verify.command.tasks import Task, perform
from verify.targets import TARGETS


def test_a_process_that_turns_to_another_formula_keeps_no_program_of_the_former() -> None:
    """Programs of many examples are what takes most memory; one of the same formula stays."""
    perform(Task("target", "impl.scores.dot", "scores.dot", {"max_examples": 1}))
    program = weakref.ref(compile_program(add_example_axis(find("scores.dot").flat())))
    perform(Task("target", "nobody's", "scores.dot"))
    assert program() is not None
    perform(Task("target", "nobody's", "scores.general"))
    assert program() is None


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
    assert replace(target, cpu_only=True).explain_absence("cuda:1") == "it works on the CPU alone"
    assert replace(target, cpu_only=True, needs="nn.functional.softmax").explain_absence() == ""

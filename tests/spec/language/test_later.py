"""Theorems that are examined later: who lists statements does not wait for it, and nobody is handed what was not examined."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from spec.language import Formula, claim, data, define, indices, sizes, tensor
from spec.language.wellformed.later import Waiting, later
from spec.language.wellformed.letters import IllFormed


def stated() -> Formula:
    """Twice an array."""
    (n,), (i,) = sizes("n"), indices("i")
    x, y = data("x", n), tensor("y", n)
    return Formula("test.twice", "twice", (x,), (define(y[i], 2 * x[i]),), (y,))


def outside(formula: Formula) -> None:
    """A theorem that reads beyond an array."""
    (n,), (i,) = sizes("n"), indices("i")
    (x,), (y,) = formula.inputs, formula.outputs
    formula.theorem(
        "beyond", "It is twice the next", claim(y[i], "=", 2 * x[i + 1], (i, n)).by_definition("no")
    )


def test_what_is_not_well_formed_is_refused_at_once() -> None:
    """Who writes a theorem is told where it is written."""
    with pytest.raises(IllFormed, match="out of range"):
        outside(stated())


def test_what_was_put_off_is_refused_before_theorems_are_handed_out() -> None:
    """Nothing is said while statements are listed; whoever reads the theorems afterwards is told, each time."""
    formula = stated()
    with later():
        outside(formula)
        assert list(formula.theorems) == ["beyond"]
    for _ in range(2):
        with pytest.raises(IllFormed, match=r"test\.twice, beyond"):
            formula.theorems  # noqa: B018  (reading is what is tested)


def test_what_is_well_formed_is_examined_once() -> None:
    """After it nothing waits. An examination may read what is being examined."""
    seen, waiting = [], Waiting()

    def reading() -> None:
        waiting.catch_up()
        seen.append(1)

    with later():
        waiting.examine(reading)
        waiting.catch_up()
        assert waiting
        assert not seen
    waiting.catch_up()
    waiting.catch_up()
    assert seen == [1]


def test_a_formula_that_is_looked_for_has_its_own_theorems_examined_only() -> None:
    """Those of what it applies wait until they are read."""
    code = """
from spec.language.known import get_formula
from spec.language.registry import find
find("attention.multi_head")
assert not get_formula("attention.multi_head").waiting
assert get_formula("attention.softmax").waiting
assert find("attention.softmax").theorems
assert not get_formula("attention.softmax").waiting
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_letter_that_is_declared_after_a_theorem_is_none_of_its_own() -> None:
    """Whether it is examined at once or later, it is refused."""

    def stated_too_early(formula: Formula) -> None:
        (n,), (i,) = sizes("n"), indices("i")
        (x,), late = formula.inputs, tensor("late", n)
        formula.theorem(
            "early", "It reads what is to come", claim(late[i], "=", 3 * x[i], (i, n)).by_definition("no")
        )
        formula.let(late[i], 3 * x[i])

    with pytest.raises(IllFormed, match="late"):
        stated_too_early(stated())
    formula = stated()
    with later():
        stated_too_early(formula)
    with pytest.raises(IllFormed, match="late"):
        formula.theorems  # noqa: B018  (reading is what is tested)


def test_what_one_thread_puts_off_another_does_not() -> None:
    """Two that overlap leave nothing put off behind them; who reads while another examines waits for it."""
    inside, left = threading.Event(), threading.Event()

    def first() -> None:
        with later():
            inside.set()
            left.wait()

    other = threading.Thread(target=first)
    other.start()
    inside.wait()
    with pytest.raises(IllFormed, match="out of range"):
        outside(stated())
    with later():
        left.set()
        other.join()
    with pytest.raises(IllFormed, match="out of range"):
        outside(stated())

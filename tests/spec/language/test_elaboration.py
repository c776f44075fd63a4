"""What is proved, evaluated and run is read over inputs alone: no letter of a line or of an abbreviation is left in it."""

from __future__ import annotations

from typing import Any

import pytest

from spec.language import Formula, Tensor, claim, data, define, expected, given, indices, sizes, tensor
from spec.language.elaboration import elaborate
from spec.language.known import forget
from spec.language.trees import walk
from spec.language.wellformed.letters import IllFormed
from spec.normalization.layer_norm import layer_norm
from spec.recurrent.rnn import rnn

n, m = sizes("n m")
i, j, k = indices(i=n, j=m, k=n)
x, v = data("x", n), data("v", m)
y, Y, A, B = tensor("y", n), tensor("Y", n, m), tensor("A", n), tensor("B", n)


@pytest.fixture
def formula() -> Any:
    """Two lines and two abbreviations, one of them in letters of the other."""
    made = Formula(
        "test.meant", "Meant", (x, v), (define(y[i], 2 * x[i]), define(Y[i, j], y[i] * v[j])), (Y,)
    )
    made.let(A[i], y[i] + 1)
    made.let(B[k], A[k] * x[k])
    yield made
    forget("test.meant")


def internal(tree: Any) -> set[str]:
    """The letters in a tree that something defines."""
    return {part.name for part in walk(tree) if isinstance(part, Tensor) and part.role == "internal"}


@pytest.mark.parametrize("stated", [layer_norm, rnn], ids=lambda one: one.id)
def test_nothing_that_something_defines_is_left_in_a_theorem(stated: Formula) -> None:
    """Neither on a side of a claim nor in a step of its proof."""
    trees = [
        tree
        for theorem in stated.theorems.values()
        for one in theorem.claims
        for tree in (one.left, one.right, one.where, *(step.to for step in one.proof.steps))
    ]
    assert set().union(*map(internal, trees))
    assert not set().union(*(internal(elaborate(tree, stated)) for tree in trees))


def test_arrays_given_as_a_whole_are_replaced(formula: Formula) -> None:
    """As an argument and as what is pulled back: a line, an abbreviation, and a row of a line."""
    applied = formula(B, v)
    for tree in (applied[i, j], applied.pullback(Y, "x")[i], formula(A, Y[k]).pullback(Y, x)[i]):
        assert internal(tree)
        assert not internal(elaborate(tree, formula))


def test_an_abbreviation_captures_no_index(formula: Formula) -> None:
    """Its own letters are not those around it, whatever they are called."""
    assert elaborate(B[i], formula) == elaborate(A[i] * x[i], formula)
    assert elaborate(B[k + 0], formula) == elaborate((y[k] + 1) * x[k], formula)


def test_an_abbreviation_that_comes_later_is_read_from_then_on(formula: Formula) -> None:
    """What was asked before does not stand in the way."""
    late = tensor("late", n)
    assert internal(elaborate(late[i], formula)) == {"late"}
    formula.let(late[i], 3 * x[i])
    assert elaborate(late[i], formula) == 3 * x[i]


def test_what_stands_for_something_is_not_random(formula: Formula) -> None:
    """Of a line, nothing but what it says can be averaged."""
    with pytest.raises(IllFormed, match="y stands for something, and cannot be random"):
        formula.theorem("t", "T", claim(expected(y[i], y), "=", 0))
    formula.theorem(
        "u", "U", claim(expected(given("g", n)[i] * y[i], given("g", n)), "=", 0), given=given("g", n)
    )

"""Theorems that are examined later: who lists statements does not wait for it, and nobody is handed what was not examined."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spec.language import Formula, claim, data, define, indices, sizes, tensor
from spec.language.registry import find
from spec.language.wellformed import later as module
from spec.language.wellformed.later import catch_up, later
from spec.language.wellformed.letters import IllFormed


@pytest.fixture(autouse=True)
def _none_waiting() -> Iterator[None]:
    catch_up()
    yield
    module._waiting.clear()


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


def test_what_was_put_off_is_refused_before_a_formula_is_handed_out() -> None:
    """Nothing is said while statements are listed; whoever looks for one afterwards is told, each time."""
    with later():
        outside(stated())
        find("scores.dot")
    for _ in range(2):
        with pytest.raises(IllFormed, match=r"test\.twice, beyond"):
            find("scores.dot")


def test_what_is_well_formed_is_examined_once() -> None:
    """After it nothing waits."""
    seen = []
    with later():
        module.examine(lambda: seen.append(1))
        catch_up()
        assert not seen
    catch_up()
    catch_up()
    assert seen == [1]

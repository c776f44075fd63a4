"""The order in which lines are evaluated, recurrences above all: which index they step through, and in which direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec.language import Formula, define, indices, sizes, tensor
from spec.language.evaluation.evaluate import evaluate
from spec.language.ordering import Group, arrange
from spec.language.registry import find
from tests.spec.language.recurrent_cases import backwards, grid, h, mutual, remembering

n, T = sizes("n T")
i, t, c = indices("i t c")


def only_recurrence(formula: Formula) -> Group:
    """The one recurrence of a formula."""
    (found,) = [group for group in formula.flat().groups if group.step is not None]
    return found


def test_a_recurrence_steps_through_the_index_that_it_reads_earlier_values_of() -> None:
    """h[t] from h[t − 1] ascends, h[t] from h[t + 1] descends."""
    for formula, ascends in ((remembering(), True), (backwards(), False)):
        step = only_recurrence(formula).step
        assert step is not None
        assert step.axes == {"h": 0}
        assert step.ascends is ascends


def test_two_indices_are_stepped_through_one_inside_the_other() -> None:
    """A row reads its own past and the row below at the same step: neither index alone will do."""
    group = only_recurrence(grid())
    (inner,) = group.body
    assert group.step is not None
    assert inner.step is not None
    assert {group.step.axes["H"], inner.step.axes["H"]} == {0, 1}


def test_within_a_step_lines_come_after_those_they_read() -> None:
    """g is defined after h on paper, and before it at every step."""
    names = [line.name for part in only_recurrence(mutual()).body for line in part.lines]
    assert names.index("g") < names.index("h")


@pytest.mark.parametrize("formula_id", ["recurrent.stacked", "recurrent.lstm_stacked"])
def test_layers_that_do_not_read_the_state_are_not_stepped_through(formula_id: str) -> None:
    """What a step evaluates is grouped again: a line of one step need not wait for every layer."""
    (group,) = [g for g in find(formula_id).flat().groups if g.step is not None]
    assert all(line in group.lines for part in group.body for line in part.lines)


def test_what_refers_to_itself_at_the_same_place_is_refused() -> None:
    """A circle, and a line that reads its own future and past."""
    a, b = tensor("a", n), tensor("b", n)
    with pytest.raises(ValueError, match="without stepping through an index"):
        arrange((define(a[i], b[i]), define(b[i], a[i])))
    with pytest.raises(ValueError, match="the lines h refer to each other without stepping"):
        arrange((define(h[t, c], h[t - 1, c] + h[t + 1, c], (t, 1, T - 1)),))


def equal(a: Any, b: Any) -> bool:
    """Up to the two units by which NumPy's tanh of an array may differ from that of a number, or of a shorter array."""
    return np.allclose(a, b, rtol=2 * np.finfo(float).eps, atol=0)


def test_the_past_is_read_as_far_as_it_has_been_written() -> None:
    """h[t] = tanh Σ_{s<t} h[s]·x[s]: with x = 1 the first two entries are 1 and tanh 1."""
    (found,) = evaluate(remembering(), {"x": np.ones((3, 2))})
    assert found[0].tolist() == [1.0, 1.0]
    assert equal(found[1], np.tanh(1.0))
    assert equal(found[2], np.tanh(1.0 + np.tanh(1.0)))


def test_rows_read_the_row_below_at_the_same_step() -> None:
    """With weights 0 every row but the first forgets what is below it; with weights 1 it does not."""
    rng = np.random.default_rng(4)
    inputs = {"x": rng.normal(size=(3, 2)), "start": rng.normal(size=(4, 2))}
    (apart,) = evaluate(grid(), {**inputs, "W": np.zeros((2, 2))})
    (joined,) = evaluate(grid(), {**inputs, "W": np.eye(2)})
    assert equal(apart[1:, 1:], np.tanh(apart[1:, :-1]))
    assert equal(joined[1:, 1:], np.tanh(joined[1:, :-1] + joined[:-1, 1:]))

"""Flattening: calls inlined, names kept apart, lines in order; calls inside a recurrence."""

from __future__ import annotations

import numpy as np
import pytest

from spec.language import Sum, data, define, each, indices, parameter, sizes, tensor
from spec.language.evaluation.evaluate import evaluate
from spec.language.flatten import arrange
from spec.language.formula import Formula
from spec.language.registry import find

n, m, d, T = sizes("n m d T")
i, j, c, t = indices("i j c t")
x, z = data("x", n, d), tensor("z", n, d)


def test_a_call_with_the_wrong_number_of_arguments_is_refused() -> None:
    """The error shows the declared inputs."""
    with pytest.raises(ValueError, match=r"scores\.dot takes \(q, k\); 1 arguments were given"):
        find("scores.dot")(x)


def test_a_call_with_shapes_that_do_not_fit_is_refused() -> None:
    """q and k share d_k."""
    other = data("y", m, d + 1)
    line = define(z[i, c], find("scores.dot")(x, other)[i, c])
    with pytest.raises(ValueError, match=r"scores\.dot: k has shape"):
        Formula("test.misfit", "", (x, other), (line,), (z,))


def test_flattening_keeps_names_apart_and_shares_equal_calls() -> None:
    """The same application twice is inlined once; a callee's line never overwrites the caller's."""
    dot = find("scores.dot")
    s = tensor("s", n, n)
    formula = Formula("test.twice", "", (x,), (define(s[i, j], dot(x, x)[i, j] + dot(x, x)[j, i]),), (s,))
    assert sorted(line.name for line in formula.flat().lines) == ["s", "s_2"]


def test_an_index_of_the_caller_becomes_a_leading_axis_of_the_callee() -> None:
    """An application inside a sum is vectorised, also when the callee uses the same index name."""
    W = parameter("W", m, d, d)
    projected = each(Sum(x[i, j] * W[c, j, j], (j, 0, d - 1)), (i, n), (j, d))
    out = tensor("out", n, n)
    body = Sum(find("scores.dot")(projected, x)[i, j], (c, 0, m - 1))
    formula = Formula("test.lead", "", (x, W), (define(out[i, j], body),), (out,))
    inlined = next(line for line in formula.flat().lines if line.name == "s")
    assert inlined.left.tensor.shape == (m, n, n)


def test_lines_are_put_in_an_order_in_which_they_can_be_evaluated() -> None:
    """Definitions may be written in any order, but not in a circle."""
    a, b = tensor("a", n), tensor("b", n)
    late = define(a[i], b[i] + 1)
    early = define(b[i], x[i, 0])
    assert [group.lines[0].name for group in arrange((late, early))] == ["b", "a"]
    with pytest.raises(ValueError, match="without stepping through an index"):
        arrange((define(a[i], b[i]), define(b[i], a[i])))


a, h = data("a", d), data("h", d)
grown, spare = tensor("h'", d), tensor("spare", d)
step = Formula(
    "test.step",
    "",
    (a, h),
    (define(grown[c], 2 * h[c] + a[c]), define(spare[c], 3 * a[c])),
    (grown, spare),
    auxiliary=True,
)
seq, H, states = data("x", T, d), tensor("H", T + 1, d), tensor("states", T, d)


def iterated(first: object, last: object) -> Formula:
    """The step over a sequence, from a state before it; the state after each element."""
    after = step(each(seq[t - 1, c], (c, d)), each(H[t - 1, c], (c, d)))
    lines = (
        define(H[0, c], h[c]),
        define(H[t, c], after[c], (t, 1, T)),
        define(states[t, c], H[t + 1, c], (t, first, last)),
    )
    return Formula("test.iterated", "", (seq, h), lines, (states,), auxiliary=True)


def test_a_recurrence_may_apply_a_formula_to_the_state_before() -> None:
    """Each step is that formula: here h doubles and an element is added."""
    values = np.random.default_rng(0).integers(-5, 6, (3, 2)).astype(float)
    begin = np.array([1.0, -2.0])
    (found,) = evaluate(iterated(0, T - 1).flat(), {"x": values, "h": begin})
    for row, element in zip(found, values, strict=True):
        begin = evaluate(step.flat(), {"a": element, "h": begin})[0]
        assert np.array_equal(row, begin)


def test_an_applied_formula_runs_where_it_is_applied_and_nowhere_else() -> None:
    """Its lines have the ranges of the indices around it: an element before the first is never asked for."""
    line = next(x for x in iterated(0, T - 1).flat().lines if x.name == "h'")
    assert line.spans[t] == (1, T)


def test_arguments_that_only_pick_entries_are_read_where_they_stand_and_unread_lines_are_left_out() -> None:
    """No copies of x and H, and no line for the result that nobody reads."""
    assert [line.name for line in iterated(0, T - 1).flat().lines] == ["H", "h'", "H", "states"]


def test_the_same_application_over_other_ranges_is_another_one() -> None:
    """An index may run over one range in one line and over another in the next."""
    out = tensor("out", T, d)
    doubled = step(each(seq[t, c], (c, d)), each(seq[t, c], (c, d)))
    lines = (define(out[t, c], doubled[c], (t, 0, 0)), define(out[t, c], -doubled[c], (t, 1, T - 1)))
    formula = Formula("test.ranges", "", (seq,), lines, (out,), auxiliary=True)
    values = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(evaluate(formula.flat(), {"x": values})[0], 3 * values * [[1], [-1], [-1]])

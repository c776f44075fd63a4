"""Terms that fall on entries of an array, several on one."""

from __future__ import annotations

import numpy as np

from spec.language.evaluation.scatter import Scatter


def test_terms_that_fall_on_one_place_are_added_there_and_counted() -> None:
    """A place counted from the end is that place, too."""
    rng = np.random.default_rng(3)
    rows, columns = rng.integers(0, 5, (7, 11)), rng.integers(-3, 3, (1, 11))
    terms = rng.integers(-9, 9, (7, 11)).astype(float)  # sums of small integers are exact in any order
    scatter = Scatter((5, 3), (rows, columns), (7, 11))
    added, count = np.zeros((5, 3)), np.zeros((5, 3))
    np.add.at(added, (rows, np.broadcast_to(columns, (7, 11))), terms)
    np.add.at(count, (rows, np.broadcast_to(columns, (7, 11))), 1)
    assert np.array_equal(scatter.together(terms), added)
    assert np.array_equal(scatter.terms, count)
    assert count.max() > 1


def test_a_term_that_does_not_depend_on_an_index_falls_as_often_as_that_has_values() -> None:
    """As a bias does, which every row receives."""
    scatter = Scatter((1, 3), None, (5, 3))
    assert np.array_equal(scatter.together(np.array([[1.0, 2.0, 4.0]])), [[5.0, 10.0, 20.0]])
    assert scatter.terms == 5


def test_an_array_without_axes_takes_all_terms() -> None:
    """It has one place."""
    scatter = Scatter((), (), (7,))
    assert scatter.together(np.arange(7.0)) == 21
    assert scatter.terms == 7


def test_nothing_falls_where_there_are_no_terms() -> None:
    """An empty sequence adds nothing."""
    scatter = Scatter((2, 3), (np.zeros((0,), int), np.zeros((0,), int)), (0,))
    assert np.array_equal(scatter.together(np.zeros(0)), np.zeros((2, 3)))
    assert not scatter.terms.any()

"""What a grade is: errors counted in sigma, digits in root mean squares."""

from __future__ import annotations

import math

import numpy as np
import pytest

from verify.accuracy.grade import TYPICAL, WORST, Grade


def test_a_grade_counts_errors_in_sigma_and_digits_in_root_mean_squares() -> None:
    """Ten times sigma everywhere is 10 sigma and one digit; exact zeros and unjudged entries do not count."""
    grade, value = Grade("float32"), np.ones(16)
    judged = np.arange(16) > 0
    got = value + 10e-7
    got[0] = np.nan
    grade.see("y", got, value, np.full(16, 1e-7), judged)
    assert grade.sigma == pytest.approx(10)
    assert grade.digits == pytest.approx(1)
    assert grade.entries == 15
    few, many = grade.imprecise, Grade("float32")
    for _ in range(5):
        many.join(grade)
    assert (few, many.imprecise) == (False, True)  # of few entries a root mean square says nothing
    grade = many
    assert grade.sigma < WORST["float32"]
    assert grade.typical > TYPICAL


def test_nan_where_there_is_a_value_is_infinitely_far_off() -> None:
    """It is never careful."""
    grade = Grade("float32")
    grade.see("y", np.array([np.nan]), np.ones(1), np.ones(1), True)
    assert math.isinf(grade.sigma)
    assert grade.imprecise


def test_an_entry_that_hardly_rounds_is_measured_by_its_neighbours() -> None:
    """An error of a tenth of the others' is no fault where none was expected."""
    grade = Grade("float32")
    sigma = np.array([1e-20, 1.0, 1.0, 1.0])
    grade.see("y", np.full(4, 0.1), np.zeros(4), sigma, True)
    assert grade.sigma < 2


def test_one_coarse_output_among_many_is_coarse() -> None:
    """A tenth of its entries, though of all together they are few; in the gradient of a running sum they are half as far off."""
    grade, near = Grade("float32", rare=0.02), np.random.default_rng(0).standard_normal(10_000)
    grade.see("large", near, np.zeros(10_000), np.ones(10_000), True)
    far = np.where(np.arange(40) < 6, 1.25 * WORST["float32"], 0.5)
    grade.see("running", far / 2, np.zeros(40), np.ones(40), True)
    assert not grade.imprecise
    grade.see("small", far, np.zeros(40), np.ones(40), True)
    assert grade.coarse == "small"
    assert grade.imprecise


def test_equal_members_of_a_batch_count_as_one() -> None:
    """Two numbers seen 67 times are no 134."""
    grade = Grade("float32")
    got = np.full((67, 2), 10.0)
    grade.see("y", got, np.zeros(2), np.ones(2), True)
    assert (grade.entries, grade.imprecise) == (2, False)


def test_what_is_not_judged_does_not_count_in_any_member() -> None:
    """Nor what has another shape."""
    grade = Grade("float32")
    got = np.array([[1.0, 50.0, 2.0], [1.0, 70.0, 5.0]])
    grade.see("y", got, np.zeros(3), np.ones(3), np.array([True, False, True]))
    assert (grade.entries, grade.sigma, grade.what) == (2, 5.0, "y")
    assert grade.typical == pytest.approx(np.sqrt((1 + 4 + 1 + 25) / 4))
    grade.see("z", np.ones((3, 2)), np.zeros(3), np.ones(3), True)
    grade.see("z", np.ones(3), np.zeros((2, 3)), np.ones((2, 3)), True)
    assert (grade.entries, grade.what) == (2, "y")


def test_a_number_that_is_none_is_as_far_off_as_can_be() -> None:
    """Beside others that are right, and where nothing is expected to be off."""
    grade = Grade("float32")
    grade.see("y", np.array([0.0, np.nan]), np.zeros(2), np.array([0.0, 1.0]), True)
    assert (grade.sigma, grade.beyond) == (np.inf, 1)


@pytest.mark.parametrize(
    ("far", "limit", "settled"), [(10.0, None, True), (12.0, None, False), (10.0, 20.0, False)]
)
def test_what_is_near_a_limit_is_not_settled(far: float, limit: float | None, settled: bool) -> None:
    """Ours, or one that was asked for; a root mean square has a limit of its own."""
    grade = Grade("float32")
    got = np.zeros(1000)
    got[3] = far
    grade.see("y", got, np.zeros(1000), np.ones(1000), True)
    assert grade.is_settled(limit) is settled
    grade.see("z", np.full(1000, 6.0), np.zeros(1000), np.ones(1000), True)
    assert not grade.is_settled(limit)


def test_what_is_imprecise_by_all_samples_is_not_settled_by_half_of_them() -> None:
    """Whatever half of them it is: the mean of the squares of all is at least half of theirs."""
    random = np.random.default_rng(0)
    squares = random.standard_normal((16, 20_000)) ** 2
    every, half = np.sqrt(squares.mean(0)), np.sqrt(np.sort(squares, axis=0)[8:].mean(0))
    got = every * random.uniform(0, 1.01 * WORST["float32"], every.shape)
    for first in (1, 2, 5, 100):
        by_all, by_half = Grade("float32"), Grade("float32")
        by_all.see("y", got[:first], np.zeros(first), every[:first], True)
        by_half.see("y", got[:first], np.zeros(first), half[:first], True)
        assert not (by_all.imprecise and by_half.is_settled(None))

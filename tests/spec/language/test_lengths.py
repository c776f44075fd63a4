"""Ranges that other indices bound are as long as they can become."""

from __future__ import annotations

from spec.language import Formula, Sum, data, define, indices, sizes, tensor
from spec.language.lengths import ends_of, longest

(n,) = sizes("n")
i, j = indices("i j")
x, y = data("x", n), tensor("y", n)


def test_a_range_is_as_long_as_at_the_place_where_it_is_longest() -> None:
    """Sums up to a place, and from it on: both are as long as the whole."""
    line = define(y[i], Sum(x[j], (j, 0, i)) + Sum(x[j], (j, i, n - 1)))
    formula = Formula("test.two_sums", "Sums to and from a place", (x,), (line,), (y,), auxiliary=True)
    ends = ends_of(formula.flat().lines[0])
    assert longest(0, i, ends) == n
    assert longest(i, n - 1, ends) == n
    assert longest(2, n - 1, ends) == n - 2

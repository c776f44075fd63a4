"""Arrays in statements: parts, slices, values without axes, and formulas applied as arrays."""

from __future__ import annotations

import pytest

from spec.language import Comprehension, Formula, Ref, Sum, data, define, indices, number, sizes, tensor
from spec.language.known import forget
from spec.language.symbols import Letter

n, m, d = sizes("n m d")
i, j, c = indices(i=n, j=m, c=d)
x, W = data("x", n, d), data("W", n, m, d)
eps = number("eps", "positive")


def test_an_index_carries_its_size() -> None:
    """A sum over c runs from 0 to d − 1; another range is written."""
    assert (Sum(x[i, c], c).first, Sum(x[i, c], c).last) == (0, d - 1)
    assert (Sum(x[i, c], (c, m)).first, Sum(x[i, c], (c, m)).last) == (0, m - 1)
    assert (Sum(x[i, c], (c, 2, m)).first, Sum(x[i, c], (c, 2, m)).last) == (2, m)


def test_indices_of_one_name_and_different_sizes_are_different() -> None:
    """An index is its name and its size."""
    assert Letter("i", n) == i
    assert Letter("i", m) != i


def test_an_index_without_a_size_needs_a_range() -> None:
    """The message names it and says what to write."""
    (k,) = indices("k")
    with pytest.raises(
        ValueError, match=r"the index k has no size of its own: write its range, as in \(k, n\)"
    ):
        Sum(x[k, 0], k)


def test_a_sum_over_two_indices_has_the_last_innermost() -> None:
    """Σᵢ Σ_c is the sum over i of the sums over c."""
    assert Sum(x[i, c], i, c) == Sum(Sum(x[i, c], c), i)


def test_fewer_indices_are_a_part() -> None:
    """W[i] is the matrix of the entries W[i, j, c]; all indices are an entry."""
    part = W[i]
    assert isinstance(part, Comprehension)
    assert part.shape == (m, d)
    assert part[j, c] == W[i, j, c]
    assert isinstance(W[i, j, c], Ref)


def test_slices_are_parts() -> None:
    """x[:m] is the first m rows, x[1:n, c] what follows the first of column c."""
    assert x[:m].shape == (m, d)
    assert x[:m][j, c] == x[j, c]
    assert x[1:n, c].shape == (n - 1,)
    assert x[1:n, c][i] == x[i + 1, c]
    with pytest.raises(ValueError, match="no step can be given"):
        x[::2]


def test_the_letters_of_a_part_capture_nothing() -> None:
    """A part indexed by what its own letters are called stays the same part."""
    a, b = indices(a=n, b=d)
    part = W[a]
    assert part[j, b] == W[a, j, b]
    assert part[b, a] == W[a, b, a]


def test_a_tensor_without_axes_is_a_value() -> None:
    """ε + 1 needs no index."""
    assert eps + 1 == Ref(eps) + 1
    assert 2 * eps == 2 * Ref(eps)


def test_an_applied_formula_is_an_array_or_a_value() -> None:
    """The whole result, a row of it, and the value of a result without axes."""
    y, s = tensor("y", n, d), tensor("s")
    double = Formula("test.double", "Double", (x,), (define(y[i, c], 2 * x[i, c]),), (y,))
    total = Formula("test.total", "Total", (x,), (define(s, Sum(x[i, c], i, c)),), (s,))
    try:
        assert double(x)[()].shape == (n, d)
        assert double(x)[i].shape == (d,)
        assert double(x)[i][c] == double(x)[i, c]
        assert total(double(x)).shape == ()
        assert (total(x) + 1).args[0] == total(x)[()]
    finally:
        forget("test.double")
        forget("test.total")


def test_a_line_between_arrays_is_one_between_entries() -> None:
    """define(z, y) and define(z[i], y[i]) mean z[i, c] = y[i, c]; the shapes have to agree."""
    z = tensor("z", n, d)
    for line in (define(z, x), define(z[i], x[i])):
        assert [str(last) for _, _, last in line.ranges] == ["n - 1", "d - 1"]
        assert line.right == Ref(x, *line.left.index)
    with pytest.raises(ValueError, match="but its right side has shape"):
        define(z[i], W[i])

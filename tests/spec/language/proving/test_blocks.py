"""Indices in blocks, look-ups as witnesses, signs through roots: what the prover concludes, and what it must not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sympy

from spec.language import (
    Formula,
    Some,
    Sum,
    Theorem,
    absolute,
    case,
    claim,
    cos,
    define,
    eq,
    given,
    lift,
    lt,
    sigmoid,
    sizes,
    sqrt,
    tanh,
    tensor,
)
from spec.language.known import forget
from tests.spec.language.proving.claims import (
    F,
    Register,
    a,
    anything,
    equal,
    f,
    i,
    j,
    l,
    m,
    n,
    p,
    proved,
    refused,
    register_in,
    t,
    z,
)

(h,) = sizes("h")
FALSE: Register = {}
false = register_in(FALSE)
block = sympy.floor(l / m)
within = l - m * block
W = given("W", n * m)
words = given("words", n, domain="integer", below=m)
flat = tensor("flat", n * m)


@pytest.fixture
def rows_in_line() -> Iterator[Formula]:
    """The rows of a matrix one after the other."""
    entries = define(flat[i * m + j], F[i, j], (i, n), (j, m))
    line = Formula("test.line", "Rows in a line", (F,), (entries,), (flat,), auxiliary=True)
    yield line
    forget(line.id)


def test_rows_in_a_line_are_found_again(rows_in_line: Formula) -> None:
    """Entry i·m + j is F[i, j], and the sum over the line is the sum over the matrix."""
    line = rows_in_line(F)
    proved(equal(line[i * m + j], F[i, j], (i, n), (j, m)), rows_in_line)
    proved(
        equal(Sum(line[l], (l, 0, n * m - 1)), Sum(Sum(F[i, j], (j, 0, m - 1)), (i, 0, n - 1))), rows_in_line
    )


def test_the_rows_of_a_line_come_in_one_order(rows_in_line: Formula) -> None:
    """Against a weight for each entry: row i stands at i·m, not column j at j·n."""
    line = rows_in_line(F)
    weighed = Sum(line[l] * W[l], (l, 0, n * m - 1))
    right = Sum(Sum(F[i, j] * W[i * m + j], (j, 0, m - 1)), (i, 0, n - 1))
    proved(equal(weighed, right, given=(W,)), rows_in_line)


def test_blocks_may_be_a_size_and_more_wide() -> None:
    """Place j + 1 of block i is in block i of a row that is m + 1 wide, and place m + 1 is the first of the next."""
    proved(equal(lift(sympy.floor((i * (m + 1) + j + 1) / (m + 1))), lift(i), (i, n), (j, m)))
    proved(equal(lift(sympy.floor((i * m + i + m + 1) / (m + 1))), lift(i + 1), (i, n)))


def test_a_diagonal_does_not_define_what_lies_beside_it() -> None:
    """A line with one index in both places defines the entries where they agree, and no other."""
    square = tensor("square", n, n)
    diagonal = Formula("test.diagonal", "", (f,), (define(square[i, i], f[i]),), (square,), auxiliary=True)
    try:
        made = diagonal(f)
        proved(equal(made[i, j], case(eq(i, j), f[i]), (i, n), (j, n)), diagonal)
    finally:
        forget(diagonal.id)


def test_a_look_up_is_a_witness() -> None:
    """The word at place i is looked up at some place."""
    some = Some(eq(words[l], words[i]), (l, 0, n - 1))
    proved(equal(case(some, f[i]), f[i], (i, n), given=(words,)))


def test_a_root_is_positive_where_its_argument_is() -> None:
    """So is a product with positive factors."""
    squares = Sum(f[j] ** 2, (j, 0, n - 1))
    proved(equal(case(lt(0, p[i] * sqrt(squares)), f[i]), case(lt(0, squares), f[i]), (i, n), given=(p,)))


@pytest.mark.parametrize("bounded", [tanh, cos, sigmoid])
def test_bounded_functions_do_not_enlarge(bounded: object) -> None:
    """|x| - x·f(y) is at least 0."""
    small = a * z * bounded(f[i])  # type: ignore[operator]
    most = absolute(a * z)
    bound = claim(small, "<=", most, (i, n)).because("|f| is at most 1", gap=most - small)
    proved(Theorem("claimed", "", (bound,), given=(a, z)))


@false("rows of one width are not blocks of another", anything, "is not known|whole blocks")
def _() -> Theorem:
    halves = Sum(f[sympy.floor(l / m)], (l, 0, n - 1))
    return equal(halves, halves, where=lt(m, n))


@false("place and block are exchanged", anything, "differ by")
def _() -> Theorem:
    left = Sum(F[block, within], (l, 0, n * m - 1))
    return equal(left, Sum(F[i, 0], (i, 0, n - 1)) * m)


@false("an index may lie in the block after the last", anything, "stays in")
def _() -> Theorem:
    left = Sum(F[block + 1, within], (l, 0, n * m - 1))
    return equal(left, left)


@false("an entry past its block", anything, "stays in|is not known")
def _() -> Theorem:
    return equal(W[i * m + j + 1], W[i * m + j + 1], (i, n), (j, m), given=(W,))


@false("every word is looked up", anything, "differ by")
def _() -> Theorem:
    some = Some(eq(words[l], t), (l, 0, n - 1))
    return equal(case(some, a), a, (t, m), given=(words, a))


@false("a product with a factor of unknown sign", anything, "differ by")
def _() -> Theorem:
    squares = Sum(f[j] ** 2, (j, 0, n - 1))
    return equal(case(lt(0, a * sqrt(squares)), z), case(lt(0, squares), z), given=(a, z))


@false("twice a sine exceeds what it is taken of", anything, "not visible")
def _() -> Theorem:
    gap = absolute(a) - 2 * a * tanh(z)
    bound = claim(2 * a * tanh(z), "<=", absolute(a)).because("|tanh| is at most 1", gap=gap)
    return Theorem("claimed", "", (bound,), given=(a, z))


@false("a bounded function of one number against the size of another", anything, "not visible")
def _() -> Theorem:
    gap = absolute(a) - z * tanh(a)
    bound = claim(z * tanh(a), "<=", absolute(a)).because("|tanh| is at most 1", gap=gap)
    return Theorem("claimed", "", (bound,), given=(a, z))


@pytest.mark.parametrize("name", FALSE)
def test_a_false_conclusion_is_refused(name: str) -> None:
    """With one line that says why."""
    refused(FALSE, name)

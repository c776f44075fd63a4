"""A statement that means nothing is refused when it is made, in one line that names formula, line and symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spec.language import (
    Sum,
    by_convention,
    case,
    claim,
    data,
    define,
    each,
    indices,
    le,
    lines_by_convention,
    number,
    parameter,
    sizes,
    sqrt,
    tensor,
)
from spec.language.known import forget
from spec.language.wellformed.formulas import IllFormed
from tests.spec.language.stating import STYLE, d, n, row, stated, x, y

m, V = sizes("m V")
i, j, c = indices(i=n, j=m, c=d)
w = parameter("w", d)
z = tensor("z", n, d)


@pytest.fixture(autouse=True)
def _forgotten() -> Any:
    yield
    for name in ("test.stated", "test.row"):
        forget(name)


def test_what_is_well_formed_is_taken() -> None:
    """The pattern of all cases below, without the mistake in each."""
    total = by_convention("style", plain=Sum(x[i, c] * w[c], c), twice=2 * Sum(x[i, c] * w[c], c))
    made = stated(define(y[i], total), inputs=(x, w), conventions=(STYLE,))
    assert made.outputs == (y,)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a tensor that nothing defines": (
        lambda: stated(define(y[i], Sum(z[i, c] * x[i, c], c))),
        r"test\.stated, line y\[i\]: nothing defines z of shape \(n, d\)",
    ),
    "an output that no line defines": (
        lambda: stated(define(y[i], Sum(x[i, c], c)), outputs=(z,)),
        r"test\.stated: no line defines the output z",
    ),
    "a letter that is neither an index nor a size": (
        lambda: stated(define(y[i], Sum(x[i, c], c) + j)),
        r"test\.stated, line y\[i\]: j is neither an index of the line nor a size",
    ),
    "an index that leaves its tensor at the end": (
        lambda: stated(define(y[i], Sum(x[i, c], (c, 0, d)))),
        r"test\.stated, line y\[i\]: the index c of x\[i,c\] is out of range: it is 1 where the axis has size d = 1",
    ),
    "an index that leaves its tensor at the beginning": (
        lambda: stated(define(y[i], Sum(x[i - 1, c], c))),
        r"the index i - 1 of x\[i-1,c\] is out of range: it is -1",
    ),
    "an index of another axis": (
        lambda: stated(define(y[i], Sum(x[c, c], c))),
        r"the index c of x\[c,c\] is out of range",
    ),
    "a left side outside its tensor": (
        lambda: stated(define(y[i + 1], Sum(x[i, c], c))),
        r"the index i \+ 1 of y\[i\+1\] is out of range",
    ),
    "a look-up into an axis of another size": (
        lambda: stated(
            define(z[i, c], x[data("ids", n, domain="integer", below=V)[i], c]),
            inputs=(x, data("ids", n, domain="integer", below=V)),
            outputs=(z,),
        ),
        r"ids\[i\] runs below V, but the axis has size n",
    ),
    "a label where there may be none": (
        lambda: stated(
            define(z[i, c], x[data("ids", n, domain="label", below=n)[i], c]),
            inputs=(x, data("ids", n, domain="label", below=n)),
            outputs=(z,),
        ),
        r"ids\[i\] is no index where it is -100: it is read under the condition le\(0, ids\[i\]\)",
    ),
    "a real number as an index": (
        lambda: stated(define(z[i, c], x[i, w[c]]), inputs=(x, w), outputs=(z,)),
        r"w\[c\] is no index, as x\[i,w\[c\]\] takes it",
    ),
    "an unused input": (
        lambda: stated(define(y[i], Sum(x[i, c], c)), inputs=(x, w)),
        r"test\.stated: no line uses the input w",
    ),
    "an unused size": (
        lambda: stated(define(y[i], Sum(x[i, c], c)), inputs=(x, m)),
        r"test\.stated: no line uses the input m",
    ),
    "an unused convention": (
        lambda: stated(define(y[i], Sum(x[i, c], c)), conventions=(STYLE,)),
        r"test\.stated: no line uses the convention style",
    ),
    "a convention that is not declared": (
        lambda: stated(define(y[i], Sum(x[i, c], c) * by_convention("style", plain=1, twice=2))),
        r"style is no convention of the formula; it has: none",
    ),
    "an option that is left out": (
        lambda: stated(define(y[i], Sum(x[i, c], c) * by_convention("style", plain=1)), conventions=(STYLE,)),
        r"the convention style has the options plain, twice; the line has: plain",
    ),
    "an option of lines that is left out": (
        lambda: stated(
            lines_by_convention("style", plain=(define(y[i], Sum(x[i, c], c)),)), conventions=(STYLE,)
        ),
        r"the convention style has the options plain, twice; the line has: plain",
    ),
    "an argument of another shape": (
        lambda: stated(define(y[i], row()(x)[()])),
        r"test\.stated, line y\[i\]: test\.row: v has shape \(d\), but an argument of shape \(n, d\) was given",
    ),
    "a size of the formula as an index of a line": (
        lambda: stated(define(y[i], Sum(x[i, c], c), (i, 0, m - 1))),
        r"test\.stated, line y\[i\]: m is no size of the formula",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_statement_that_means_nothing_is_refused(mistake: str) -> None:
    """One line names formula, line and symbol."""
    make, said = WRONG[mistake]
    with pytest.raises(IllFormed, match=said) as refused:
        make()
    assert "\n" not in str(refused.value)


def test_an_entry_outside_is_allowed_where_a_condition_keeps_it_out() -> None:
    """x[i − 1] is never read at i = 0 under the condition 1 ≤ i; under 0 ≤ i it is."""
    assert stated(define(z[i, c], case(le(1, i), x[i - 1, c], x[i, c])), outputs=(z,)).outputs == (z,)
    with pytest.raises(IllFormed, match=r"index i - 1 of x\[i-1,c\] is out of range"):
        stated(define(z[i, c], case(le(0, i), x[i - 1, c], x[i, c])), outputs=(z,))


def test_a_block_of_a_wider_tensor_is_in_range() -> None:
    """Concatenated blocks read and write t·d + c below h·d; one block too many does not."""
    (h,) = sizes("h")
    (t,) = indices(t=h)
    wide, flat = data("x", h, d), tensor("y", h * d)
    assert stated(define(flat[t * d + c], wide[t, c]), inputs=(wide,), outputs=(flat,)).outputs == (flat,)
    with pytest.raises(IllFormed, match="out of range"):
        stated(define(flat[t * d + c + 1], wide[t, c]), inputs=(wide,), outputs=(flat,))


def test_an_array_in_the_place_of_a_value_says_what_to_write() -> None:
    """√(x + ε) with a tensor x names the tensor, its shape, and how an entry is written."""
    eps = number("eps", "positive")
    with pytest.raises(
        TypeError, match=r"x has shape \(n, d\) and is no value by itself: write an entry, x\[i, j\]"
    ):
        sqrt(x + eps)
    with pytest.raises(TypeError, match=r"is an array of shape \(d\), where a value belongs"):
        sqrt(x[i] + eps)


def test_too_many_indices_are_refused_where_they_are_written() -> None:
    """x has two axes; a third index is named with the shape."""
    with pytest.raises(ValueError, match=r"x has shape \(n, d\), but 3 indices were given"):
        x[i, c, c]


def test_a_theorem_whose_arguments_do_not_fit_is_refused() -> None:
    """The claim is named with the formula that is applied and the shapes."""
    made = stated(define(y[i], Sum(x[i, c] * w[c], c)), inputs=(x, w))
    with pytest.raises(
        IllFormed,
        match=r"test\.stated, wrong, claim 1: test\.stated: w has shape \(d\), but an argument of shape \(n\)",
    ):
        made.theorem("wrong", "Wrong", claim(made(x, each(1, i))[i], "=", 0))

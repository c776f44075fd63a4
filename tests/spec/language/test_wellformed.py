"""A statement that means nothing is refused when it is made, in one line that names formula, line and symbol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spec.language import (
    Convention,
    Formula,
    Sum,
    Worked,
    by_convention,
    case,
    claim,
    constant,
    data,
    define,
    each,
    given,
    indices,
    le,
    lines_by_convention,
    lt,
    number,
    parameter,
    sizes,
    sqrt,
    tensor,
)
from spec.language.known import forget
from spec.language.wellformed.formulas import IllFormed
from tests.spec.language.stating import d, n, stated, x, y

m, V = sizes("m V")
i, j, c = indices(i=n, j=m, c=d)
w = parameter("w", d)
z = tensor("z", n, d)
STYLE = Convention("style", {"plain": "as it is", "twice": "twice"}, default="plain")


@pytest.fixture(autouse=True)
def _forgotten() -> Any:
    yield
    for name in ("test.stated", "test.row"):
        forget(name)


def row() -> Formula:
    """A formula of one row."""
    v, s = data("v", d), tensor("s")
    return Formula("test.row", "Row", (v,), (define(s, Sum(v[c], c)),), (s,))


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


ids = data("ids", n, domain="integer", below=V)
E = parameter("E", V, d)
mask = data("mask", n, domain="boolean")
b = constant("b")
w_bar = tensor("w_bar", d)
total = Sum(x[i, c], c)


def turned() -> Formula:
    """A formula whose result has the axes of its input the other way round."""
    v, r = data("v", n, d), tensor("r", d, n)
    return Formula("test.row", "Turned", (v,), (define(r[c, i], v[i, c]),), (r,))


FURTHER: dict[str, tuple[Callable[[], Any], str]] = {
    "an entry that no line defines": (
        lambda: stated(define(y[i], total, (i, 1, n - 1))),
        r"test\.stated: no line defines y\[0\] \(.*n = 1\) of the output y",
    ),
    "an entry that is read and that no line defines": (
        lambda: stated(define(z[i, c], x[i, c], (i, 1, n - 1)), define(y[i], z[i, 0])),
        r"test\.stated, line y\[i\]: it reads z\[0, 0\] .*, which no line defines",
    ),
    "two lines for one entry": (
        lambda: stated(define(y[i], total), define(y[0], 0)),
        r"line y\[0\]: more than one line defines y\[0\]",
    ),
    "a line for an input": (
        lambda: stated(define(y[i], total), define(x[i, c], 1)),
        r"line x\[i,c\]: x is an input, and no line can define it",
    ),
    "an output of another shape": (
        lambda: stated(define(tensor("y", d)[c], x[0, c])),
        r"the output y has shape \(n,\), unlike the tensor of the lines",
    ),
    "an entry that depends on itself": (
        lambda: stated(define(y[i], Sum(z[i, c], c)), define(z[i, c], y[i] + x[i, c])),
        r"the lines turn in a circle: y\[0\] → z\[0, 0\] → y\[0\]",
    ),
    "an entry that reads the one before and the one after": (
        lambda: stated(define(y[i], case(lt(0, i), y[i - 1]) + case(lt(i, n - 1), y[i + 1]) + x[i, 0])),
        r"the lines turn in a circle: y\[0\] → y\[1\] → y\[0\]",
    ),
    "a line that nothing reads": (
        lambda: stated(define(y[i], total), define(z[i, c], x[i, c])),
        r"line z\[i,c\]: nothing reads z, and it is no output",
    ),
    "a range that is always empty": (
        lambda: stated(define(y[i], Sum(x[i, c], (c, d - 1, 0)))),
        r"the range of c is empty: it begins at d - 1 and ends at 0",
    ),
    "a range that ends between two integers": (
        lambda: stated(define(y[i], Sum(x[i, c], (c, d / 2)))),
        r"the range of c ends at d/2 - 1, which is -1/2 \(d = 1\)",
    ),
    "an index between two integers": (
        lambda: stated(define(y[i], x[i / 2, 0])),
        r"the index i/2 of x\[i/2,0\] is no integer: it is 1/2",
    ),
    "arithmetic over a look-up that leaves its axis": (
        lambda: stated(define(z[i, c], E[ids[i] + 1, c]), inputs=(ids, E), outputs=(z,)),
        r"the index ids\[i\] \+ 1 of .* is out of range: it is 1 where the axis has size V = 1",
    ),
    "an index outside the result of an application": (
        lambda: stated(define(z[i, c], turned()(x)[i, c]), outputs=(z,)),
        r"the index i of row\(x\)\[i, c\] is out of range: it is 2 where the axis has size d = 2",
    ),
    "an array of a negative size": (
        lambda: stated(define(y[i], row()(x[i, d:0]))),
        r"an array has -d entries along a: -1 \(d = 1\)",
    ),
    "an index with the name of a size": (
        lambda: stated(define(y[i], m * Sum(x[i, indices(m=d)[0]], indices(m=d)[0])), inputs=(x, m)),
        r"line y\[i\]: the index m has the name of a size",
    ),
    "a condition as a value": (
        lambda: stated(define(y[i], total + le(1, i))),
        r"1 ≤ i is a condition, where a value belongs: write case\(1 ≤ i, 1, 0\)",
    ),
    "a condition as what a line defines": (
        lambda: stated(define(y[i], le(1, i)), inputs=(n,)),
        r"line y\[i\]: y is a value, but the right side is a condition",
    ),
    "a mask in the place of data": (
        lambda: stated(
            define(y[i], total * row()(data("flag", d, domain="boolean"))),
            inputs=(x, data("flag", d, domain="boolean")),
        ),
        r"test\.row: v takes real numbers; flag is a condition",
    ),
    "data left out like a mask": (
        lambda: stated(define(y[i], total * row()(None))),
        r"test\.row: v is no mask, so it has to be given",
    ),
    "a seed of another shape": (
        lambda: stated(define(w_bar[c], row()(x[0]).pullback(w, "v")[c]), inputs=(x, w), outputs=(w_bar,)),
        r"test\.row: s has shape \(\), but what is pulled back has shape \(d\)",
    ),
    "a derivative by no input": (
        lambda: stated(define(w_bar[c], row()(x[0]).pullback(1, "q")[c]), outputs=(w_bar,)),
        r"test\.row has no input q to pull back to",
    ),
    "a default that is no option": (
        lambda: stated(
            define(y[i], by_convention("style", plain=total, twice=2 * total)),
            conventions=(Convention("style", STYLE.options, default="thrice"),),
        ),
        r"convention style: 'thrice' is no option; it has: plain, twice",
    ),
    "an input declared twice": (
        lambda: stated(define(y[i], total), inputs=(x, x)),
        r"the input x is declared twice",
    ),
    "no tuple of inputs": (
        lambda: stated(define(y[i], total), inputs=x),
        r"its inputs are a tuple, as in \(x,\); x was given",
    ),
    "something else among the lines": (
        lambda: stated(y[i]),
        r"y\[i\] among its lines is no definition",
    ),
    "a constant that is no exact number": (
        lambda: stated(define(y[i], total * b), constants={b: 0.1}),
        r"the constant b is an exact number; 0\.1 was given",
    ),
    "a constant outside its domain": (
        lambda: stated(define(y[i], total * b), constants={b: -1}),
        r"the constant b is positive; -1 was given",
    ),
    "a constant that no line uses": (
        lambda: stated(define(y[i], total), constants={b: 2}),
        r"no line uses the constant b",
    ),
    "an explanation of no size": (
        lambda: stated(define(y[i], total), sizes={m: "more"}),
        r"m is explained, but is no size of the formula",
    ),
    "a stored line that there is not": (
        lambda: stated(define(y[i], total), stored=("a",)),
        r"stored names the line 'a'; the formula has: y",
    ),
    "a worked example of another input": (
        lambda: stated(define(y[i], total), worked=(Worked("Wrong", {"w": [1]}, [1], 2),)),
        r"a worked example gives the input 'w'; the formula has: x",
    ),
    "a claim about an entry outside": (
        lambda: stated(define(y[i], total)).theorem("wrong", "Wrong", claim(y[i + 1], "=", y[i])),
        r"wrong, claim 1: the index i \+ 1 of y\[i\+1\] is out of range",
    ),
    "a tensor given to a theorem for nothing": (
        lambda: stated(define(y[i], total)).theorem(
            "wrong", "Wrong", claim(y[i], "=", y[i]), given=given("q")
        ),
        r"wrong: q is given, but no claim or assumption reads it",
    ),
    "a witness of no size": (
        lambda: stated(define(y[i], total)).theorem(
            "wrong", "Wrong", claim(y[i], "=", 1).by_witness(n=0, d=1, x=[[2]]), exists=True
        ),
        r"the witness gives the size n as 0: a size is at least 1",
    ),
    "an abbreviation with the name of a line": (
        lambda: stated(define(y[i], total)).let(y[i], 1),
        r"abbreviation y\[i\]: y is an input or a line of the formula already",
    ),
    "an abbreviation of what nothing defines": (
        lambda: stated(define(y[i], total)).let(w_bar[c], z[0, c]),
        r"abbreviation w_bar\[c\]: nothing defines z of shape \(n, d\)",
    ),
}


@pytest.mark.parametrize("mistake", FURTHER)
def test_what_lines_and_declarations_leave_open_is_refused(mistake: str) -> None:
    """One line names formula, line and symbol, here too."""
    make, said = FURTHER[mistake]
    with pytest.raises(IllFormed, match=said) as refused:
        make()
    assert str(refused.value).startswith("test.")
    assert "\n" not in str(refused.value)

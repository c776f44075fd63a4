"""What lines and declarations leave open is refused when a statement is made: entries, circles, shapes, domains, names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sympy import floor

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
    given,
    indices,
    le,
    lt,
    optional_mask,
    parameter,
    sizes,
    tensor,
)
from spec.language.known import forget
from spec.language.wellformed.formulas import IllFormed
from tests.spec.language.stating import STYLE, d, n, row, stated, x, y

m, V = sizes("m V")
i, c = indices(i=n, c=d)
w = parameter("w", d)
z = tensor("z", n, d)
ids = data("ids", n, domain="integer", below=V)
E = parameter("E", V, d)
mask = data("mask", n, domain="boolean")
b = constant("b")
w_bar = tensor("w_bar", d)
longer, halves, optional = data("longer", n + d), data("halves", floor(n / 2)), optional_mask("optional", n)
whole = tensor("whole", n, domain="integer")
total = Sum(x[i, c], c)


@pytest.fixture(autouse=True)
def _forgotten() -> Any:
    yield
    for name in ("test.stated", "test.row"):
        forget(name)


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
        r"an array has -d entries along κ: -1 \(d = 1\)",
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
    "a mask instead of data": (
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
    "no tuple of lines": (
        lambda: Formula("test.stated", "Stated", (x,), define(y[i], total), (y,)),  # type: ignore[arg-type]
        r"its lines are a tuple, as in \(define\(y\[i\], …\),\); define\(y\[i\], …\) was given",
    ),
    "a convention by its name": (
        lambda: stated(define(y[i], total), conventions=("style",)),
        r"'style' among its conventions is no convention",
    ),
    "something else given to a theorem": (
        lambda: stated(define(y[i], total)).theorem("wrong", "Wrong", claim(y[i], "=", y[i]), given="q"),
        r"wrong: given takes one, or a tuple of them; 'q' was given",
    ),
    "a name given to a theorem": (
        lambda: stated(define(y[i], total)).theorem("wrong", "Wrong", claim(y[i], "=", y[i]), given=("q",)),
        r"wrong: given are tensors, as given\('u', n\) makes them; 'q' is none",
    ),
    "a number assumed by a theorem": (
        lambda: stated(define(y[i], total)).theorem("wrong", "Wrong", claim(y[i], "=", y[i]), assuming=2),
        r"wrong: assuming takes one, or a tuple of them; 2 was given",
    ),
    "a number among what a theorem assumes": (
        lambda: stated(define(y[i], total)).theorem("wrong", "Wrong", claim(y[i], "=", y[i]), assuming=(2,)),
        r"the assumption 2 is no condition",
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
    "sizes that only their sum tells": (
        lambda: stated(define(y[i], longer[i]), inputs=(longer,)),
        r"test\.stated: the inputs do not tell the size d: .* has it alone \(d \+ n\); make it an input",
    ),
    "a size that only a mask tells, which may be absent": (
        lambda: stated(define(y[i], Sum(w[c], c, where=optional[i])), inputs=(w, optional)),
        r"the inputs do not tell the size n: .* make it an input",
    ),
    "a size that only an output has": (
        lambda: stated(define(y[i], Sum(w[c], c)), inputs=(w,)),
        r"the inputs do not tell the size n: .* make it an input",
    ),
    "a size of which an axis tells the half, rounded": (
        lambda: stated(define(y[i], Sum(halves[c], (c, 0, floor(n / 2) - 1))), inputs=(halves,)),
        r"the inputs do not tell the size n: .* has it alone \(floor\(n/2\)\)",
    ),
    "an integer that is none": (
        lambda: stated(define(whole[i], x[i, 0]), define(y[i], x[i, 0] + whole[i])),
        r"line whole\[i\]: whole holds integers, but the right side is not made of integers",
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

"""What is unusual but means something is taken; what is no part of a statement is refused where it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sympy

from spec.language import (
    Sum,
    case,
    claim,
    data,
    define,
    indices,
    le,
    lt,
    parameter,
    sizes,
    tensor,
)
from tests.spec.language.stating import d, n, stated, x, y

(V,) = sizes("V")
i, j, c, k = indices(i=n, j=n, c=d, k=n * d)
z, flat = tensor("z", n, d), tensor("flat", n * d)
ids, mask = data("ids", n, domain="integer", below=V), data("mask", n, domain="boolean")
E = parameter("E", V, d)
total = Sum(x[i, c], c)

WRITTEN: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: total + None, r"None is no value of a statement"),
    "a set": (lambda: total + {1}, r"\{1\} is no value of a statement"),
    "a text": (lambda: x[i, "c"], r"'c' is no value of a statement"),
    "infinity": (lambda: total * sympy.oo, r"oo is no real number"),
    "a root that is SymPy's": (
        lambda: define(y[i], sympy.sqrt(total)),
        r"made by SymPy: write the vocabulary's own",
    ),
    "an absolute value that is Python's": (lambda: define(y[i], abs(total)), r"made by SymPy"),
    "a comparison that is Python's": (
        lambda: case(i <= 1, total),
        r"i <= 1 is no part of a statement: compare by eq",
    ),
    "an equation that is Python's": (
        lambda: case(i == 1, total),
        r"False is no part of a statement: compare by eq",
    ),
    "and": (lambda: case(le(1, i) and lt(i, n), total), r"1 ≤ i is a condition of the statement: write case"),
    "not": (lambda: case(not le(1, i), total), r"1 ≤ i is a condition of the statement: write case"),
    "a sum that is Python's": (lambda: sum(x[i]), r"x\[i\] has symbolic sizes and cannot be gone through"),
    "a sum over nothing": (lambda: Sum(total), r"a sum runs over an index"),
    "a sum over a number": (lambda: Sum(total, 3), r"3 names no index: write j, \(j, m\)"),
    "a left side that is no entry": (
        lambda: define(y[i] + 1, total),
        r"a line defines a tensor or entries of one",
    ),
}


@pytest.mark.parametrize("mistake", WRITTEN)
def test_what_is_no_part_of_a_statement_is_refused_where_it_is_written(mistake: str) -> None:
    """Python's own words are told from those of a statement, with what to write."""
    make, said = WRITTEN[mistake]
    with pytest.raises(TypeError, match=said):
        make()


MEANT: dict[str, Callable[[], Any]] = {
    "a look-up kept inside by a condition": lambda: stated(
        define(z[i, c], case(lt(0, ids[i]), E[ids[i] - 1, c])), inputs=(ids, E), outputs=(z,)
    ),
    "a look-up into an axis that is longer": lambda: stated(
        define(z[i, c], parameter("E", V + 1, d)[ids[i] + 1, c]),
        inputs=(ids, parameter("E", V + 1, d)),
        outputs=(z,),
    ),
    "a sum that is empty at first": lambda: stated(define(y[i], Sum(x[j, 0], (j, 0, i - 1)))),
    "a sum over the inner entries": lambda: stated(define(y[i], Sum(x[i, c], (c, 1, d - 2)))),
    "an output written backwards": lambda: stated(define(y[n - 1 - i], x[i, 0])),
    "even and odd entries": lambda: stated(
        define(y[2 * i], x[2 * i, 0], (i, sympy.ceiling(n / 2))),
        define(y[2 * i + 1], 0, (i, sympy.floor(n / 2))),
    ),
    "blocks taken apart by division": lambda: stated(
        define(flat[k], x[sympy.floor(k / d), sympy.Mod(k, d)], (k, n * d)), outputs=(flat,)
    ),
    "a recurrence from the end": lambda: stated(
        define(y[n - 1], x[n - 1, 0]), define(y[i], y[i + 1] + x[i, 0], (i, 0, n - 2))
    ),
    "a recurrence of one line, begun by a condition": lambda: stated(
        define(y[i], case(lt(0, i), y[i - 1]) + x[i, 0])
    ),
    "a condition that guards what stands after it": lambda: stated(
        define(y[i], case(le(1, i) & mask[i - 1], 1)), inputs=(mask,)
    ),
    "a claim that a condition keeps inside": lambda: stated(define(y[i], total)).theorem(
        "right", "Right", claim(y[i + 1], "=", y[i + 1], where=lt(i + 1, n))
    ),
}


@pytest.mark.parametrize("unusual", MEANT)
def test_what_is_unusual_but_means_something_is_taken(unusual: str) -> None:
    """No false alarm."""
    assert MEANT[unusual]() is not None

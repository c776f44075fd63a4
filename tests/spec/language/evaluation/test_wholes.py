"""Index arithmetic as a value: powers of letters, what is left of divisions, and numbers beyond those that a type holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sympy
import torch

from spec.language import data, define, indices, sizes, tensor
from spec.language.evaluation.evaluate import bound, evaluate
from spec.language.formula import Formula
from spec.language.known import forget
from tests.spec.language.evaluation.test_compiled import ARITHMETICS, compare

(n,) = sizes("n")
(i,) = indices(i=n)
x, y = data("x", n), tensor("y", n)
LARGE = 32771


@pytest.fixture
def stated() -> Iterator[Callable[[Any], Formula]]:
    """A formula whose entries are these."""
    made = []

    def make(entry: Any) -> Formula:
        made.append(Formula("test.wholes", "Wholes", (x,), (define(y[i], entry),), (y,)))
        return made[-1]

    yield make
    for formula in made:
        forget(formula.id)


ENTRIES: dict[str, tuple[Any, Callable[[Any, int], Any]]] = {
    "an index in an exponent": (x[i] * 2**i, lambda i, n: 2.0**i),
    "a root of a size": (x[i] * sympy.sqrt(n), lambda i, n: n**0.5),
    "a frequency": (x[i] / 10000 ** (2 * i / n), lambda i, n: 10000.0 ** (-2 * i / n)),
    "a remainder": (x[i] * (i % 2), lambda i, n: i % 2),
    "a multiple of pi": (x[i] * (2 * sympy.pi * i / n), lambda i, n: 2 * np.pi * i / n),
    "fractions of indices": (x[i] * (i / 2 + sympy.Rational(1, 3)), lambda i, n: i / 2 + 1 / 3),
    "a fraction of a fraction": (x[i] / (1 + 1 / n), lambda i, n: 1 / (1 + 1 / n)),
    "a square": (x[i] * i**2, lambda i, n: i**2.0),
    "a power beyond 64 bits": (x[i] * i**5, lambda i, n: i**5.0),
    "a difference of squares": (x[i] * (n * n - i * i), lambda i, n: n**2.0 - i**2.0),
    "a square in a denominator": (x[i] / (i * i + 1), lambda i, n: 1 / (i**2.0 + 1)),
}


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("size", [7, LARGE])
def test_arithmetic_of_indices_is_a_value(name: str, size: int, stated: Callable[[Any], Formula]) -> None:
    """Whatever is made of indices and sizes by arithmetic is a factor like another, at small sizes and at large ones."""
    entry, factor = ENTRIES[name]
    if name == "an index in an exponent":
        size = min(size, 1000)  # beyond, 2^i is no float64
    row = np.random.default_rng(0).normal(size=size)
    (found,) = evaluate(stated(entry), {"x": row})
    # Some ten roundings on either side, of numbers that do not cancel; relative to the terms where they do.
    np.testing.assert_allclose(found, row * factor(np.arange(size), size), rtol=1e-13)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("name", ["a square", "a difference of squares", "a square in a denominator"])
def test_the_program_says_of_large_numbers_what_the_interpreter_says(
    name: str, arithmetic: str, stated: Callable[[Any], Formula]
) -> None:
    """Both go over to rounded numbers where whole ones are no longer held: in bfloat16, at 300 already."""
    compare(stated(ENTRIES[name][0]).flat(), {"x": np.linspace(-1, 1, 307)}, arithmetic)


def test_a_whole_number_that_a_type_does_not_hold_may_be_rounded(stated: Callable[[Any], Formula]) -> None:
    """i² is no float32 beyond i = 4096: what rounds it, and then the product, is within the bound; what is off by more is not."""
    row = np.random.default_rng(1).normal(size=LARGE).astype(np.float32)
    (expected, allowed) = bound(stated(x[i] * i**2), {"x": row.astype(np.float64)}, dtype="float32")[0]
    letters = torch.arange(LARGE, dtype=torch.float32)
    found = (torch.from_numpy(row) * letters**2).double().numpy()
    off = np.abs(found - expected)
    assert (off <= allowed).all()
    assert (off > 2.0**-24 * np.abs(expected)).any(), "one rounding alone would do"
    assert (allowed < 1e-6 * np.abs(expected) + 1e-30).all()


def test_the_rest_of_a_division_is_an_index(stated: Callable[[Any], Formula]) -> None:
    """x[i - i % 2] is x[2⌊i/2⌋]."""
    formula = stated(x[i - i % 2])
    assert evaluate(formula, {"x": [3.0, 5.0, 7.0]})[0].tolist() == [3.0, 3.0, 7.0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: x[2**i], "2**i is no index: sums, products, floor"),
        (lambda: x[i] // 2, "x[i] // 2 is no part of a statement: floor(i / 2) is one"),
        (lambda: x[i] % 2, "x[i] % 2 is no part of a statement: i % 2 is one"),
        (lambda: x[i] * sympy.gamma(i), "is no part of a statement: write it in the words of the vocabulary"),
    ],
)
def test_what_is_no_arithmetic_of_indices_is_refused(wrong: Callable[[], Any], said: str) -> None:
    """What has no value in a statement is refused where it is written, with what may stand there."""
    with pytest.raises(TypeError) as refused:
        wrong()
    assert said in str(refused.value)

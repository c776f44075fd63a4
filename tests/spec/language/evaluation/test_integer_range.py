"""Index arithmetic as a value: powers of letters, what is left of divisions, and numbers beyond those that a type holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sympy
import torch

from spec.language import data, define, indices, sizes, tensor
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.evaluate import bound, evaluate
from spec.language.evaluation.precision import FORMATS
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


FACTORS = {
    "an index in an exponent": 2**i,
    "a root of a size": sympy.sqrt(n),
    "a frequency": 10000 ** (-2 * i / n),
    "a remainder": i % 2,
    "a multiple of pi": 2 * sympy.pi * i / n,
    "fractions of indices": i / 2 + sympy.Rational(1, 3),
    "a fraction of a fraction": 1 / (1 + 1 / n),
    "a square": i**2,
    "a power beyond 64 bits": i**5,
    "signs that alternate": (-1) ** (i + 1),
    "a difference of squares": n * n - i * i,
    "a square in a denominator": 1 / (i * i + 1),
}


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("size", [7, LARGE])
def test_arithmetic_of_indices_is_a_value(name: str, size: int, stated: Callable[[Any], Formula]) -> None:
    """Whatever is made of indices and sizes by arithmetic is a factor like another, at small sizes and at large ones: SymPy's own
    value of it, within the bound for float64.
    """
    if name == "an index in an exponent":
        size = min(size, 900)  # nothing is said of numbers that large
    row = np.random.default_rng(0).normal(size=size)
    ((found, allowed),) = bound(stated(x[i] * FACTORS[name]), {"x": row}, dtype="float64")
    for place in (0, 1, 2, size // 2, size - 2, size - 1):
        exact = sympy.Float(row[place], 40) * sympy.sympify(FACTORS[name]).subs({i: place, n: size}).evalf(40)
        assert abs(float(exact - sympy.Float(found[place], 40))) <= allowed[place]
        # A power is as wide as its exponent, of which the largest is 899: some 2^13 roundings.
        assert allowed[place] <= 2.0**-40 * abs(exact) + FORMATS["float64"].tiny, "it shows nothing"


POWERS = {
    "a ninth power": x[i] ** 9,
    "its own place": x[i] ** i,
    "the other way round": x[i] ** (n - 1 - i),
    "below nought": x[i] ** (-i),
}


@pytest.mark.parametrize("name", POWERS)
def test_a_whole_power_of_an_entry_has_its_sign_and_a_useful_bound(
    name: str, stated: Callable[[Any], Formula]
) -> None:
    """Whatever the sign of the entry, in float64 and float32; what NumPy makes of it in that type is within the bound, what has
    the wrong sign is not. Of 0 to a whole power it is 0, or 1.
    """
    formula = stated(POWERS[name])
    row = np.array([-1.5, 0.75, -1.25, 2.0, -0.5, 1.0, -3.0])
    exponents = {
        "a ninth power": np.full(7, 9),
        "its own place": np.arange(7),
        "the other way round": np.arange(7)[::-1],
        "below nought": -np.arange(7),
    }[name]
    for dtype in ("float64", "float32"):
        ((expected, allowed),) = bound(formula, {"x": row}, dtype=dtype)
        found = np.power(row.astype(dtype), exponents.astype(dtype))
        assert (np.abs(found - expected) <= allowed).all()
        assert (allowed < 1e-3 * np.abs(expected)).all(), "it shows nothing"
    if (exponents >= 0).all():
        ((expected, allowed),) = bound(formula, {"x": np.zeros(7)}, dtype="float32")
        assert (expected == (exponents == 0)).all()
        assert (allowed < 1e-3).all()


@pytest.mark.parametrize("name", POWERS)
def test_the_slope_of_a_whole_power_is_said_at_nought_too(
    name: str, stated: Callable[[Any], Formula]
) -> None:
    """x⁰ is 1 everywhere: its slope is 0, not 0·0⁻¹."""
    if name != "below nought":
        found = pull_back(stated(POWERS[name]), {"x": np.zeros(7)}, np.ones(7))["x"]
        assert np.isfinite(found).all()
        assert set(found[0]) <= {0.0, 1.0}


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("name", POWERS)
def test_the_program_says_of_powers_what_the_interpreter_says(
    name: str, arithmetic: str, stated: Callable[[Any], Formula]
) -> None:
    """Compiled or walked, they are the same."""
    compare(stated(POWERS[name]).flat(), {"x": np.linspace(-1.25, 1.5, 7)}, arithmetic)


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("name", ["a square", "a difference of squares", "a square in a denominator"])
def test_the_program_says_of_large_numbers_what_the_interpreter_says(
    name: str, arithmetic: str, stated: Callable[[Any], Formula]
) -> None:
    """Both go over to rounded numbers where whole ones are no longer held: in bfloat16, at 300 already."""
    compare(stated(x[i] * FACTORS[name]).flat(), {"x": np.linspace(-1, 1, 307)}, arithmetic)


def test_a_whole_number_that_a_type_does_not_hold_may_be_rounded(stated: Callable[[Any], Formula]) -> None:
    """i² is no float32 beyond i = 4096: what rounds it, and then the product, is within the bound; what is off by more is not."""
    row = np.random.default_rng(1).normal(size=LARGE).astype(np.float32)
    (expected, allowed) = bound(stated(x[i] * i**2), {"x": row.astype(np.float64)}, dtype="float32")[0]
    letters = torch.arange(LARGE, dtype=torch.float32)
    found = (torch.from_numpy(row) * letters**2).double().numpy()
    off = np.abs(found - expected)
    assert (off <= allowed).all()
    assert (off > 2.0**-24 * np.abs(expected)).any(), "one rounding alone would do"
    # i, i², the product: four roundings and what they share are far from the next power of two.
    assert (allowed <= 2.0**-21 * np.abs(expected) + FORMATS["float32"].tiny).all()


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

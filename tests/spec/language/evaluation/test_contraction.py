"""Sums of products as matrix products: the same values and bounds as products that are formed and added."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from spec.language.evaluation import running_error
from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.compiled import values as compiled
from spec.language.evaluation.evaluate import bound, evaluate
from spec.language.evaluation.numbers import HUGE, Num, hides
from spec.language.evaluation.precision import FORMATS
from spec.language.evaluation.running_error import RunningError
from spec.language.formula import Formula
from spec.language.registry import find

LENGTHS = (2, 3, 5)
TERMS = 7
SINGLE, PLAIN = RunningError(FORMATS["float32"]), RunningError()
CLOSE = 4 * (TERMS + 4) * 2.0**-53
"""So far apart, relative to the sum of their sizes, two ways to add such products in float64 may come: either rounds a term at
most TERMS + 4 times (additions, two products, two steps of the bound); twice that covers the second order."""


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few the products are."""
    monkeypatch.setattr(running_error, "FEWEST", 0)
    monkeypatch.setattr(compiled, "FEWEST", 0)


@st.composite
def factors(draw: st.DrawFn) -> list[Num]:
    """Two or three factors: each with some of the axes, exact or not, perhaps known to be nonnegative, with zeros; perhaps with
    entries of which nothing is known, whatever their errors.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made = []
    for place in range(draw(st.integers(2, 3))):
        shape = [n if draw(st.booleans()) else 1 for n in LENGTHS] + [
            TERMS if draw(st.booleans()) or not place else 1
        ]
        value = rng.standard_normal(shape) * rng.choice([0.0, 1.0, 1e3], shape)
        error = np.abs(rng.standard_normal(shape)) * 1e-6 * rng.choice([0.0, 1.0], shape)
        low = None
        if draw(st.booleans()):
            value = np.abs(value)
            low = np.maximum(value - error, 0)
        lost = None
        if draw(st.booleans()):
            lost = rng.random(shape) < 0.1
            error = np.where(lost, rng.choice([0.0, 1.0, HUGE], shape), error)
        made.append(Num(value, error, None, low, lost))
    return made


def masks() -> st.SearchStrategy[Any]:
    """A condition over the first and the last axis, or none."""
    return st.none() | st.integers(0, 2**32 - 1).map(
        lambda seed: np.random.default_rng(seed).random((LENGTHS[0], 1, 1, TERMS)) < 0.6
    )


@settings(max_examples=300, deadline=None)
@given(factors(), masks())
def test_a_contraction_is_the_sum_of_products(parts: list[Num], mask: Any) -> None:
    """In value, in bound and in what is known to be nonnegative; where it is formed at all."""
    where = None if mask is None else Truth(mask)
    found = SINGLE.contract(parts, TERMS, where)
    if found is None:
        return
    whole = np.broadcast_shapes(*(part.value.shape for part in parts), () if mask is None else mask.shape)
    with np.errstate(all="ignore"):  # as the interpreter has it
        every = reduce(SINGLE.times, parts)
        spread = every.view(lambda part: np.broadcast_to(part, (*np.broadcast_shapes(part.shape, whole),)))
        plain = SINGLE.sum(spread, where)
    shape = plain.value.shape
    value, error = (np.broadcast_to(part, shape) for part in (found.value, found.bounds()))
    assert plain.error is not None
    assert plain.reach is not None
    known = np.isfinite(plain.bounds())
    assert (np.abs(value - plain.value) <= CLOSE * plain.reach)[known].all()
    np.testing.assert_allclose(error, plain.bounds(), rtol=CLOSE, atol=0)
    if found.low is not None:
        assert plain.low is not None
        assert (np.broadcast_to(found.low, shape) <= plain.low * (1 + CLOSE))[known].all()


def test_most_are_formed() -> None:
    """The comparison above compares something: two exact factors are contracted, masked or not, and whether or not an entry is
    lost, which then is in no other sum than its own.
    """
    parts = [Num(np.ones(shape), np.zeros(shape)) for shape in ((2, 1, 5, TERMS), (1, 3, 1, TERMS))]
    every = Truth(np.ones((2, 1, 1, TERMS), bool))
    for where in (None, every):
        assert SINGLE.contract(parts, TERMS, where) is not None
        parts[0].lost = np.zeros((2, 1, 5, TERMS), bool)
        parts[0].lost[1, 0, 3, 2] = True
        found = SINGLE.contract(parts, TERMS, where)
        assert found is not None
        assert np.argwhere(np.isinf(found.bounds())).tolist() == [[1, j, 3] for j in range(3)]


def test_what_is_lost_where_nothing_is_read_does_not_count() -> None:
    """A lost entry that the condition shuts out leaves the sum as it is known."""
    parts = [Num(np.ones(shape), np.zeros(shape)) for shape in ((2, 1, 5, TERMS), (1, 3, 1, TERMS))]
    parts[1].lost = np.arange(TERMS) == 2
    found = SINGLE.contract(parts, TERMS, Truth((np.arange(TERMS) != 2).reshape(1, 1, 1, TERMS)))
    assert found is None or np.isfinite(found.bounds()).all()
    open_ = SINGLE.contract(parts, TERMS, Truth(np.ones((1, 1, 1, TERMS), bool)))
    assert open_ is not None
    assert np.isinf(open_.bounds()).all()


@pytest.mark.parametrize(
    "part",
    [
        Num(np.full((2, 1, 1, TERMS), np.nan), np.zeros((2, 1, 1, TERMS))),
        Num(np.ones((2, 1, 1, TERMS)), np.zeros((2, 1, 1, TERMS)), np.full((2, 1, 1, TERMS), 2000)),
        Num(np.full((2, 1, 1, TERMS), 1e300), np.zeros((2, 1, 1, TERMS))),
    ],
    ids=["not a number", "an exponent of its own", "an overflow"],
)
def test_what_a_matrix_product_would_spoil_is_formed_as_it_stands(part: Num) -> None:
    """One such entry would reach every sum that it is in, permitted or not."""
    with np.errstate(all="ignore"):  # as the interpreter has it
        assert SINGLE.contract([part, part], TERMS, None) is None


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 300, 3000]), st.booleans(), masks())
def test_numbers_with_exponents_of_their_own_are_contracted(
    seed: int, reach: int, both: bool, mask: Any
) -> None:
    """As their products formed and added, however far their exponents are apart; where it is formed at all."""
    rng = np.random.default_rng(seed)
    parts = []
    for scaled, shape in ((True, (2, 1, 5, TERMS)), (both, (1, 3, 5, TERMS))):
        value = rng.standard_normal(shape) * rng.choice([0.0, 1.0], shape, p=[0.2, 0.8])
        scale = rng.integers(-reach, reach, shape) if scaled else None
        parts.append(Num(value, None, scale))
    where = None if mask is None else Truth(mask)
    found = PLAIN.contract(parts, TERMS, where)
    product = PLAIN.times(*parts)
    if where is not None:
        product = PLAIN.select(where, product, PLAIN.zeros(()))
    plain, sizes = PLAIN.sum(product, None), PLAIN.sum(Num(np.abs(product.value), None, product.scale), None)
    event(f"contracted: {found is not None}")
    if found is None:
        return
    off = PLAIN.minus(found, plain)
    with np.errstate(all="ignore"):
        share = PLAIN.over(Num(np.abs(off.value), None, off.scale), sizes).floats()
    assert (share[sizes.value > 0] <= CLOSE).all()
    assert not found.value[sizes.value == 0].any()


@pytest.mark.parametrize("reach", [3, 300])
def test_numbers_with_exponents_of_their_own_are_mostly_contracted(reach: int) -> None:
    """The comparison above compares something."""
    rng = np.random.default_rng(0)
    first = Num(rng.standard_normal((2, 1, 5, TERMS)), None, rng.integers(-reach, reach, (2, 1, 5, TERMS)))
    assert PLAIN.contract([first, Num(rng.standard_normal((1, 3, 1, TERMS)))], TERMS, None) is not None


def test_what_leaves_a_trace_beside_a_zero_is_formed_as_it_stands() -> None:
    """Where the largest of a row meets a zero, the sum is that of the smallest, which a matrix product would have lost."""
    first = Num(np.ones((1, TERMS)), None, np.where(np.arange(TERMS) == 3, 0, -5000).reshape(1, TERMS))
    other = Num(np.where(np.arange(TERMS) == 3, 0.0, 1.0).reshape(1, TERMS))
    assert PLAIN.contract([first, other], TERMS, None) is None
    assert PLAIN.contract([first, Num(np.ones((1, TERMS)))], TERMS, None) is not None


def test_a_sum_whose_terms_do_not_depend_on_its_index_is_formed_as_it_stands() -> None:
    """There are as many terms as the range is long, not one."""
    part = Num(np.ones((2, 1, 1, 1)), np.zeros((2, 1, 1, 1)))
    assert SINGLE.contract([part, part], TERMS, None) is None


def drawn(formula: Formula, seed: int) -> dict[str, Any]:
    """Inputs of distinct prime sizes."""
    found = set().union(*(size.free_symbols for item in formula.tensors for size in item.shape))
    sizes = dict(zip(sorted(found, key=str), (2, 3, 5, 7, 11, 13), strict=False))
    rng = np.random.default_rng(seed)
    given: dict[str, Any] = {}
    for item in formula.tensors:
        shape = tuple(int(size.subs(sizes)) for size in item.shape)
        given[item.name] = rng.random(shape) < 0.7 if item.domain == "boolean" else rng.standard_normal(shape)
    return given


@pytest.mark.parametrize(
    "formula_id", ["attention.multi_head", "attention.scaled_dot_product", "scores.general"]
)
def test_a_statement_is_worth_the_same(formula_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values within the rigorous bound of float64; bounds, in which nothing cancels, within the roundings of their terms."""
    formula = find(formula_id)
    given_ = drawn(formula, 1)
    values, bounds = evaluate(formula, given_), bound(formula, given_)
    for module in (running_error, compiled):
        monkeypatch.setattr(module, "FEWEST", 1 << 60)
    double = bound(formula, given_, dtype="float64")
    for value, (other, own) in zip(values, double, strict=True):
        assert (np.abs(value - other) <= 2 * own).all()
    lines = len(formula.flat(None).lines)
    roundings = lines * (
        8 + sum(size for array in given_.values() for size in array.shape)
    )  # of a line: its sums, and 8 more
    for (_, tolerance), (_, other) in zip(bounds, bound(formula, given_), strict=True):
        assert (np.abs(tolerance - other) <= 2 * roundings * 2.0**-53 * other).all()


@pytest.mark.parametrize("least", [2.0**-1022, 2.0**-126])
def test_what_is_said_to_leave_no_trace_leaves_none(least: float) -> None:
    """Sizes that hide a number do not change when it is added; a zero, what is too near and NaN hide nothing."""
    near = least * 2.0 ** np.arange(70)
    hidden = np.array([hides(size, least) for size in near])
    assert hidden.any()
    assert (near + least == near)[hidden].all()
    assert hides(near[-2:], least)
    for other in (0.0, least, np.nan):
        assert not hides(np.array([near[-1], other]), least)

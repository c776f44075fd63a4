"""Comparisons of inexact numbers: decided, or open; what depends on an open one covers both sides of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import flint
import numpy as np
import pytest

from spec.attention.local import local
from spec.language import (
    Max,
    Node,
    Some,
    Sum,
    Tensor,
    case,
    data,
    define,
    eq,
    le,
    lt,
    number,
    sizes,
    sqrt,
    tensor,
)
from spec.language.differentiation.gradients import pull_back
from spec.language.evaluation.arithmetic import Truth, Undecided
from spec.language.evaluation.balls import midpoints
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import bound, enclose, evaluate, run
from spec.language.evaluation.running_error import RunningError
from spec.language.formula import Formula
from spec.language.known import forget
from spec.language.symbols import indices
from spec.language.trees import refs
from tests.spec.language.evaluation.simulated import simulate

(m,) = sizes("m")
i, j = indices("i j")
x, y = data("x", m), data("y", m)
u, out = tensor("u", m), tensor("out", m)

TRUE, FALSE, OPEN = (
    Truth(np.array([True])),
    Truth(np.array([False])),
    Truth(np.array([True]), np.array([True])),
)
THIRD = [1 / 3, -2.5]
INEXACT = sqrt(2) * sqrt(2) * x[j] / 2
"""This is x, which no precision tells: at y = x its comparison with y is open."""


def stated(right: Any, result: Tensor = out) -> Formula:
    """A formula that computes u, which is x but inexact, where ``right`` reads it, and then ``right``."""
    before = [define(u[j], INEXACT)] if any(part.tensor == u for part in refs(right)) else []
    formula = Formula(
        "test.truth",
        "a comparison",
        inputs=(x, y),
        lines=(*before, define(result[j] if result.shape else result, right)),
        outputs=(result,),
    )
    forget(formula.id)
    return formula


def both_ways(conditions: Truth) -> list[bool]:
    """What an array of one condition may turn out to be."""
    return [bool(end[0]) for end in (conditions.surely, conditions.possibly)]


def test_one_condition_that_holds_for_all_is_known_to() -> None:
    """Nothing is restricted by it. An open one is not, nor one that fails; of several entries nobody looks at each."""
    assert TRUE.everywhere
    assert not FALSE.everywhere
    assert not OPEN.everywhere
    assert not Truth(np.full(3, True)).everywhere


@pytest.mark.parametrize(("a", "b"), list(product((TRUE, FALSE, OPEN), repeat=2)))
def test_logic_in_three_values_says_what_holds_whichever_way_the_open_parts_turn_out(
    a: Truth, b: Truth
) -> None:
    """And, or, not and the choice between two are as narrow as their parts, taken one by one, allow."""
    cases = [(p, q) for p in both_ways(a) for q in both_ways(b)]
    for made, plain in (
        (a & b, [p and q for p, q in cases]),
        (a | b, [p or q for p, q in cases]),
        (~a, [not p for p, _ in cases]),
        (a.where(b, FALSE), [p and q for p, q in cases]),
    ):
        assert both_ways(made) == [all(plain), any(plain)]
    some = Truth(np.array([[True, False]]), np.array([[True, False]])).any()
    assert both_ways(some) == [False, True]


def test_a_comparison_of_exact_numbers_is_decided_even_where_they_are_equal() -> None:
    """Inputs are exact, so x ≤ y at x = y holds, and x < y does not."""
    inputs = {"x": np.array(THIRD), "y": np.array(THIRD)}
    for condition, expected in ((le(x[j], y[j]), 1.0), (lt(x[j], y[j]), 0.0), (eq(x[j], y[j]), 1.0)):
        ((value, tolerance),) = bound(stated(case(condition, 1)), inputs)
        assert (value == expected).all()
        assert (tolerance == 0).all()


@pytest.mark.parametrize("relation", [le, lt, eq])
def test_near_the_border_the_bound_covers_both_branches_and_away_from_it_only_one(relation: Any) -> None:
    """case(u ≤ y, 5, 2) at u = y may be 5 or 2; one thousandth away from the border it is one of them, exactly."""
    formula = stated(case(relation(u[j], y[j]), 5, 2))
    near = {"x": np.array(THIRD), "y": np.array(THIRD)}
    ((value, tolerance),) = bound(formula, near)
    for either in (2.0, 5.0):
        assert (np.abs(value - either) <= tolerance).all()
    assert (tolerance < 3.1).all()
    for distance in (-1e-3, 1e-3):
        ((value, tolerance),) = bound(formula, {**near, "y": np.array(THIRD) + distance})
        assert set(value.tolist()) <= {2.0, 5.0}
        assert (tolerance == 0).all()


@pytest.mark.parametrize("bits", [64, 128])
def test_balls_enclose_both_branches_where_they_do_not_decide_the_comparison(bits: int) -> None:
    """The ball of u contains x, so both branches are enclosed; where the ball decides, only one is."""
    formula = stated(case(lt(u[j], y[j]), 5, 2))
    (found,) = enclose(formula, {"x": np.array([1 / 3, 1 / 3]), "y": np.array([1 / 3, 0.4])}, bits=bits)
    assert found[0].contains(5)
    assert found[0].contains(2)
    assert found[1] == 5


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (Sum(x[j] * y[j], (j, 0, m - 1), where=le(u[j], y[j])), tensor("total")),
        (Max(x[j] * y[j], (j, 0, m - 1), where=le(u[j], y[j]) | lt(j, 1)), tensor("total")),
        (case(Some(lt(u[j], y[j]), (j, 0, m - 1)), 3, 4), tensor("total")),
        (case(le(x[j], 0) & ~le(u[j], y[j]), x[j], y[j] - 7), out),
    ],
)
def test_sums_maxima_and_quantifiers_over_open_conditions_cover_every_way_they_may_turn_out(
    body: Node, result: Tensor
) -> None:
    """Moving y by less than the rounding decides the conditions one way or the other; every result lies in the bound."""
    formula = stated(body, result)
    at = np.array([1 / 3, -2.5, 0.7])
    inputs = {"x": at, "y": at * np.array([1.0, 1.0, 0.5])}
    ((value, tolerance),) = bound(formula, inputs)
    (balls,) = enclose(formula, inputs)
    moved = []
    for signs in product((-1, 1), repeat=2):
        turned = {**inputs, "y": inputs["y"] * (1 + 1e-15 * np.array([*signs, 0]))}
        (exact,) = enclose(formula, turned, bits=256)
        moved.append(midpoints(exact))
        # Products of at most 2.5 · 2.5, and sums of three: y, moved by 1e-15 of itself, moves them by less than 1e-14.
        assert (np.abs(midpoints(exact) - value) <= tolerance + 1e-14).all()
    assert np.ptp(moved, axis=0).max() > 0.1  # they do turn out differently
    for ball, *ways in zip(balls.flat, *(np.ravel(way) for way in moved), strict=True):
        assert all(abs(way - ball.mid()) <= ball.rad() + flint.arb(1e-13) for way in ways)


def test_a_condition_stored_as_a_line_stays_open() -> None:
    """A boolean line remembers where it was not decided; read as a number it may be 0 or 1."""
    near = tensor("near", m, domain="boolean")
    formula = Formula(
        "test.stored_truth",
        "a stored comparison",
        inputs=(x, y),
        lines=(
            define(u[j], INEXACT),
            define(near[j], le(u[j], y[j])),
            define(out[j], case(near[j], 5, 2) + near[j]),
        ),
        outputs=(out,),
    )
    forget(formula.id)
    ((value, tolerance),) = bound(formula, {"x": np.array(THIRD), "y": np.array([1 / 3, 9.0])})
    assert abs(value[0] - 6) <= tolerance[0]
    assert abs(value[0] - 2) <= tolerance[0]
    assert value[1] == 6
    assert tolerance[1] < 1e-5


def test_an_integer_that_depends_on_an_open_comparison_is_refused() -> None:
    """There is no integer that covers two; the line says so instead of picking one."""
    count = tensor("count", m, domain="integer")
    formula = Formula(
        "test.integer_truth",
        "an integer from a comparison",
        inputs=(x, y),
        lines=(define(u[j], INEXACT), define(count[j], case(le(u[j], y[j]), 1, 0)), define(out[j], count[j])),
        outputs=(out,),
    )
    forget(formula.id)
    with pytest.raises(Undecided, match="does not decide"):
        bound(formula, {"x": np.array(THIRD), "y": np.array(THIRD)})
    assert evaluate(formula, {"x": np.array(THIRD), "y": np.array([1.0, 1.0])})[0].tolist() == [1, 1]


def test_a_gradient_covers_both_branches_at_the_border_and_is_that_of_one_elsewhere() -> None:
    """case(u ≤ y, 5·x, 2·x) has the slope 5 or 2, which rounding decides at the border; the condition has none."""
    formula = stated(case(le(u[j], y[j]), 5 * x[j], 2 * x[j]))
    found = pull_back(
        formula, {"x": np.array([1 / 3, 1 / 3]), "y": np.array([1 / 3, 0.4])}, np.ones(2), ["x", "y"]
    )
    slope, tolerance = found["x"]
    assert abs(slope[0] - 5) <= tolerance[0]
    assert abs(slope[0] - 2) <= tolerance[0]
    assert abs(slope[1] - 5) <= tolerance[1]
    assert tolerance[1] < 1e-13
    assert (found["y"][0] == 0).all()


@pytest.mark.parametrize("seed", range(12))
def test_local_attention_with_a_key_on_the_border_of_the_window_raises_no_false_alarm(seed: int) -> None:
    """D is as far as one key from its query's position: float32 sees the key inside or outside, both within the bound."""
    random = np.random.default_rng(seed)
    n, keys, d_k, d_v, a = 3, 11, 2, 5, 7
    shapes = {"q": (n, d_k), "k": (keys, d_k), "v": (keys, d_v), "W_p": (a, d_k), "v_p": (a,)}
    inputs: dict[str, Any] = {
        name: np.float32(random.standard_normal(shape)) for name, shape in shapes.items()
    }
    inputs["D"] = 1.0
    p = run(local.flat(), RunningError(), bind(local.flat(), inputs)).tensors["p"].floats()
    inputs["D"] = float(np.abs(np.rint(p[1]) + (2 if p[1] < 5 else -2) - p[1]))
    (balls,) = enclose(local, inputs)
    ((_, tolerance),) = bound(local, inputs, {"intermediates": "storage"})
    (got,) = simulate(local.flat(), inputs, np.float32, seed)
    assert (np.abs(got - midpoints(balls)) <= tolerance).all()
    assert tolerance[1].max() > 1e-3
    away = {**inputs, "D": inputs["D"] + 0.3}
    assert np.median(bound(local, away, {"intermediates": "storage"})[0][1]) < 1e-3


def test_arithmetic_of_whole_numbers_in_a_condition_is_decided() -> None:
    """A number that is given, an index and a size may be added on either side: nothing of it is rounded."""
    last, y = number("last", domain="integer", below=m), tensor("y", m)
    bounds = []
    for seen in (le(j, last + m - m + 1 - 1), le(j, last), ~lt(last + 2, j + 2)):
        lines = (define(y[j], case(seen, x[j] / 3)),)
        formula = Formula("test.truth", "up to the last", inputs=(x, last), lines=lines, outputs=(y,))
        forget(formula.id)
        bounds.append(bound(formula, {"x": np.arange(1.0, 8), "last": 3}, dtype="float32")[0][1])
    assert bounds[0].tolist() == bounds[1].tolist() == bounds[2].tolist()
    assert (bounds[0] < 1e-5).all()

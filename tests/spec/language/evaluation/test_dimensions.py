"""Sizes read off shapes: also where the shape is L + 1 or 4·d, and where a later input tells."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from spec.language import data, define, parameter, sizes, tensor
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import WrongSize, solve_size, solve_sizes
from spec.language.evaluation.evaluate import evaluate
from spec.language.formula import Formula
from spec.language.registry import find

L, d, h = sizes("L d h")


@pytest.mark.parametrize(
    ("size", "actual", "known", "found"),
    [
        (L + 1, 3, {}, {L: 2}),
        (4 * d, 20, {}, {d: 5}),
        (h * d, 21, {d: 3}, {h: 7}),
        (d, 5, {}, {d: 5}),
        (2 * d, 6, {d: 3}, {}),
    ],
)
def test_an_affine_size_tells_the_symbol_in_it(
    size: sympy.Expr, actual: int, known: dict, found: dict
) -> None:  # type: ignore[type-arg]
    """L + 1 = 3 says L = 2, h·d = 21 says h = 7 once d = 3 is known."""
    assert solve_size(size, actual, known) == found


def test_two_open_symbols_tell_nothing_yet() -> None:
    """h·d = 21 says nothing of h and d alone, and everything once d is read elsewhere."""
    assert solve_size(h * d, 21, {}) is None
    assert solve_sizes([(h * d, 21), (d, 3)], {}) == {d: 3, h: 7}


@pytest.mark.parametrize(
    ("size", "actual", "known"), [(4 * d, 18, {}), (L + 1, 0, {}), (d + L, 5, {d: 3, L: 3})]
)
def test_a_size_that_nothing_makes_fit_is_refused(size: sympy.Expr, actual: int, known: dict) -> None:  # type: ignore[type-arg]
    """18 is no multiple of 4, no L is −1, and 3 + 3 is not 5."""
    with pytest.raises(WrongSize):
        solve_size(size, actual, known)


def test_symbolic_sizes_are_solved_too() -> None:
    """A formula on L + 1 rows, applied to fewer + 1: L is what is fewer."""
    (fewer,) = sizes("fewer")
    assert solve_size(L + 1, fewer + 1, {}) == {L: fewer}
    with pytest.raises(WrongSize):
        solve_size(4 * d, fewer, {})


def test_shapes_that_disagree_are_refused_whichever_comes_first() -> None:
    """h has L + 1 rows; U, given later, says another L."""
    formula = find("recurrent.stacked")
    good = {
        "x": np.zeros((5, 3)), "h": np.zeros((3, 2)), "W_xh": np.zeros((2, 3)),
        "W_hh": np.zeros((3, 2, 2)), "U": np.zeros((2, 2, 2)),
    }  # fmt: skip
    assert {s.name: v for s, v in bind(formula.flat(), good).sizes.items()} == {
        "T": 5,
        "p": 3,
        "L": 2,
        "d": 2,
    }
    with pytest.raises(
        ValueError,
        match=r"recurrent\.stacked: U has shape \(L, d, d\), here with L=2, d=2; \(3, 2, 2\) was given",
    ):
        bind(formula.flat(), {**good, "U": np.zeros((3, 2, 2))})
    with pytest.raises(ValueError, match=r"W_hh has shape \(L \+ 1, d, d\)"):
        bind(formula.flat(), {**good, "W_hh": np.zeros((4, 2, 2))})


def test_a_shape_that_only_a_later_input_explains_is_checked_in_the_end() -> None:
    """x has h·d entries; h and d come after it."""
    x, a, b, out = data("x", h * d), parameter("a", h), parameter("b", d), tensor("out")
    formula = Formula("test.product", "", (x, a, b), (define(out, x[0] + a[0] + b[0]),), (out,))
    assert evaluate(formula, {"x": np.ones(6), "a": np.zeros(2), "b": np.zeros(3)})[0] == 1
    with pytest.raises(
        ValueError, match=r"test\.product: x has shape \(d\*h\), here with .*; \(7,\) was given"
    ):
        evaluate(formula, {"x": np.zeros(7), "a": np.zeros(2), "b": np.zeros(3)})


def test_numbers_are_of_the_type_that_was_given() -> None:
    """SymPy's 2 equals Python's, and what a proof has asked with the one is no answer to who asks with the other."""
    for actual, kind in ((sympy.Integer(2), sympy.Integer), (2, int), (sympy.Integer(2), sympy.Integer)):
        found = solve_size(d - 1, actual, {})
        assert found is not None
        assert isinstance(found[d], kind)
        assert found[d] == 3

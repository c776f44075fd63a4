"""Trees keep what was typed, and substitution captures nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spec.language import (
    Sum,
    Tensor,
    case,
    cos,
    data,
    define,
    eq,
    exp,
    indices,
    le,
    sin,
    sizes,
    substitute,
    tensor,
)
from spec.language.evaluation.evaluate import evaluate
from spec.language.expr import Minus, Over, Plus, Power, Times, lift
from spec.language.formula import Formula
from spec.language.render import unicode
from spec.language.trees import free_symbols

n, m = sizes("n m")
i, j, k = indices("i j k")
x, y, w = data("x", n), data("y", n), data("w", n, n)


def test_operators_keep_source_order_and_cancel_nothing() -> None:
    """y + x is not x + y, and x/x stays a quotient."""
    assert y[i] + x[i] != x[i] + y[i]
    assert isinstance(x[i] / x[i], Over)
    assert isinstance(x[i] - x[i], Minus)
    assert isinstance(2 * x[i], Times)
    assert isinstance(1 + x[i], Plus)
    assert unicode(y[i] * x[i]) == "y[i]·x[i]"


def test_a_float_is_refused_because_statements_are_exact() -> None:
    """0.1 would not be one tenth."""
    with pytest.raises(TypeError, match="statements are exact"):
        lift(0.1)


def test_a_power_of_a_negative_number_has_the_sign_that_its_exponent_gives() -> None:
    """Whether SymPy has made it or a node; where the exponent is no whole number it has no value."""
    assert lift(-2) ** i == lift((-2) ** i)
    assert unicode(lift((-1) ** i)) == "{ 1  if i-2·floor(i/2) = 0;  −1  otherwise }"
    assert lift(-3) ** 2 == Power(lift(-3), lift(2))
    for exponent in (x[i], i / 2):
        with pytest.raises(TypeError, match="a negative number, has whole exponents alone"):
            lift(-1) ** exponent


def test_more_indices_than_axes_are_refused() -> None:
    """The error names the tensor, its shape and their count; with fewer it is a part of the array."""
    with pytest.raises(ValueError, match=r"w has shape \(n, n\), but 3 indices were given"):
        w[i, j, k]


def test_substitution_renames_a_bound_index_rather_than_capture() -> None:
    """Σ_j w[i,j] at i := j is Σ_{j'} w[j,j'], not Σ_j w[j,j]."""
    row = Sum(w[i, j], (j, 0, n - 1))
    moved = substitute(row, {i: j})
    assert free_symbols(moved) == {j, n}
    assert moved.var != j
    assert moved.body.index == (j, moved.var)


def test_substitution_leaves_bound_indices_alone() -> None:
    """A bound index is not the free one of the same name, in references too."""
    total = Sum(x[j], (j, 0, n - 1))
    assert substitute(total, {j: i}) == total
    assert substitute(total + x[j], {x[j]: y[j]}) == total + y[j]


def test_free_symbols_of_a_sum_leave_out_its_index() -> None:
    """SymPy's own would contain x[j]."""
    assert free_symbols(Sum(x[j] * y[i], (j, 0, m - 1), where=le(j, k))) == {i, k, m}


def expressions() -> st.SearchStrategy[object]:
    """Expressions over x, y, w with indices i, j free or bound, shadowing on purpose."""
    leaves = st.sampled_from([x[i], x[j], y[i], w[i, j], w[j, i], lift(2), lift(i + 1)])

    def grow(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
        pairs = st.tuples(inner, inner)
        return st.one_of(
            pairs.map(lambda p: p[0] + p[1]),
            pairs.map(lambda p: p[0] * p[1]),
            pairs.map(lambda p: p[0] - p[1]),
            inner.map(lambda a: sin(a) + cos(a)),
            inner.map(lambda a: Sum(a, (j, 0, n - 1))),
            inner.map(lambda a: Sum(a, (i, 0, n - 1), where=le(i, j))),
            pairs.map(lambda p: case(eq(i, j), p[0], p[1])),
        )

    return st.recursive(leaves, grow, max_leaves=7)


@settings(max_examples=60, deadline=None)
@given(expressions(), st.sampled_from([(i, j), (j, i), (i, i + 0)]))
def test_substituting_an_index_is_evaluating_there(body: object, swap: tuple[object, object]) -> None:
    """e with i replaced by j, as a matrix, is e's matrix read at (j, j) — whatever is bound inside."""
    old, new = swap
    values = np.random.default_rng(0)
    inputs = {"x": values.normal(size=3), "y": values.normal(size=3), "w": values.normal(size=(3, 3))}
    out = tensor("out", n, n)
    unused = 0 * (x[i] + y[i] + w[i, j])  # a formula uses all its inputs

    def table(node: object) -> np.ndarray:
        formula = Formula("test.substitution", "", (x, y, w), (define(out[i, j], node + unused),), (out,))
        return evaluate(formula, inputs)[0]

    before, after = table(body), table(substitute(body, {old: new}))
    here = np.indices((3, 3))
    at = {i: here[0], j: here[1]}
    at[old] = at[new] if new in at else at[old]  # type: ignore[index]
    assert np.array_equal(after, before[at[i], at[j]])


def test_only_the_core_takes_trees_apart() -> None:
    """subs, xreplace and diff capture bound indices, so nothing outside spec/language calls them."""
    root = Path(__file__).parents[3]
    offenders = [
        f"{path.relative_to(root)}:{node.lineno} {node.attr}"
        for folder in ("spec", "verify")
        for path in (root / folder).rglob("*.py")
        if "language" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("subs", "xreplace", "diff", "doit")
        if not (
            isinstance(node.value, ast.Name) and node.value.id == "np"
        )  # differences of arrays are no trees
    ]
    assert not offenders


def test_tensors_are_equal_when_name_shape_and_domain_are() -> None:
    """They are values, not identities."""
    assert Tensor("x", (n,), "real", "data") == x
    assert Tensor("x", (m,), "real", "data") != x
    assert exp(x[i]) == exp(x[i])

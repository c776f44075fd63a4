"""Statements as plain SymPy: what SymPy makes of them is what they say."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import spec
from spec.language.registry import formulas


@pytest.mark.parametrize("formula", formulas().values(), ids=lambda f: f.id)
def test_every_statement_can_be_written_in_plain_sympy(formula) -> None:
    """No node of ours is left in it."""
    for equations in spec.to_sympy(formula).values():
        for equation in equations:
            assert isinstance(equation, sympy.Eq)
            parts = list(sympy.preorder_traversal(equation))
            assert not any(
                (type(part).__module__ or "").startswith("spec.")
                for part in parts
                if not isinstance(part, sympy.Symbol)
            )


def value(equation: sympy.Eq, sizes: dict[str, int], arrays: dict[str, np.ndarray]) -> sympy.Expr:
    """The right side at numbers."""
    symbols = {s: sizes[s.name] for s in equation.free_symbols if getattr(s, "name", "") in sizes}
    right = equation.rhs.subs(symbols).doit()
    return right.subs(
        {
            entry: arrays[str(entry.base)][tuple(map(int, entry.indices))]
            for entry in right.atoms(sympy.Indexed)
        }
    )


def test_sympy_computes_what_the_statement_says() -> None:
    """The mean and the variance of a layer normalization, and its gradient by SymPy's own rules."""
    lines = spec.to_sympy("normalization.layer_norm")
    x = np.array([1.0, 2.0, 6.0])
    mean = value(lines["mu"][0], {"d": 3}, {"x": x})
    assert float(mean) == 3.0
    (variance,) = lines["var"]
    assert float(value(variance, {"d": 3}, {"x": x}).subs(sympy.Symbol("mu"), 3)) == pytest.approx(14 / 3)
    mean = lines["mu"][0].rhs
    (d,) = (each for each in mean.free_symbols if each.name == "d")
    assert sympy.diff(mean.subs(d, 3).doit(), sympy.IndexedBase("x")[1]) == sympy.Rational(1, 3)


def test_masks_and_cases_are_piecewise() -> None:
    """A softmax over the permitted keys is what the statement gives."""
    a = spec.to_sympy("attention.softmax")["a"][0]
    i, j = a.lhs.indices
    arrays = {"s": np.array([[0.5, -1.0, 2.0]]), "mask": np.array([[1, 0, 1]])}
    found = [
        float(value(sympy.Eq(a.lhs, a.rhs.subs({i: 0, j: place}), evaluate=False), {"n": 1, "m": 3}, arrays))
        for place in range(3)
    ]
    (expected,) = spec.evaluate("attention.softmax", {"s": arrays["s"], "mask": arrays["mask"].astype(bool)})
    assert found == pytest.approx(expected[0].tolist())

"""Statements in matrix form: what is shown, and that it is what the lines say."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
import pytest

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import symbols_in, whole
from spec.language.evaluation.evaluate import evaluate, run
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.registry import find, formulas
from spec.language.render.matrices import equations, matrix_form
from spec.language.render.matrices.reading import Equation
from spec.language.render.matrices.terms import Values

SHOWN = [formula_id for formula_id, formula in formulas().items() if equations(formula)]


def draw_sizes(formula: Formula) -> dict[Any, int]:
    """Sizes of a formula's inputs, no two alike."""
    sizes = {s for item in formula.tensors for size in item.shape for s in symbols_in(size)}
    sizes |= {item for item in formula.inputs if not isinstance(item, Tensor)}
    return dict(zip(sorted(sizes, key=str), count(2), strict=False))


def draw(formula: Formula, rng: np.random.Generator) -> dict[str, Any]:
    """Inputs of a formula, by name."""
    sizes = draw_sizes(formula)
    given: dict[str, Any] = {str(item): sizes[item] for item in formula.inputs if item in sizes}
    for item in formula.tensors:
        shape = tuple(whole(size, sizes) for size in item.shape)
        if item.role == "generator":
            continue
        if item.domain == "boolean":
            drawn: Any = rng.random(shape) > 0.4
        elif item.domain == "permutation":
            drawn = rng.permutation(shape[0])
        elif item.domain in WHOLE:
            drawn = rng.integers(0, whole(item.below, sizes) if item.below != 0 else 3, shape)
        else:
            drawn = rng.normal(size=shape)
            drawn = (
                drawn if item.domain == "real" else (1 + np.abs(drawn)) / (4 if item.domain == "share" else 1)
            )
        given[item.name] = drawn if shape else drawn.item() if hasattr(drawn, "item") else drawn
    return given


def values_of(formula: Formula, given: Mapping[str, Any], conventions: Mapping[str, str]) -> Values:
    """All arrays of a formula as its statement has them."""
    flat = formula.flat(conventions)
    bindings = bind(flat, given)
    frame = run(flat, RunningError(), bindings)
    arrays = {**given, **{name: tensor.floats() for name, tensor in frame.tensors.items()}}

    def apply(formula_id: str, output: str, arguments: tuple[Any, ...]) -> Any:
        callee = get_formula(formula_id)
        named = {str(item): value for item, value in zip(callee.inputs, arguments, strict=True)}
        present = {name: given for name, given in named.items() if given is not None}
        for item in callee.inputs:
            if not isinstance(item, Tensor):
                present[str(item)] = int(present[str(item)])
        wanted = {c.name for c in callee.conventions}
        chosen = {name: option for name, option in conventions.items() if name in wanted}
        found = evaluate(callee, present, chosen)
        return found[[one.name for one in callee.outputs].index(output)]

    return Values(arrays, dict(bindings.sizes), apply)


def check(equation: Equation, values: Values) -> None:
    """Assert that an equation holds for every value of its subscripts."""
    reach = [(values.number(first), values.number(last)) for _, first, last in equation.ranges]
    for place in np.ndindex(*(int(last - first + 1) for first, last in reach)):
        here = {s: int(reach[k][0]) + place[k] for k, (s, _, _) in enumerate(equation.ranges)}
        at = values.at(numbers=here)
        stated, formed = equation.left.value(at), equation.right.value(at)
        assert np.shape(stated) == np.shape(formed), equation.left.text()
        np.testing.assert_allclose(formed, stated, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("formula_id", SHOWN)
def test_every_equation_between_matrices_is_what_the_statement_says(formula_id: str) -> None:
    """Evaluated by NumPy as they stand, its two sides are equal, whatever the inputs and however large each axis."""
    formula = find(formula_id)
    values = values_of(formula, draw(formula, np.random.default_rng(0)), formula.choose())
    for equation in equations(formula):
        check(equation, values)


@pytest.mark.parametrize("formula_id", SHOWN)
def test_an_equation_defines_all_that_its_lines_define(formula_id: str) -> None:
    """No line of the statement is missing, and no other letter is introduced."""
    formula = find(formula_id)
    stated = [line.name for line in own_lines(formula, formula.choose())]
    found = [one.left.tensor.name for one in equations(formula)]
    assert list(dict.fromkeys(found)) == list(dict.fromkeys(stated))

"""Statements in matrix form: what is shown, and that it is what the lines say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np
import pytest

from docs.generate.markup import maths
from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.binding import bind
from spec.language.evaluation.dimensions import symbols_in, whole
from spec.language.evaluation.evaluate import evaluate, run
from spec.language.evaluation.running_error import RunningError
from spec.language.flatten import own_lines
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.registry import find, formulas
from spec.language.render.matrices import equations, matrix_form, summarise, summary
from spec.language.render.matrices.reading import Equation
from spec.language.render.matrices.terms import Absent, Applied, Values

SHOWN = [formula_id for formula_id, formula in formulas().items() if equations(formula)]
OTHERWISE = [
    (formula_id, convention.name, option)
    for formula_id in SHOWN
    for convention in find(formula_id).conventions
    for option in convention.options
    if option != convention.default and equations(find(formula_id), {convention.name: option})
]


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


@pytest.mark.parametrize(("formula_id", "name", "option"), OTHERWISE)
def test_equations_are_those_of_the_conventions_that_are_chosen(
    formula_id: str, name: str, option: str
) -> None:
    """Under another option than ours, the two sides are equal by that option."""
    formula, chosen = find(formula_id), {name: option}
    values = values_of(formula, draw(formula, np.random.default_rng(1)), formula.choose(chosen))
    for equation in equations(formula, chosen):
        check(equation, values)


@pytest.mark.parametrize("formula_id", SHOWN)
def test_every_equation_of_a_summary_is_what_the_statement_says(formula_id: str) -> None:
    """Where no mask is given, and none of its weights are left out, its two sides are equal."""
    formula = find(formula_id)
    given = draw(formula, np.random.default_rng(2))
    for item in formula.tensors:
        if item.role == "mask":
            given[item.name] = np.ones_like(given[item.name])
    values = values_of(formula, given, formula.choose())
    for equation in summarise(formula):
        if not any(_lacks_a_weight(part) for part in equation.right.walk() if isinstance(part, Applied)):
            check(equation, values)


def _lacks_a_weight(part: Applied) -> bool:
    given = zip(part.items, part.arguments, strict=True)
    return any(isinstance(one, Absent) and item.role != "mask" for item, one in given)


@pytest.mark.parametrize("formula_id", SHOWN)
def test_every_equation_becomes_mathml(formula_id: str) -> None:
    """A page can show it: braces are balanced, nothing has two subscripts, and the converter takes it."""
    formula = find(formula_id)
    for text in filter(None, (part for each in (*matrix_form(formula), *summary(formula)) for part in each)):
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")
        assert not re.search(r"_\{(?:[^{}]|\{[^{}]*\})*\}_", text), text
        assert maths(text).startswith("<math")


KNOWN = {
    "attention.scaled_dot_product": [
        r"Z = \operatorname{softmax}\left(\frac{Q\, K^{\top}}{\sqrt{d_{k}}}\right)\, V"
    ],
    "scores.general": [r"S = Q\, W\, K^{\top}"],
    "similarity.dot": [r"s = x^{\top}\, y"],
    "feedforward.relu": [
        r"y = \max\left(0,\, x\, W_{\mathrm{1}} + b_{\mathrm{1}}\right)\, W_{\mathrm{2}} + b_{\mathrm{2}}"
    ],
    "normalization.layer_norm": [r"y = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^{2} + \varepsilon}} + \beta"],
    "transformer.encoder_layer": [
        r"S = \operatorname{layer\_norm}\left(X + \operatorname{multi\_head}\left(X,\, X\right)\right)",
        r"Y = \operatorname{layer\_norm}\left(S + \operatorname{feedforward.relu}\left(S\right)\right)",
    ],
}


@pytest.mark.parametrize("formula_id", KNOWN)
def test_a_summary_is_the_equation_that_everybody_knows(formula_id: str) -> None:
    """The optional mask, intermediate lines, and weights that are only handed on are left out."""
    assert summary(find(formula_id)) == [(equation, "") for equation in KNOWN[formula_id]]


def test_a_mask_that_the_formula_makes_stays_in_its_summary() -> None:
    """Causal attention would otherwise be shown as attention without a mask."""
    (found,) = summary(find("attention.causal"))
    assert r"\left(j \le i + m - n\right)_{i, j}" in found.equation


def test_heads_are_counted_by_a_subscript_and_joined_side_by_side() -> None:
    """The range of the subscript follows the equation; the heads stand in one row."""
    first, second, third = matrix_form(find("attention.multi_head"))
    assert first.equation.startswith(
        r"\mathrm{head}_{t} = \operatorname{cross}\left(X,\, Y,\, W_{\mathrm{q}, t}"
    )
    assert first.ranges == "t < h"
    assert r"\mathrm{head}_{0} \;\cdots\; \mathrm{head}_{h - 1}" in second.equation
    assert third == (r"Z = \mathrm{concat}\, W_{\mathrm{o}}", "")


def test_a_matrix_keeps_its_small_letter_where_the_capital_is_another_array() -> None:
    """Linformer's K and V are made of k and v."""
    assert (
        matrix_form(find("attention.linformer"))[0].equation
        == r"K = E\, k + b_{\mathrm{E}}\, \mathbf{1}^{\top}"
    )


def test_a_state_of_a_recurrence_is_a_small_letter_with_its_step() -> None:
    """The rows of H are the states h_0, h_1 and so on."""
    assert matrix_form(find("recurrent.rnn"))[1].equation.startswith(
        r"h_{t} = \tanh\left(W_{\mathrm{hh}}\, h_{t - 1} + "
    )


def test_a_row_times_a_matrix_is_in_parentheses_behind_a_matrix() -> None:
    """W (α H) is no (W α) H: the weighted states are a row, and stand as a column."""
    assert any(
        r"\left(\alpha\, H\right)" in found.equation for found in summary(find("attention.luong_step"))
    )


@pytest.mark.parametrize("formula_id", ["attention.softmax", "positional.sinusoidal", "scaling.kaplan"])
def test_a_statement_about_single_entries_or_numbers_has_no_matrix_form(formula_id: str) -> None:
    """Nothing is shown, line by line or in short."""
    assert matrix_form(find(formula_id)) == []
    assert summary(find(formula_id)) == []

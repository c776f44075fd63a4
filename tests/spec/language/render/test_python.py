"""Statements as plain Python, which is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import numpy as np
import pytest

from spec.language.arrays import NO_LABEL, WHOLE, Tensor
from spec.language.evaluation.dimensions import whole
from spec.language.evaluation.evaluate import bound
from spec.language.formula import Formula
from spec.language.registry import find, formulas
from spec.language.render.python import program, python
from spec.language.render.python_layout import WIDTH
from spec.language.render.python_names import function_name
from verify.inputs.size_rules import sizes_of_formula

IDS = list(formulas())
BEYOND = {"xlnet.two_stream", "xlnet.objective", "evoformer.block"}
"""They ask what a query without a key attends to where every key has a score so low that its exponential is 0 in float64."""


def choices(formula: Formula) -> Iterator[dict[str, str]]:
    """Our conventions, then each other option of each by itself."""
    yield {}
    for convention in formula.conventions:
        yield from ({convention.name: o} for o in convention.options if o != convention.default)


def draw(formula: Formula, conventions: dict[str, str]) -> dict[str, Any]:
    """Inputs of tiny sizes; where the statement says what a query without a key gets, there is one."""
    random = np.random.default_rng(7)
    sizes = dict(zip(sizes_of_formula(formula), cycle((2, 4, 3)), strict=False))
    inputs: dict[str, Any] = {}
    for item in formula.inputs:
        if not isinstance(item, Tensor):
            inputs[str(item)] = sizes[item]
        elif item.role != "generator":
            inputs[item.name] = draw_entries(item, sizes, random, conventions)
    return inputs


def draw_entries(item: Tensor, sizes: Any, random: np.random.Generator, conventions: dict[str, str]) -> Any:
    """The entries of one input."""
    shape = tuple(whole(size, sizes) for size in item.shape)
    if item.role == "mask":
        seen = random.random(shape) < 0.5
        seen[..., 0] = seen[:1] = True
        if len(shape) > 1 and conventions.get("fully_masked", "mean") == "mean":
            seen[-1] = False
        return ~seen if conventions.get("polarity") == "true_drops" else seen
    if item.domain == "boolean":
        values: Any = np.arange(int(np.prod(shape))).reshape(shape) % 3 == 1
    elif item.domain in WHOLE:
        values = random.integers(whole(item.below, sizes) if item.below != 0 else 2, size=shape)
        if item.domain == "label":
            values[-1:] = NO_LABEL
    else:
        values = random.standard_normal(shape) if item.domain == "real" else 0.2 + 0.7 * random.random(shape)
    return np.asarray(values).item() if item.role == "number" else np.asarray(values)


def run(formula: Formula, inputs: dict[str, Any], conventions: dict[str, str]) -> tuple[Any, ...]:
    """The outputs of the function that the program of a formula defines."""
    names: dict[str, Any] = {}
    exec(program(formula, conventions), names)
    given = (inputs[str(item)] for item in formula.inputs if str(item) in inputs)
    found = names[function_name(formula)](*given)
    return found if len(formula.outputs) > 1 else (found,)


@pytest.mark.parametrize("formula_id", IDS)
def test_a_program_computes_what_its_statement_says(formula_id: str) -> None:
    """Under our conventions, and under each other option, outputs are as near to the statement's as float64 allows."""
    formula = find(formula_id)
    for conventions in choices(formula):
        inputs = draw(formula, conventions)
        if formula_id in BEYOND and re.search("filled|added", str(conventions)):
            with pytest.raises(ZeroDivisionError):
                run(formula, inputs, conventions)
            continue
        outputs = run(formula, inputs, conventions)
        expected = bound(formula, inputs, conventions, "float64")
        for output, (value, tolerance) in zip(outputs, expected, strict=True):
            assert np.shape(output) == value.shape, conventions
            stated = np.isfinite(tolerance)
            assert stated.any() or "unspecified" in conventions.values(), conventions
            assert (np.abs(output - value) <= tolerance)[stated].all(), conventions


@pytest.mark.parametrize("formula_id", IDS)
def test_code_is_of_a_readable_width_and_reads_no_size_that_it_does_not_use(formula_id: str) -> None:
    """It is valid Python; no line is too long, and every size that is read off a shape is used."""
    formula = find(formula_id)
    for conventions in choices(formula):
        source = python(formula, conventions)
        assert max(map(len, source.splitlines())) <= WIDTH
        (function,) = ast.parse(source).body
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        loaded = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        sizes = {str(size) for size in sizes_of_formula(formula)}
        assert {name.id for name in names if isinstance(name.ctx, ast.Store)} & sizes <= loaded


@pytest.mark.parametrize("formula_id", IDS)
def test_a_function_stands_at_the_end_of_its_program(formula_id: str) -> None:
    """What is shown of a formula is the last part of what can be run."""
    formula = find(formula_id)
    assert program(formula).endswith(f"\n\n\n{python(formula)}\n") or "import" not in program(formula)


def test_attention_reads_as_in_a_textbook() -> None:
    """Whole arrays where a formula is applied to them, loops elsewhere; a mask that is not given permits all."""
    assert (
        python(find("attention.scaled_dot_product"))
        == """\
def scaled_dot_product(q, k, v, mask=None):
    n, _ = q.shape
    m, _ = k.shape
    _, d_v = v.shape
    if mask is None:
        mask = ones((n, m), bool)
    s = scaled_dot(q, k)
    a = softmax(s, mask)
    z = zeros((n, d_v))
    for i in range(n):
        for e in range(d_v):
            z[i, e] = sum(a[i, j] * v[j, e] for j in range(m) if mask[i, j])
    return z"""
    )


def test_values_without_axes_are_numbers() -> None:
    """The mean and the variance of a layer norm are sums over its row."""
    assert (
        python(find("normalization.layer_norm"))
        == """\
def layer_norm(x, gamma, beta, eps):
    d = len(x)
    mu = sum(x[j] for j in range(d)) / d
    var = sum((x[j] - mu) ** 2 for j in range(d)) / d
    y = zeros(d)
    for i in range(d):
        y[i] = gamma[i] * (x[i] - mu) / sqrt(var + eps) + beta[i]
    return y"""
    )


def test_a_recurrence_is_a_loop_over_its_steps() -> None:
    """The first state is given, and each other is made from the one before."""
    assert (
        python(find("recurrent.rnn"))
        == """\
def rnn(x, h, W_xh, W_hh, W_hy):
    T, _ = x.shape
    d = len(h)
    r, _ = W_hy.shape
    H = zeros((T + 1, d))
    H[0] = h
    for t in range(1, T + 1):
        H[t] = step(x[t - 1], H[t - 1], W_xh, W_hh)
    states = zeros((T, d))
    for t in range(T):
        states[t] = H[t + 1]
    o = zeros((T, r))
    for t in range(T):
        for k in range(r):
            o[t, k] = sum(W_hy[k, c] * states[t, c] for c in range(d))
    P = softmax(o)
    return states, P"""
    )


def test_states_that_depend_on_each_other_are_in_one_loop() -> None:
    """An LSTM's two states come from one call at each step, and layers are gone through one after the other."""
    assert "    H[t], S[t] = lstm_step(" in python(find("recurrent.lstm"))
    assert "in reversed(range(T)):" in python(find("recurrent.bidirectional"))
    assert re.search(
        r"for l in range\(1, L \+ 1\):\n +for t in range\(1, T \+ 1\):\n +H\[l, t\], S\[l, t\] = ",
        python(find("recurrent.lstm_stacked")),
    )


def test_what_is_worked_out_once_has_a_name_of_its_own() -> None:
    """A row that all entries share is computed before the loop, under no letter that the statement has: W_p is a by d_k."""
    source = python(find("attention.local"))
    assert "    a, _ = W_p.shape\n" in source
    assert "    softmax_a = softmax(\n        s, array(" in source


def test_a_mask_that_is_not_given_is_what_the_conventions_say() -> None:
    """Nothing is dropped where there is no mask, whatever its polarity."""
    formula = find("attention.scaled_dot_product")
    for conventions in choices(formula):
        inputs = {name: value for name, value in draw(formula, conventions).items() if name != "mask"}
        ((value, tolerance),) = bound(formula, inputs, conventions, "float64")
        assert (np.abs(run(formula, inputs, conventions)[0] - value) <= tolerance).all()


def test_a_line_that_no_output_is_made_of_is_not_written() -> None:
    """The count of tokens to select is used where that count is fixed, and by no other convention."""
    assert "count" not in python(find("masking.mlm"))
    assert "ordinary" not in python(find("masking.mlm"))
    assert "count = " in python(find("masking.mlm"), {"selection": "exact_count"})

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
from spec.language.render.python import WIDTH, function_name, program, python
from verify.inputs.size_rules import sizes_of_formula

IDS = list(formulas())


def choices(formula: Formula) -> Iterator[dict[str, str]]:
    """Our conventions, then each other option of each by itself."""
    yield {}
    for convention in formula.conventions:
        yield from ({convention.name: o} for o in convention.options if o != convention.default)


def draw(formula: Formula, conventions: dict[str, str]) -> dict[str, Any]:
    """Inputs of tiny sizes; where the statement says what a query without a key gets, there is one."""
    random = np.random.default_rng(7)
    sizes = dict(zip(sizes_of_formula(formula), cycle((2, 3, 4)), strict=False))
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
        seen[..., 0] = True
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
        outputs = run(formula, inputs, conventions)
        expected = bound(formula, inputs, conventions, "float64")
        for output, (value, tolerance) in zip(outputs, expected, strict=True):
            assert np.shape(output) == value.shape, conventions
            stated = np.isfinite(tolerance)
            assert stated.any() or "unspecified" in conventions.values(), conventions
            assert (np.abs(output - value) <= tolerance)[stated].all(), conventions

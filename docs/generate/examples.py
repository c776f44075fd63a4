"""Inputs to show a formula at, and our implementation run on them in any precision."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy
import torch

from spec.language.arrays import Tensor
from spec.language.evaluation.binding import bind
from spec.language.formula import Formula
from verify.targets.ours import flatten

SIZES = (5, 7, 8, 11, 13, 6, 9, 4, 10, 3, 12, 14, 2, 15)
"""Sizes of an example, in the order in which a formula names them."""
USUAL = {"V": 50, "N": 50, "L": 2, "h": 3}
"""Sizes that are usually larger than those, or smaller."""
NUMBERS = {"D": 3.0}
"""Python numbers of an example that are not as small as an ε."""

Draw = Callable[[np.random.Generator, tuple[int, ...]], npt.NDArray[np.float64]]


def implementation(formula: Formula) -> Callable[..., Any]:
    """Our implementation of a formula."""
    module, name = formula.id.split(".")
    function: Callable[..., Any] = getattr(import_module(f"impl.{module}"), name)
    return function


def sizes(formula: Formula) -> dict[str, int]:
    """A value for every size that a formula names."""
    names: list[str] = []
    for item in formula.inputs:
        shape = (item,) if isinstance(item, sympy.Symbol) else item.shape
        names += [s.name for size in shape for s in sorted(size.free_symbols, key=str)]
    plain = [name for name in dict.fromkeys(names) if name not in USUAL]
    return {**dict(zip(plain, SIZES, strict=False)), **{name: USUAL[name] for name in names if name in USUAL}}


def inputs(
    formula: Formula, draw: Draw | None = None, seed: int = 0, dtype: str = "float64"
) -> dict[str, Any]:
    """Inputs by name: data drawn by ``draw`` (unit normal by default), already rounded to ``dtype``; no mask."""
    random = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for item, shape, below in _arguments(formula):
        if isinstance(item, sympy.Symbol):
            found[item.name] = below
        else:
            found[item.name] = _value(item, shape, random, draw, below, dtype)
    return found


@cache
def _arguments(formula: Formula) -> list[tuple[Tensor | sympy.Symbol, tuple[int, ...], int]]:
    """Every input with its shape, and the value of a size, or below which number the integers of a tensor lie."""
    values = {sympy.Symbol(n, integer=True, positive=True): v for n, v in sizes(formula).items()}
    found: list[tuple[Tensor | sympy.Symbol, tuple[int, ...], int]] = []
    for item in formula.inputs:
        if isinstance(item, sympy.Symbol):
            found.append((item, (), values[item]))
            continue
        shape = tuple(int(size.subs(values)) for size in item.shape)
        found.append(
            (item, shape, int(item.below.subs(values)) if item.domain in ("integer", "label") else 0)
        )
    return found


def _value(
    item: Tensor,
    shape: tuple[int, ...],
    random: np.random.Generator,
    draw: Draw | None,
    below: int,
    dtype: str,
) -> Any:
    if item.role == "mask":
        return None
    if item.role == "number" and item.domain == "integer":
        return min(2, below - 1)
    if item.role == "number":
        return item.domain == "boolean" or NUMBERS.get(item.name, 1e-5)
    if item.domain in ("integer", "label"):
        return random.integers(0, below, shape)
    if item.domain == "boolean":
        return random.random(shape) < 0.5
    drawn = random.standard_normal(shape) if draw is None or item.role != "data" else draw(random, shape)
    if item.domain in ("positive", "nonnegative"):
        drawn = np.abs(drawn)
    return torch.tensor(drawn).to(getattr(torch, dtype)).double().numpy()


def run(
    formula: Formula, given: Mapping[str, Any], dtype: str = "float64", **keywords: Any
) -> list[npt.NDArray[np.float64]]:
    """What our implementation returns for these inputs in ``dtype``: every output, as float64."""
    function, kind = implementation(formula), getattr(torch, dtype)
    arguments = []
    for value in given.values():
        if isinstance(value, np.ndarray):
            value = torch.tensor(value)
            value = value.to(kind) if value.is_floating_point() else value
        arguments.append(value)
    if "dtype" in inspect.signature(function).parameters:
        keywords["dtype"] = kind
    found = flatten(function)(*arguments, **keywords)
    return [output.double().numpy() for output in (found if isinstance(found, tuple) else (found,))]


def exact(formula: Formula, given: Mapping[str, Any]) -> list[npt.NDArray[np.float64]]:
    """The statement's value at these inputs, from balls: the midpoints of every output, rounded once to float64."""
    from spec.language.evaluation.evaluate import enclose

    bind(formula.flat(), given)
    middle = np.vectorize(lambda ball: float(ball.mid()), otypes=[float])
    return [middle(found) for found in enclose(formula, given)]

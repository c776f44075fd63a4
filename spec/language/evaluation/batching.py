"""Many examples in one evaluation: the same lines with one more index, which counts the examples.

Nothing of the evaluation knows of it. Every tensor gets an axis in front, every line runs over one index more, and whatever
evaluates lines evaluates all examples of equal sizes at once. Errors, conditions and exponents are per entry, so an example's
result depends on the others in how it is reached only.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import sympy

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.binding import Bindings, bind
from spec.language.evaluation.dimensions import whole
from spec.language.expr import Ref
from spec.language.flatten import Flat
from spec.language.ordering import arrange
from spec.language.trees import transform

EXAMPLE = sympy.Dummy("example", integer=True)
"""The index that counts the examples."""
EXAMPLES = sympy.Dummy("examples", integer=True, positive=True)
"""How many there are."""


def add_example_axis(flat: Flat) -> Flat:
    """The same lines for many examples: inputs (numbers included) and results have an axis for the examples in front."""
    return _with_examples(flat, inputs=True)


def repeat_lines(flat: Flat) -> Flat:
    """The same lines many times over for one example: results have an axis in front, inputs stand as they are.

    Evaluated in exact arithmetic all would be the same; :mod:`~spec.language.evaluation.expected` rounds each in its own way.
    """
    return _with_examples(flat, inputs=False)


@lru_cache(maxsize=256)
def _with_examples(flat: Flat, inputs: bool) -> Flat:
    kept = {*flat.constants, *(() if inputs else (item.name for item in flat.inputs))}
    lines = tuple(
        replace(
            line,
            left=of_examples(line.left, kept),
            right=of_examples(line.right, kept),
            ranges=((EXAMPLE, sympy.S.Zero, EXAMPLES - 1), *line.ranges),
        )
        for line in flat.lines
    )
    return replace(
        flat,
        inputs=tuple(
            _add_leading_axis(item, kept) if isinstance(item, Tensor) else item for item in flat.inputs
        ),
        lines=tuple(line for group in arrange(lines) for line in group.lines),
        outputs=tuple(_add_leading_axis(item, kept) for item in flat.outputs),
    )


def forget() -> None:
    """Keep no lines for many examples, nor the programs that they were compiled to: those of another formula are asked for."""
    _with_examples.cache_clear()


def of_examples(node: Any, kept: Container[str]) -> Any:
    """The same tree about each of the examples; tensors that are ``kept``, by name, are the same for all.

    A tensor that is an argument as it stands is left so: an absent mask is absent in each example, or not.
    """

    def rule(part: Any) -> Any:
        if not isinstance(part, Ref):
            return None
        tensor = _add_leading_axis(part.tensor, kept)
        return part if tensor is part.tensor else Ref(tensor, EXAMPLE, *part.index)

    return transform(node, rule)


def _add_leading_axis(tensor: Tensor, kept: Container[str]) -> Tensor:
    if tensor.name in kept or tensor.role == "generator":
        return tensor
    domain, role, below = tensor.args[2:]
    return Tensor(tensor.name, (EXAMPLES, *tensor.shape), domain, role, below, tensor.meaning)


def bind_all(flat: Flat, every: Sequence[Mapping[str, Any]]) -> Bindings:
    """The inputs of several examples bound to the inputs of ``add_example_axis(flat)``.

    Raises:
        ValueError: an input that does not fit, or that has another shape or size in one of the examples.
    """
    first = bind(flat, every[0])
    found = Bindings(sizes={**first.sizes, EXAMPLES: len(every)}, rationals=dict(first.rationals))
    found.positive = set(first.positive)
    for item in flat.inputs:
        if not isinstance(item, Tensor):
            if any(int(inputs[str(item)]) != first.sizes[item] for inputs in every):
                raise ValueError(f"{flat.formula_id}: the examples differ in the size {item}")
            continue
        if item.role == "generator":
            continue
        values = [inputs.get(item.name) for inputs in every]
        if item.domain == "boolean":
            found.booleans[item.name] = _conditions(flat, item, values, found.sizes)
        elif item.domain in WHOLE:
            found.integers[item.name] = _stack_examples(flat, item, [np.asarray(v, np.int64) for v in values])
        else:
            found.reals[item.name] = _stack_examples(flat, item, [_real(v) for v in values])
    return found


def _real(value: Any) -> Any:
    array = np.asarray(value)
    return array if array.dtype == object else array.astype(np.float64, copy=False)


def _stack_examples(flat: Flat, item: Tensor, arrays: list[Any]) -> Any:
    if any(array.shape != arrays[0].shape for array in arrays):
        raise ValueError(f"{flat.formula_id}: the examples differ in the shape of {item.name}")
    stacked = np.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    for place, array in enumerate(arrays):
        stacked[place] = array
    return stacked


def _conditions(flat: Flat, item: Tensor, values: list[Any], sizes: Mapping[Any, int]) -> Any:
    """Boolean inputs; a mask that is absent from some is written out."""
    if flat.absent and all(value is None for value in values):
        return None
    shape = [whole(size, sizes) for size in item.shape]
    return _stack_examples(
        flat,
        item,
        [np.full(shape, flat.absent) if value is None else np.asarray(value, bool) for value in values],
    )

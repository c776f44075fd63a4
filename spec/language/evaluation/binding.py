"""Binding given arrays and numbers to the declared inputs of a formula: shapes, domains, sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from spec.language.expr import Tensor, substitute
from spec.language.flatten import Flat


@dataclass
class Bindings:
    """Inputs as arrays, by kind, and the sizes read off their shapes."""

    sizes: dict[sympy.Symbol, int] = field(default_factory=dict)
    reals: dict[str, Any] = field(default_factory=dict)
    rationals: dict[str, tuple[int, int]] = field(default_factory=dict)
    integers: dict[str, Any] = field(default_factory=dict)
    booleans: dict[str, Any] = field(default_factory=dict)
    positive: set[str] = field(default_factory=set)

    def tensor(self, owner: str, item: Tensor, value: Any) -> None:
        """Bind one tensor.

        Raises:
            ValueError: a shape or domain that does not fit: one line naming owner, input, expected and given.
        """
        if item.role == "generator":
            return
        if item.domain == "boolean":
            if value is None:
                self.booleans[item.name] = None
                return
            array = np.asarray(value)
            if array.dtype != np.bool_:
                raise ValueError(f"{owner}: {item.name} must be boolean; {array.dtype} was given")
            self.booleans[item.name] = array
        elif item.domain in ("integer", "permutation"):
            array = np.asarray(value)
            if not np.issubdtype(array.dtype, np.integer):
                raise ValueError(f"{owner}: {item.name} must hold integers; {array.dtype} was given")
            array = array.astype(np.int64)
            self.integers[item.name] = array
        else:
            array = np.asarray(value)
            if array.dtype != object:
                array = array.astype(np.float64)
            self.reals[item.name] = array
            if item.domain in ("positive", "nonnegative"):
                self.positive.add(item.name)
        self._fit(owner, item, array.shape)

    def _fit(self, owner: str, item: Tensor, shape: tuple[int, ...]) -> None:
        wrong = len(shape) != len(item.shape)
        if not wrong:
            for size, actual in zip(item.shape, shape, strict=True):
                if isinstance(size, sympy.Symbol):
                    wrong |= self.sizes.setdefault(size, actual) != actual
                elif size.free_symbols <= self.sizes.keys():
                    wrong |= (
                        int(substitute(size, {s: sympy.Integer(v) for s, v in self.sizes.items()})) != actual
                    )
        if wrong:
            names = ", ".join(str(size) for size in item.shape)
            known = ", ".join(
                f"{s}={v}"
                for s, v in self.sizes.items()
                if any(s in size.free_symbols for size in item.shape)
            )
            raise ValueError(
                f"{owner}: {item.name} has shape ({names}), here with {known}; {shape} was given"
            )


def bind(flat: Flat, inputs: Mapping[str, Any] | Sequence[Any]) -> Bindings:
    """Bind the inputs of a formula, given by name or in declared order; a missing mask is absent.

    Raises:
        ValueError: a missing input, or one that does not fit.
    """
    if not isinstance(inputs, Mapping):
        inputs = {str(item): value for item, value in zip(flat.inputs, inputs, strict=False)}
    bindings = Bindings()
    for item in flat.inputs:
        if isinstance(item, sympy.Symbol) and str(item) in inputs:
            bindings.sizes[item] = int(inputs[str(item)])
    for item in flat.inputs:
        if isinstance(item, Tensor):
            if item.name in inputs or item.role in ("mask", "generator"):
                bindings.tensor(flat.formula_id, item, inputs.get(item.name))
            else:
                raise ValueError(f"{flat.formula_id}: the input {item.name} is missing")
        elif item not in bindings.sizes:
            raise ValueError(f"{flat.formula_id}: the size {item} is missing")
    for name, value in flat.constants.items():
        number = sympy.Rational(value)
        bindings.rationals[name] = (int(number.p), int(number.q))
    return bindings

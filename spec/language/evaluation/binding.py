"""Binding given arrays and numbers to the declared inputs of a formula: shapes, domains, sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.arithmetic import Arithmetic
from spec.language.evaluation.dimensions import WrongSize, solve_size, whole
from spec.language.flatten import Flat
from spec.language.known import Stated

SHAPES = 256
"""For how many shapes of its inputs the sizes of a formula are kept."""


@dataclass
class Bindings:
    """Inputs as arrays, by kind, and the sizes read off their shapes."""

    sizes: dict[sympy.Symbol, int] = field(default_factory=dict)
    reals: dict[str, Any] = field(default_factory=dict)
    rationals: dict[str, tuple[int, int]] = field(default_factory=dict)
    integers: dict[str, Any] = field(default_factory=dict)
    booleans: dict[str, Any] = field(default_factory=dict)
    positive: set[str] = field(default_factory=set)
    shapes: list[tuple[str, Tensor, tuple[int, ...]]] = field(default_factory=list)

    def numbers(self, arithmetic: Arithmetic[Any]) -> dict[str, Any]:
        """The real inputs and the constants, by name, as numbers of an arithmetic."""
        given = {
            name: arithmetic.exact(values, positive=name in self.positive)
            for name, values in self.reals.items()
        }
        return given | {name: arithmetic.rational(p, q) for name, (p, q) in self.rationals.items()}

    def tensor(self, owner: str, item: Tensor, value: Any, known: bool = False) -> None:
        """Bind one tensor; ``known`` tells that its shape fits.

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
        elif item.domain in WHOLE:
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
            if item.domain in ("positive", "nonnegative", "share"):
                self.positive.add(item.name)
        if not known:
            self._fit_shape(owner, item, array.shape)

    def _fit_shape(self, owner: str, item: Tensor, shape: tuple[int, ...]) -> None:
        """Read sizes off a shape; what it does not tell alone is checked again once other shapes are known."""
        self.shapes.append((owner, item, shape))
        if len(shape) != len(item.shape):
            raise ValueError(self._misfit(owner, item, shape))
        for size, actual in zip(item.shape, shape, strict=True):
            known = self.sizes.get(size)
            if known is None:
                self._solve(owner, item, shape, size, actual)
            elif known != actual:
                raise ValueError(self._misfit(owner, item, shape))

    def _solve(self, owner: str, item: Tensor, shape: tuple[int, ...], size: Any, actual: int) -> None:
        try:
            self.sizes |= solve_size(size, actual, self.sizes) or {}
        except WrongSize:
            raise ValueError(self._misfit(owner, item, shape)) from None

    def _misfit(self, owner: str, item: Tensor, shape: tuple[int, ...]) -> str:
        names = ", ".join(str(size) for size in item.shape)
        known = ", ".join(
            f"{s}={v}" for s, v in self.sizes.items() if any(s in size.free_symbols for size in item.shape)
        )
        here = f", here with {known}" if known else ""
        return f"{owner}: {item.name} has shape ({names}){here}; {shape} was given"

    def settle(self) -> None:
        """Check every shape once all are known.

        Raises:
            ValueError: a shape that does not fit the others.
        """
        for owner, item, shape in [*self.shapes]:
            if any(not isinstance(size, sympy.Symbol) for size in item.shape):
                for size, actual in zip(item.shape, shape, strict=True):
                    self._solve(owner, item, shape, size, actual)


def sizes_at(flat: Flat, inputs: Mapping[str, Any]) -> Mapping[sympy.Symbol, int]:
    """The sizes of a formula, read off the shapes of its inputs, which are not looked at otherwise where they are known.

    Raises:
        ValueError: as :func:`bind`.
    """
    found = _get_known_sizes(flat).get(_shapes(flat, inputs))
    return bind(flat, inputs).sizes if found is None else found


def _get_known_sizes(flat: Flat) -> dict[tuple[Any, ...], dict[sympy.Symbol, int]]:
    """The sizes of a formula at shapes of its inputs that were bound before."""
    known: dict[tuple[Any, ...], dict[sympy.Symbol, int]] = flat.memo.setdefault(Bindings, {})
    return known


def _shapes(flat: Flat, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(
        [
            None
            if inputs.get(item.name) is None
            else np.shape(inputs[item.name])
            if isinstance(item, Tensor)
            else int(inputs[item.name])
            for item in flat.inputs
        ]
    )


def by_name(stated: Flat | Stated, inputs: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
    """Inputs by name, which may be given in declared order."""
    if isinstance(inputs, Mapping):
        return inputs
    return {str(item): value for item, value in zip(stated.inputs, inputs, strict=False)}


def bind(flat: Flat, inputs: Mapping[str, Any] | Sequence[Any]) -> Bindings:
    """Bind the inputs of a formula, given by name or in declared order; a missing mask is absent.

    Raises:
        ValueError: a missing input, or one that does not fit.
    """
    inputs = by_name(flat, inputs)
    bindings, shapes, sizes = Bindings(), _shapes(flat, inputs), _get_known_sizes(flat)
    known = sizes.get(shapes)
    if known is not None:
        bindings.sizes |= known
    bindings.sizes |= {
        item: int(inputs[item.name])
        for item in flat.inputs
        if isinstance(item, sympy.Symbol) and item.name in inputs
    }
    for item in flat.inputs:
        if isinstance(item, Tensor):
            if item.name in inputs or item.role in ("mask", "generator"):
                bindings.tensor(flat.formula_id, item, inputs.get(item.name), known is not None)
            else:
                raise ValueError(f"{flat.formula_id}: the input {item.name} is missing")
        elif item not in bindings.sizes:
            raise ValueError(f"{flat.formula_id}: the size {item} is missing")
    if known is None:
        bindings.settle()
        if len(sizes) >= SHAPES:
            sizes.clear()
        sizes[shapes] = dict(bindings.sizes)
    if not flat.absent:
        _write_out_masks(flat, bindings)
    for name, value in flat.constants.items():
        number = sympy.Rational(value)
        bindings.rationals[name] = (int(number.p), int(number.q))
    return bindings


def _write_out_masks(flat: Flat, bindings: Bindings) -> None:
    """An optional mask that is not given is False everywhere."""
    for item in flat.inputs:
        if isinstance(item, Tensor) and item.role == "mask" and bindings.booleans[item.name] is None:
            shape = [whole(size, bindings.sizes) for size in item.shape]
            bindings.booleans[item.name] = np.zeros(shape, bool)

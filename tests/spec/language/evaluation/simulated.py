"""A fourth number system for tests: the interpreter over plain NumPy arrays of one dtype, rounding like an implementation.

It plays the part of a careless but right implementation that follows the statement line by line, with the maximum
subtracted before an exponential that belongs to a softmax.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.language.evaluation.arithmetic import Truth
from spec.language.evaluation.binding import bind
from spec.language.evaluation.softmax_groups import SoftmaxGroups
from spec.language.flatten import Flat
from tests.spec.language.evaluation.interpreter import Interpreter


class Simulated:
    """Arithmetic of NumPy arrays in one dtype; ``order`` shuffles the terms of sums."""

    tracks = True

    def __init__(self, dtype: Any, order: np.random.Generator | None = None) -> None:
        self.dtype, self.order = np.dtype(dtype), order

    def exact(self, values: Any, positive: bool = False) -> Any:
        return np.asarray(values, dtype=self.dtype)

    def rational(self, p: int, q: int) -> Any:
        return self.dtype.type(p) / self.dtype.type(q)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return np.zeros(shape, self.dtype)

    def undefined(self) -> Any:
        return np.asarray(np.nan, self.dtype)

    def shape(self, a: Any) -> tuple[int, ...]:
        return tuple(a.shape)

    def view(self, a: Any, change: Any) -> Any:
        return change(np.asarray(a))

    def negative(self, a: Any) -> Any:
        return -a

    def plus(self, a: Any, b: Any) -> Any:
        return a + b

    def minus(self, a: Any, b: Any) -> Any:
        return a - b

    def times(self, a: Any, b: Any) -> Any:
        return a * b

    def over(self, a: Any, b: Any) -> Any:
        return a / b

    def sum(self, a: Any, where: Any) -> Any:
        a = a if where is None else np.where(where.holds, a, self.dtype.type(0))
        places = np.arange(a.shape[-1])
        if self.order is not None:
            self.order.shuffle(places)
        total = np.zeros(a.shape[:-1], self.dtype)
        for place in places:
            total = (total + a[..., place]).astype(self.dtype)
        return total

    def maximum(self, a: Any, where: Any) -> Any:
        a = a if where is None else np.where(where.holds, a, -np.inf)
        best = a.max(-1, initial=-np.inf).astype(self.dtype)
        return np.where(np.isneginf(best), self.dtype.type(0), best)

    def select(self, where: Any, a: Any, b: Any) -> Any:
        return np.where(where.holds, a, b)

    def compare(self, relation: str, a: Any, b: Any) -> Truth:
        return Truth(a <= b if relation == "<=" else a < b if relation == "<" else a == b)

    def write_at(self, target: Any, index: Any, a: Any, accumulate: bool) -> Any:
        result = np.array(target)
        if accumulate:
            shape = np.broadcast_shapes(*(part.shape for part in index), a.shape)
            np.add.at(
                result, tuple(np.broadcast_to(part, shape) for part in index), np.broadcast_to(a, shape)
            )
        else:
            result[index] = a
        return result

    def function(self, name: str, a: Any) -> Any:
        if name == "sigmoid":
            return self.dtype.type(1) / (self.dtype.type(1) + np.exp(-a))
        return {"abs": np.abs, "round": np.rint}.get(name, getattr(np, name, None))(a)

    def exponential(self, a: Any, top: Any, family: Any) -> Any:
        return np.exp(a if top is None else a - top)

    def exp_of_log(self, a: Any) -> Any:
        return np.exp(np.log(a))

    def power(self, a: Any, y: Any, whole: int | None = None, integral: bool = False) -> Any:
        if whole is None:
            return a**y
        result = a if whole else np.ones_like(a)
        for _ in range(abs(whole) - 1):
            result = result * a
        return self.dtype.type(1) / result if whole < 0 else result

    def round_to_storage(self, a: Any, storage: Any) -> Any:
        return a


def simulate(flat: Flat, inputs: Any, dtype: Any, seed: int | None = None) -> tuple[Any, ...]:
    """The outputs of a flattened formula, computed in ``dtype``; ``seed`` shuffles the order of all sums."""
    order = None if seed is None else np.random.default_rng(seed)
    evaluator = Interpreter(Simulated(dtype, order), bind(flat, inputs), SoftmaxGroups.of_lines(flat.lines))
    with np.errstate(all="ignore"):
        evaluator.run(flat.groups)
    return tuple(np.asarray(evaluator.tensors[t.name], np.float64) for t in flat.outputs)

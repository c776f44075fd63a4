"""The judge of a formula: what the statement says at given inputs, and how far a right implementation may be from it."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.evaluation.batching import add_example_axis, bind_all
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.precision import Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Ref, Undefined
from spec.language.flatten import Flat
from spec.language.formula import Formula
from spec.language.known import get_formula
from spec.language.trees import walk
from verify.inputs.examples import Example, members
from verify.oracle import (
    BALLS,
    Answer,
    Arithmetic,
    Oracle,
    content,
    examples_at_once,
    oracle_for,
    shapes,
)

Reals = npt.NDArray[np.float64]
AFFORDABLE = 6000
"""Entries of inputs and outputs (their product's size, roughly) up to which balls are evaluated."""
RUNS = 128
"""At how many inputs the tensors of all lines are kept: the claims of a theorem ask for several, and for each of them twice."""


@dataclass(frozen=True)
class Expected:
    """One output of the statement: its value, and how far a right implementation may be from it (infinite: unjudged)."""

    name: str
    value: Any
    bound: Reals


class Judge:
    """A formula under a choice of conventions, ready to judge."""

    def __init__(self, formula: Formula, conventions: Mapping[str, str] | None = None) -> None:
        self.formula = formula
        self.conventions = formula.choose(conventions)
        self.flat = formula.flat(self.conventions)
        self.form: Callable[[Flat], Flat] | None = None
        self._others: dict[Any, Judge] = {}
        self._lines: OrderedDict[Any, tuple[Mapping[str, Any], int]] = OrderedDict()
        self.real = any(
            t.domain in ("real", "positive", "nonnegative") and t.role in ("data", "parameter")
            for t in formula.tensors
        )

    @cached_property
    def partial(self) -> bool:
        """Whether the statement leaves something unsaid under these conventions."""
        return any(isinstance(part, Undefined) for line in self.flat.lines for part in walk(line.right))

    @cached_property
    def oracle(self) -> Oracle:
        """What answers for the statement, and for others that its theorems apply."""
        found = oracle_for(self.formula)
        found.anew()
        return found

    def beside(self, formula: Formula, conventions: Mapping[str, str]) -> Judge:
        """The judge of another formula, which theorems about this one apply; made once, with the same oracle."""
        key = (formula.id, *sorted(conventions.items()))
        if key not in self._others:
            self._others[key] = other = Judge(formula, conventions)
            other.oracle = self.oracle
        return self._others[key]

    def rewrite(self, form: Callable[[Flat], Flat]) -> Judge:
        """The judge of the same formula, written otherwise: its lines, and those of its derivative. The oracle is the same."""
        other = copy(self)
        other.oracle, other.form, other.flat = self.oracle, form, form(self.flat)
        other._others, other._lines = {}, OrderedDict()
        return other

    def announce(self, examples: Iterable[Example], more: bool = False) -> None:
        """Announce examples whose values will be asked for soon, so that those of equal sizes are evaluated together."""
        questions = (
            (self.flat, example.single(self.formula, place), example.dtype)
            for example in examples
            for place in members(example.batch)
        )
        self.oracle.announce(questions, more)

    def lines(self, every: Sequence[Mapping[str, Any]], dtype: str, name: str) -> list[Expected]:
        """What the statement says of the tensor of any of its lines, with the bound for an implementation in ``dtype``."""
        keys = [(content(self.flat, inputs), dtype) for inputs in every]
        missing = {key: inputs for key, inputs in zip(keys, every, strict=True) if key not in self._lines}
        groups: dict[Any, list[Any]] = {}
        for key, inputs in missing.items():
            groups.setdefault(shapes(self.flat, inputs), []).append(key)
        precision = Precision.of(dtype, self.conventions["intermediates"])
        for group in (part for same in groups.values() for part in self._parts(same, missing)):
            done = run(
                add_example_axis(self.flat),
                RunningError(precision.operations),
                bind_all(self.flat, [missing[key] for key in group]),
                precision.storage,
            )
            for place, key in enumerate(group):
                self._lines[key] = done.tensors, place
        found = []
        for key in keys:
            tensors, place = self._lines[key]
            with np.errstate(all="ignore"):
                value, bound = tensors[name].floats(), tensors[name].bounds()
                found.append(Expected(name, value[place], np.broadcast_to(bound, value.shape)[place]))
        while len(self._lines) > RUNS:
            self._lines.popitem(last=False)
        return found

    def _parts(self, keys: Sequence[Any], inputs: Mapping[Any, Mapping[str, Any]]) -> Iterable[Sequence[Any]]:
        """Split examples into parts as large as are evaluated together."""
        many = examples_at_once(self.flat, inputs[keys[0]])
        return (keys[first : first + many] for first in range(0, len(keys), many))

    def expect(self, inputs: Mapping[str, Any], dtype: str, rigorous: bool | None = None) -> list[Expected]:
        """What the statement says at these inputs (without batch dimensions); see :meth:`expect_all`."""
        return self.expect_all([inputs], dtype, rigorous)[0]

    def expect_all(
        self, every: Sequence[Mapping[str, Any]], dtype: str, rigorous: bool | None = None
    ) -> list[list[Expected]]:
        """What the statement says at each of these inputs.

        ``rigorous`` None takes balls for float64 where the work is small. Otherwise the float64 walk is the reference: its
        own error is part of the bound.
        """
        arithmetic = Arithmetic(Precision.of(dtype, self.conventions["intermediates"]))
        walked = self.oracle.ask(self.flat, every, arithmetic, dtype)
        exact = list(walked)
        small = [
            place
            for place, (inputs, answer) in enumerate(zip(every, walked, strict=True))
            if (self._affordable(inputs, answer, dtype) if rigorous is None else rigorous)
        ]
        if small:
            balls = self.oracle.ask(self.flat, [every[place] for place in small], BALLS, dtype)
            for place, answer in zip(small, balls, strict=True):
                exact[place] = answer
        return [
            [
                self._make_expected(tensor.name, mine, best, best is not mine)
                for tensor, mine, best in zip(self.flat.outputs, answer, reference, strict=True)
            ]
            for answer, reference in zip(walked, exact, strict=True)
        ]

    def _affordable(self, inputs: Mapping[str, Any], answer: Answer, dtype: str) -> bool:
        size = sum(np.size(v) for v in inputs.values() if isinstance(v, np.ndarray))
        return dtype == "float64" and (size + 1) * sum(value.size for value, _ in answer) <= AFFORDABLE

    def _make_expected(
        self, name: str, walked: tuple[Reals, Reals], best: tuple[Reals, Reals], balls: bool
    ) -> Expected:
        value, radius = best if balls else (walked[0], np.zeros(()))
        bounds = np.broadcast_to(walked[1], value.shape)
        if not balls and np.isfinite(value).all():
            return Expected(name, value, bounds)
        with np.errstate(all="ignore"):
            bounds = np.where(np.isfinite(value) & np.isfinite(radius), bounds + radius, np.inf)
        return Expected(name, value, bounds)

    def expect_batch(
        self, example: Example, rigorous: bool | None = None, dtype: str | None = None
    ) -> list[Expected]:
        """What the statement says for each member of a batch, stacked."""
        kind = dtype or example.dtype
        if not example.batch:
            return self.expect(example.inputs, kind, rigorous)
        every = self.expect_all(
            [example.single(self.formula, place) for place in members(example.batch)], kind, rigorous
        )
        stacked = []
        for parts in zip(*every, strict=True):
            shape = (*example.batch, *parts[0].value.shape)
            value = np.stack([p.value for p in parts]).reshape(shape)
            stacked.append(Expected(parts[0].name, value, np.stack([p.bound for p in parts]).reshape(shape)))
        return stacked

    def line_of(self, name: str) -> str:
        """The statement's line that defines a tensor, as text; of what another formula gives, what it is and which gives it."""
        flat = self.formula.flat(self.conventions)
        for line in (each for each in flat.lines if each.name == name):
            given = line.right.tensor.name if isinstance(line.right, Ref) else ""
            if given in flat.origin:
                role = line.left.tensor.meaning
                return f"{name}{f', {role},' if role else ''} as {flat.origin[given][0]} gives it"
            return f"{line.left} = {line.right}"
        return name


def tensor_role(formula_id: str, name: str) -> str:
    """What a formula says that a tensor of its lines is, in short; empty where it says nothing."""
    found = (line.left.tensor for line in get_formula(formula_id).flat(None).lines)
    meaning = next((tensor.meaning for tensor in found if tensor.name == name), "")
    return re.split(r"[:;,]", meaning)[0]


__all__ = ["Expected", "Judge", "Reals", "tensor_role"]

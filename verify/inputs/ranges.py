"""Ranges: how large entries are at most, where a callable is judged within a size of its inputs only.

What is limited is the size of an input (``q``: no entry beyond ±limit), of a line of the statement (``s``: its scores), how far
the rows of an input are from 0 beside their spread (``offset(x)``: |mean| over standard deviation), or what a number may be
(``eps``, from one to another). Examples are drawn as everywhere, and brought inside.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.binding import bind
from spec.language.evaluation.evaluate import run
from spec.language.evaluation.precision import Precision
from spec.language.evaluation.running_error import RunningError
from spec.language.expr import Condition, Ref
from spec.language.formula import Formula
from verify.faults import Unusable
from verify.inputs.examples import Example, members, round_to

REAL = ("real", "positive", "nonnegative")
OFFSET = re.compile(r"offset\((\w+)\)")
INSIDE = 1 - 2.0**-7
"""How far inside a limit entries are brought, so that rounding to 16 bits does not lead out again."""
STEPS = 24
"""How often the data are made smaller until a line is within its limit."""


class Outside(Exception):  # noqa: N818 a place, not a fault
    """A theorem applies the formula to inputs outside the range: nothing is claimed there."""


@dataclass(frozen=True)
class Ranges:
    """Limits by name, of a formula under its conventions."""

    formula: Formula
    limits: tuple[tuple[str, float], ...]
    conventions: tuple[tuple[str, str], ...] = ()
    numbers: tuple[tuple[str, float, float], ...] = ()

    @classmethod
    def of(cls, formula: Formula, given: Any, conventions: Mapping[str, str]) -> Ranges | None:
        """The limits that were asked for.

        Raises:
            Unusable: no mapping of names to positive numbers, or a name that cannot be limited.
        """
        if not given:
            return None
        if not isinstance(given, Mapping):
            raise Unusable(f"{formula.id}: ranges map names to limits, such as {{'q': 1e3}}; got {given!r}")
        known = [*list_limitable(formula, conventions), *(t.name for t in real_numbers(formula))]
        limits, numbers = [], []
        for name, value in given.items():
            if name in {t.name for t in real_numbers(formula)}:
                numbers.append((name, *_interval(formula, name, str(value))))
                continue
            if name not in known:
                raise Unusable(f"{formula.id} has no {name!r} to be limited; it has: {', '.join(known)}")
            try:
                limit = float(value)
            except (TypeError, ValueError, OverflowError):
                limit = math.nan
            if not 0 < limit < math.inf:
                raise Unusable(f"{formula.id}: the range of {name} is a positive number; got {value!r}")
            limits.append((name, limit))
        return cls(formula, tuple(limits), tuple(conventions.items()), tuple(numbers))

    def measure(self, name: str, inputs: Mapping[str, Any]) -> float:
        """Return the size of a limited quantity at inputs without leading dimensions."""
        if name in inputs:
            return float(np.max(np.abs(inputs[name]), initial=0.0))
        offset = OFFSET.fullmatch(name)
        if offset:
            return float(np.max(_offsets(np.asarray(inputs[offset[1]])), initial=0.0))
        flat, precision = self.formula.flat(dict(self.conventions)), Precision.of("float64")
        with np.errstate(all="ignore"):
            found = run(
                flat, RunningError(precision.operations), bind(flat, inputs), precision.storage
            ).tensors[name]
            return float(np.max(np.nan_to_num(np.abs(found.floats()), nan=np.inf), initial=0.0))

    def holds(self, inputs: Mapping[str, Any]) -> bool:
        """Whether inputs without leading dimensions are inside."""
        if not all(low <= inputs[name] <= high for name, low, high in self.numbers):
            return False
        return all(self.measure(name, inputs) <= limit for name, limit in self.limits)

    def bring_inside(self, example: Example) -> Example:
        """The example, made smaller where it is outside."""
        for name, low, high in self.numbers:
            example = example.replace_inputs(**{name: min(max(example.inputs[name], low), high)})
        for name, limit in self.limits:
            offset = OFFSET.fullmatch(name)
            if name in example.inputs or offset:
                changed = offset[1] if offset else name
                value = np.asarray(example.inputs[changed])
                made = _centre_rows(value, limit * INSIDE) if offset else _shrunk(value, limit * INSIDE)
                example = example.replace_inputs(**{changed: round_to(made, example.dtype)})
            else:
                example = self._by_line(example, name, limit)
        return example

    def _by_line(self, example: Example, name: str, limit: float) -> Example:
        """Data made smaller together, as often as it takes; what does not get inside so becomes 0."""
        data = [t.name for t in self.formula.tensors if t.role == "data" and t.domain in REAL]
        for step in range(STEPS):
            size = max(
                self.measure(name, example.single(self.formula, place)) for place in members(example.batch)
            )
            if size <= limit:
                break
            factor = math.sqrt(limit / size) * 0.95 if math.isfinite(size) else 0.01
            factor = 0.0 if step == STEPS - 1 else factor
            example = example.replace_inputs(
                **{each: round_to(np.asarray(example.inputs[each]) * factor, example.dtype) for each in data}
            )
        return example

    def __str__(self) -> str:
        spans = (span_said(name, low, high) for name, low, high in self.numbers)
        return ", ".join([*(describe_limit(name, limit) for name, limit in self.limits), *spans])


def real_numbers(formula: Formula) -> list[Tensor]:
    """The numbers that are given to a formula and are no whole ones."""
    return [t for t in formula.tensors if t.role == "number" and t.domain not in WHOLE]


def _interval(formula: Formula, name: str, text: str) -> tuple[float, float]:
    """From where to where a number may be: ``0.01..1``, ``0.01..``; one alone is the largest."""
    low, dots, high = text.rpartition("..")
    try:
        found = float(low or -math.inf), float(high or math.inf)
    except ValueError:
        found = math.inf, -math.inf
    if not found[0] <= found[1] or (not dots and not high):
        raise Unusable(f"{formula.id}: the range of {name} is its largest value, or 0.01..1; got {text!r}")
    return found


def span_said(name: str, low: float, high: float) -> str:
    """What a number may be, as on paper: ``0.01 ≤ epsilon ≤ 1``."""
    said = (f"{low:g} ≤ " if low > -math.inf else "") + name
    return said + (f" ≤ {high:g}" if high < math.inf else "")


def describe_limit(name: str, limit: float) -> str:
    """A limit in the statement's letters."""
    offset = OFFSET.fullmatch(name)
    said = f"{limit:.3g}".replace("e+0", "e").replace("e+", "e")
    return f"|mean| ≤ {said}·std in the rows of {offset[1]}" if offset else f"|{name}| ≤ {said}"


def list_limitable(formula: Formula, conventions: Mapping[str, str]) -> list[str]:
    """List what can be limited: inputs, offsets of rows, and real lines of the statement."""
    inputs = [t.name for t in formula.tensors if t.domain in REAL and t.role in ("data", "parameter")]
    rows = [f"offset({t.name})" for t in formula.tensors if t.name in inputs and t.role == "data" and t.shape]
    return [*inputs, *_lines(formula, conventions), *rows]


def _lines(formula: Formula, conventions: Mapping[str, str]) -> Iterator[str]:
    flat = formula.flat(dict(conventions))
    outputs = {t.name for t in flat.outputs}
    for line in flat.lines:
        own = flat.origin.get(line.name, (formula.id,))[0] == formula.id
        if own and line.name not in outputs and line.left.tensor.domain in REAL and not _counts(line.right):
            yield line.name


def _counts(value: Any) -> bool:
    """Whether an expression reads arrays in its conditions alone, as a rank does: smaller data make it no smaller."""
    return not isinstance(value, Ref) and all(
        _counts(part) for part in value.args if not isinstance(part, Condition)
    )


def _shrunk(value: Any, limit: float) -> Any:
    """Scale each row down as a whole."""
    size = np.max(np.abs(value), axis=-1, keepdims=True) if value.ndim else np.abs(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > limit, value * (limit / size), value)


def _offsets(value: Any) -> Any:
    mean, spread = np.abs(value.mean(-1)), value.std(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean == 0, 0.0, mean / spread)


def _centre_rows(value: Any, limit: float) -> Any:
    """Each row moved towards 0."""
    mean, spread = value.mean(-1, keepdims=True), value.std(-1, keepdims=True)
    return value - mean + np.clip(mean, -limit * spread, limit * spread)


__all__ = ["Outside", "Ranges", "list_limitable", "real_numbers", "span_said", "describe_limit"]

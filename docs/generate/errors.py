"""The error model of a formula, at work: its bound at an example, and how near our implementation comes to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from spec.language.arrays import DISCRETE
from spec.language.evaluation.precision import FORMATS, Precision
from spec.language.formula import Formula
from spec.language.registry import find
from verify.inputs.regimes import DATA
from verify.oracle import BALLS, Answer, Arithmetic, Oracle

from . import examples
from .drawing import Reals
from .markup import number, table

WORDS = {
    "accumulate": "arithmetic in {operations}, results in {storage}",
    "storage": "all arithmetic in {storage}",
}


DRAWS = 3
"""Examples drawn in each regime."""
MOST = 0.5
"""Where the bound is larger than the value in a larger share of the entries, that is said."""


@dataclass(frozen=True)
class Measured:
    """Error and bound of the worst entry (the largest error/bound) at one example.

    ``empty`` is the share of all entries whose bound is larger than their value: of those the bound says nothing.
    """

    error: float
    bound: float
    ratio: float
    empty: float


def has_one(formula: Formula) -> bool:
    """Whether a formula's results are real numbers that an implementation rounds."""
    return formula.law is None


def measure(formula: Formula, dtype: str) -> Measured:
    """Our implementation in ``dtype`` against the statement at one example."""
    return _measured(formula, dtype, [examples.inputs(formula, dtype=dtype)])[0]


def _measured(formula: Formula, dtype: str, every: Sequence[Mapping[str, Any]]) -> list[Measured]:
    """The same at several examples, of which the statement is asked together."""
    flat, oracle = formula.flat(), Oracle()
    model = Precision.of(dtype, formula.choose()["intermediates"])
    stated = oracle.ask(flat, every, Arithmetic(model), dtype)
    # Balls where the reference's own rounding would show; elsewhere the float64 walk, whose error is part of the bound.
    truths = oracle.ask(flat, every, BALLS, dtype) if dtype == "float64" else stated
    found = [examples.run(formula, given, dtype) for given in every]
    return [_worst(*each) for each in zip(found, truths, stated, strict=True)]


def _worst(got: Iterable[Reals], truths: Answer, stated: Answer) -> Measured:
    """The entry with the largest error/bound."""
    found, truth = _entries(got), _entries(value for value, _ in truths)
    allowed = _entries(limit for _, limit in stated)
    with np.errstate(all="ignore"):
        error = np.abs(found - truth)
        ratio = np.where(error == 0, 0.0, error / allowed)
    place = int(np.argmax(np.where(np.isfinite(allowed), ratio, -1)))
    empty = float((allowed > np.abs(truth)).mean())
    return Measured(float(error[place]), float(allowed[place]), float(ratio[place]), empty)


def _entries(outputs: Iterable[Reals]) -> Reals:
    """The entries of all outputs in a row."""
    return np.concatenate([np.ravel(output) for output in outputs])


def model_table(formula: Formula) -> str:
    """For each type what rounds where, and bound and error at an example; in words, in which types the bound says nothing."""
    rows, empty = [], list[tuple[str, float]]()
    intermediates = formula.choose()["intermediates"]
    for name in FORMATS:
        model = Precision.of(name, intermediates)
        measured = measure(formula, name)
        if measured.empty > MOST:
            empty.append((name, measured.empty))
        words = WORDS[intermediates].format(operations=model.operations.name, storage=model.storage.name)
        rows.append(
            (
                f"<code>{name}</code>",
                words if model.operations != model.storage else f"all in {name}",
                f"2<sup>{int(np.log2(model.storage.unit))}</sup>".replace("-", "−"),
                number(measured.bound),
                number(measured.error),
                number(measured.ratio) if measured.bound else "–",
            )
        )
    head = ("Type", "Precision model", "Unit roundoff", "Bound", "Error of <code>impl</code>", "Error/bound")
    said = (
        f"In {name} the bound is larger than the value itself in {100 * share:.0f} % of the entries: at these sizes it says "
        "nothing about them."
        for name, share in empty
    )
    return "\n\n".join([table(head, rows), *said])


def is_exact(formula: Formula) -> bool:
    """Whether the bound is 0: the result has to be equal."""
    return measure(formula, "float32").bound == 0


def example_words(formula: Formula) -> str:
    """The example in words: what it is drawn from, where anything is, and its sizes."""
    sizes = ", ".join(f"{name} = {value}" for name, value in examples.sizes(formula).items())
    drawn = any(t.domain not in DISCRETE and t.role in ("data", "parameter") for t in formula.tensors)
    return f"Unit-normal data, {sizes}" if drawn else sizes


@cache
def by_regime(formula_id: str, dtype: str, draws: int = DRAWS) -> dict[str, float]:
    """For each regime of data the largest error/bound over some draws; regimes in which nothing is judged are left out."""
    formula = find(formula_id)
    every = [examples.inputs(formula, regime.draw, seed, dtype) for regime in DATA for seed in range(draws)]
    names = [regime.name for regime in DATA for _ in range(draws)]
    found = dict[str, float]()
    for name, measured in zip(names, _measured(formula, dtype, every), strict=True):
        if np.isfinite(measured.bound):
            found[name] = max(measured.ratio, found.get(name, 0.0))
    return found

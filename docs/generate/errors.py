"""The error model of a formula, at work: its bound at an example, and how near our implementation comes to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from spec.language.arrays import DISCRETE
from spec.language.evaluation.evaluate import bound
from spec.language.evaluation.precision import FORMATS, Precision
from spec.language.formula import Formula
from spec.language.registry import find
from verify.inputs.regimes import DATA, Regime

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


def measure(formula: Formula, dtype: str, regime: Regime | None = None, seed: int = 0) -> Measured:
    """Our implementation in ``dtype`` against the statement at one example."""
    given = examples.inputs(formula, None if regime is None else regime.draw, seed, dtype)
    stated = bound(formula, given, dtype=dtype)
    # Balls where the reference's own rounding would show; elsewhere the float64 walk, whose error is part of the bound.
    truths = examples.exact(formula, given) if dtype == "float64" else [value for value, _ in stated]
    found, truth = _entries(examples.run(formula, given, dtype)), _entries(truths)
    allowed = _entries([limit for _, limit in stated])
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
    formula, found = find(formula_id), dict[str, float]()
    for regime in DATA:
        ratios = [
            m.ratio
            for seed in range(draws)
            if np.isfinite((m := measure(formula, dtype, regime, seed)).bound)
        ]
        if ratios:
            found[regime.name] = max(ratios)
    return found

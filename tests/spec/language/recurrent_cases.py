"""Inputs for the recurrent statements, drawn from their declarations; recurrences used only by tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.language import Formula, Sum, data, define, indices, parameter, sizes, tanh, tensor
from spec.language.evaluation.dimensions import whole
from spec.language.registry import find, formulas
from spec.language.trees import free_symbols
from tests.spec.language.cases import real

RECURRENT = tuple(name for name in formulas() if name.startswith("recurrent."))
LENGTHS = {"T": 5, "p": 3, "d": 2, "r": 7, "L": 2, "V": 11}


def recurrent_inputs(formula_id: str, regime: str, seed: int) -> dict[str, Any]:
    """Inputs of a recurrent formula, by name: data from a regime, parameters of unit size."""
    formula, rng = find(formula_id), np.random.default_rng([seed, 5])
    symbols = {s for t in formula.tensors for size in (*t.shape, t.below) for s in free_symbols(size)}
    lengths = {s: 1 if regime == "size one" else LENGTHS[s.name] for s in symbols}
    found: dict[str, Any] = {}
    for item in formula.tensors:
        shape = tuple(whole(size, lengths) for size in item.shape)
        if item.domain == "integer":
            found[item.name] = rng.integers(0, whole(item.below, lengths), shape)
        else:
            found[item.name] = real(rng, shape, regime if item.role == "data" else "unit")
    return found


T, d, L = sizes("T d L")
t, s, c, e, l = indices("t s c e l")
x, W, h = data("x", T, d), parameter("W", d, d), tensor("h", T + 1, d)


def grid() -> Formula:
    """h[l, t] from the same row one step earlier and the row below at the same step: two indices to step through."""
    start, rows = data("start", L + 1, d), tensor("H", L + 1, T + 1, d)
    lines = (
        define(rows[l, 0, c], start[l, c]),
        define(rows[0, t, c], tanh(rows[0, t - 1, c] + x[t - 1, c]), (t, 1, T)),
        define(
            rows[l, t, c],
            tanh(rows[l, t - 1, c] + Sum(W[c, e] * rows[l - 1, t, e], (e, 0, d - 1))),
            (l, 1, L),
            (t, 1, T),
        ),
    )
    return Formula("test.grid", "Two indices", (x, start, W), lines, (rows,))


def backwards() -> Formula:
    """h[t] from h[t + 1]: the last entry first."""
    lines = (define(h[T, c], 0), define(h[t, c], tanh(h[t + 1, c] + x[t, c]), (t, 0, T - 1)))
    return Formula("test.backwards", "From the end", (x,), lines, (h,))


def remembering() -> Formula:
    """h[t] from all that came before it: a decoder that attends to its own past."""
    past = Sum(h[s, c] * x[s, c], (s, 0, t - 1))
    lines = (define(h[0, c], 1), define(h[t, c], tanh(past), (t, 1, T)))
    return Formula("test.remembering", "The whole past", (x,), lines, (h,))


def running() -> Formula:
    """Sums up to an index: no recurrence as written, and its derivative adds up what comes after."""
    lines = (define(h[0, c], 0), define(h[t, c], Sum(x[s, c] * x[s, c], (s, 0, t - 1)), (t, 1, T)))
    return Formula("test.running", "A running sum", (x,), lines, (h,))


def mutual() -> Formula:
    """Two tensors that refer to each other, one of them within the step."""
    g = tensor("g", T + 1, d)
    lines = (
        define(h[0, c], 1),
        define(h[t, c], tanh(g[t, c]), (t, 1, T)),
        define(g[t, c], Sum(W[c, e] * h[t - 1, e], (e, 0, d - 1)) + x[t - 1, c], (t, 1, T)),
    )
    return Formula("test.mutual", "Two at once", (x, W), lines, (h,))

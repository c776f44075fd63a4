"""What a callable does from call to call, and what it reads: random results, later positions, inputs that change nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from spec.language.arrays import Tensor
from spec.language.evaluation.dimensions import whole
from spec.language.expr import (
    Compare,
)
from spec.language.trees import refs, walk
from verify.faults import Unsupported
from verify.inputs.examples import Example, fitted
from verify.properties.judge import Reals
from verify.properties.leaks import rows_of_data
from verify.properties.slopes import REAL
from verify.search.causes.forms import listed
from verify.search.evidence import CLOSE, Evidence, Witness, near, same
from verify.subject.sandbox import seeded

UNSTEADY = "not the same from call to call"
"""How it begins what is said of a callable of which one call shows nothing."""
DRAWS = 64
"""Calls whose mean tells whether a random result averages right."""


def random_result(evidence: Evidence) -> str:
    """Results that differ from call to call: dropout, if they are right on average."""
    for witness in evidence.failing[:3]:
        first, other = (_drawn(evidence, witness.example, seed) for seed in (1, 2))
        if first is None or other is None or same(first, other):
            continue
        again = _drawn(evidence, witness.example, 1)
        if again is not None and not same(first, again):  # by more than what is drawn from those
            return (
                f"{UNSTEADY}: two calls with equal inputs and global generators in the same state differ (is something kept, or "
                "drawn from a generator of its own?)"
            )
        mean = _mean(evidence, witness.example)
        if mean is None:
            return ""
        average, spread = mean
        # Six standard errors; and what is dropped at a rate of a fiftieth or less is often kept in all draws, which then show no
        # spread, and is off by that rate.
        told = [
            np.abs(a - e) <= 6 * s / math.sqrt(DRAWS) + 0.02 * np.abs(e).max(initial=0.0)
            for a, s, e in zip(average, spread, evidence.stated(witness.example), strict=True)
        ]
        zeros = max(float(np.mean(part == 0)) for part in first)
        if all(t.all() for t in told):
            shown = f"; {100 * zeros:.0f} % of its entries are 0" if 0.02 < zeros < 0.98 else ""
            return (
                "dropout is left on: the result is random, differs from call to call, and is right on average"
                f"{shown} (call .eval(), or pass training=False)"
            )
        return "the result is random: two calls with equal inputs differ (is dropout left on, or a weight not set?)"
    return ""


def drawn_from_outside(evidence: Evidence) -> str:
    """Results that differ with the state of a global generator, if only now and then."""
    if "generator" not in evidence.caller.offences:
        return ""
    largest = sorted(evidence.failing, key=lambda w: -sum(part.size for part in w.got or ()))[:2]
    for witness in largest:
        first, *others = (_drawn(evidence, witness.example, seed) for seed in range(DRAWS))
        if first is not None and any(other is not None and not same(first, other) for other in others):
            return "the result is random: it depends on the state of a global generator (is dropout left on?)"
    return ""


def _drawn(evidence: Evidence, example: Example, seed: int) -> list[Reals] | None:
    """A result after the global generators were seeded."""
    with seeded(seed, evidence.caller.device):
        try:
            return evidence.called(example).got
        except Unsupported:
            return None


def _mean(evidence: Evidence, example: Example) -> tuple[list[Reals], list[Reals]] | None:
    drawn = [_drawn(evidence, example, seed) for seed in range(DRAWS)]
    fine = [each for each in drawn if each is not None]
    if len(fine) < DRAWS:
        return None
    columns = [
        np.stack([np.asarray(part, np.float64) for part in column]) for column in zip(*fine, strict=True)
    ]
    return [c.mean(0) for c in columns], [c.std(0) for c in columns]


def looks_ahead(evidence: Evidence) -> str:
    """Outputs that depend on entries of the data which the statement does not read there, or do not on those it reads."""
    if not evidence.everywhere:
        return ""
    later: set[tuple[str, str]] = set()
    other: set[tuple[str, str]] = set()
    for witness in evidence.failing[:4]:
        for item, output, ahead in _read_besides(evidence, witness):
            (later if ahead else other).add((item.name, output.name))
    if later - other:
        name, shown = min(later - other)
        return f"look-ahead: position i of {shown} depends on later positions of {name}, and must not: it sees the future"
    if other | later:
        name, shown = min(other | later)
        return f"{shown} depends on entries of {name} that it must not read (hidden or at other positions)"
    return ""


def _is_later(
    evidence: Evidence, witness: Witness, item: Tensor, place: int, output: Tensor, row: int
) -> bool:
    """Whether a place comes after a row: along one axis, or along two that the statement compares."""
    own, other = (t.shape[0] for t in (output, item))
    if own == other:
        return place > row
    compared = any(
        isinstance(part, Compare) and not any(refs(part))
        for line in evidence.judge.flat.lines
        for part in walk(line.right)
    )
    sizes = witness.example.sizes
    return compared and place > row + whole(other, sizes) - whole(own, sizes)


def _read_besides(evidence: Evidence, witness: Witness) -> Iterable[tuple[Tensor, Tensor, bool]]:
    """(input, output, whether it looks ahead): rows change with entries at places that the statement does not read for them.

    That a place is not read is asked with NaN there: where a softmax is saturated, other numbers may change nothing. It is a
    look ahead if the statement reads for each row all places up to it and none behind, and one behind is read.
    """
    example, base = witness.example, evidence.stated(witness.example)
    for item, value in rows_of_data(evidence.formula, example):
        found: dict[str, list[tuple[int, int]]] = {}
        unread: dict[str, set[tuple[int, int]]] = {}
        for place in range(value.shape[0]):
            moved, gone = np.array(value), np.array(value)
            moved[place], gone[place] = moved[place][..., ::-1] * 0.5 + 0.75, np.nan
            got = evidence.called(example, {item.name: moved}).got
            if got is None or witness.got is None:
                return
            said = evidence.stated(example, {item.name: gone})
            for tensor, a, b, c, d in zip(
                evidence.judge.flat.outputs, base, said, witness.got, got, strict=True
            ):
                for row in range(len(a) if a.ndim > 1 else 0):
                    if not np.array_equal(a[row], b[row], equal_nan=True):
                        continue
                    unread.setdefault(tensor.name, set()).add((row, place))
                    # Rows that have nothing to do with the entries differ by roundings at most. The data are ordinary, of size 1:
                    # what is close beside the largest entry is so by itself.
                    if not np.allclose(
                        c[row], d[row], rtol=evidence.close, atol=evidence.close, equal_nan=True
                    ):
                        found.setdefault(tensor.name, []).append((row, place))
        for tensor in evidence.judge.flat.outputs:
            for row, place in found.get(tensor.name, ()):
                hidden = unread[tensor.name]
                rows = len(base[evidence.judge.flat.outputs.index(tensor)])
                causal = hidden == {
                    (r, p)
                    for r in range(rows)
                    for p in range(value.shape[0])
                    if _is_later(evidence, witness, item, p, tensor, r)
                }
                yield item, tensor, causal and _is_later(evidence, witness, item, place, tensor, row)


def unread_inputs(evidence: Evidence) -> str:
    """An input that changes nothing in what is returned, though the statement reads it."""
    if not evidence.everywhere:
        return ""
    ignored = []
    for item in evidence.formula.tensors:
        said = [_ignores(evidence, w, item) for w in evidence.failing[:3]]
        if True in said and False not in said:
            ignored.append(item.name)
    return (
        f"{listed(ignored)} {'is' if len(ignored) == 1 else 'are'} ignored: other values change nothing"
        if ignored
        else ""
    )


def _ignores(evidence: Evidence, witness: Witness, item: Tensor) -> bool | None:
    """Whether an input changes nothing; None where it changes nothing in the statement either."""
    value, example = witness.example.inputs.get(item.name), witness.example
    if value is None or item.role == "generator" or not (item.domain in REAL or item.domain == "boolean"):
        return None
    if item.domain == "boolean":
        others = [~value]
    else:  # some smaller, some larger: what is clamped or rounded is not ignored
        others = [fitted(item, 0.375 - 0.5 * np.flip(value)), fitted(item, 2.625 + 3.25 * np.flip(value))]
    seen: list[bool] = []
    for other in others:
        if near(evidence.stated(example), evidence.stated(example, {item.name: other}), CLOSE["float64"]):
            continue
        got = evidence.called(example, {item.name: other}).got
        seen.append(got is not None and witness.got is not None and same(got, witness.got))
    return all(seen) if seen else None


__all__ = ["UNSTEADY", "drawn_from_outside", "looks_ahead", "random_result", "unread_inputs"]

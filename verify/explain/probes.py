"""Causes that no altered statement expresses: results of another form, and what is read or is not."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import torch

from spec.language.arrays import Tensor
from spec.language.expr import Compare
from spec.language.trees import refs
from verify.explain.alterations import find_alteration
from verify.explain.evidence import CLOSE, MOST, Evidence, Witness, near, same
from verify.faults import Fault
from verify.inputs.examples import fit_domain
from verify.properties.leaks import rows_of_data
from verify.properties.slopes import REAL
from verify.subject.returned import values

# Results of another form -------------------------------------------------------------------------------------------------


def unfit(evidence: Evidence) -> list[Witness]:
    """The witnesses whose result does not have the declared form, if they are most."""
    faults = [w for w in evidence.ordinary if w.got is None]
    return faults if len(faults) > MOST * len(evidence.ordinary) else []


def returns_several(evidence: Evidence) -> str:
    """A tuple in which one part is what is expected."""
    found = [w for w in unfit(evidence) if isinstance(w.raw, tuple | list) and len(w.raw) > 1]
    count = len(evidence.caller.returns)
    if not found or count != 1:
        return ""
    several = f"a {type(found[0].raw).__name__} of {len(found[0].raw)}"
    for place in range(min(len(w.raw) for w in found)):
        if all(_right(evidence, w, w.raw[place]) for w in found):
            return f"returns {several}, and its entry [{place}] conforms: return that one alone"
    return f"returns {several} where one tensor is expected"


def returns_arrays(evidence: Evidence) -> str:
    """An array of NumPy or the like instead of a tensor."""
    found = [w for w in unfit(evidence) if isinstance(w.raw, np.ndarray | np.generic | float | int)]
    return f"returns {type(found[0].raw).__name__}, not a tensor" if found else ""


def find_transposition(evidence: Evidence) -> str:
    """The right numbers with their axes in another order."""
    found = [w for w in unfit(evidence) if isinstance(w.raw, torch.Tensor)]
    if not found or len(evidence.caller.returns) != 1:
        return ""
    if any(w.raw.is_nested or w.raw.layout != torch.strided for w in found):  # it has no axes to be turned
        return ""
    declared = evidence.caller.returns[0].shape
    for axes in list(permutations(range(len(declared))))[1:24]:
        if all(w.raw.dim() == len(axes) and _right(evidence, w, w.raw.permute(axes)) for w in found):
            order = ", ".join(str(declared[place]) for place in np.argsort(axes))
            return f"axes swapped: the result is right but transposed, its axes are ({order}) and not ({join_names(declared)})"
    for dim in range(max(w.raw.dim() for w in found)):
        if all(dim < w.raw.dim() and _right(evidence, w, w.raw.squeeze(dim)) for w in found):
            return f"the result is right but has an axis of length 1 too many, at place {dim}"
    return ""


def _right(evidence: Evidence, witness: Witness, part: Any) -> bool:
    """Whether a part of a result would have conformed."""
    try:
        fit = evidence.fits(part, witness.example)
    except Fault:
        return False
    return evidence.near([values(x) for x in fit], evidence.evaluate_statement(witness.example))


def join_names(parts: Iterable[Any]) -> str:
    """Join several things with commas."""
    return ", ".join(map(str, parts))


def at_equal_sizes(evidence: Evidence) -> str:
    """What can be called only where all sizes are equal: the cause that shows there, such as a weight that is transposed."""
    if any(w.got is not None for w in evidence.ordinary) or all(w.got is None for w in evidence.alike):
        return ""
    square = Evidence(evidence.setting, evidence.kinds)
    square.ordinary = square.drawn = evidence.alike
    said = find_alteration(square)
    return f"{said} (it can be called only where sizes are equal)" if said else ""


def some_sizes_only(evidence: Evidence) -> str:
    """Calls that fail for some sizes: odd ones, or those that another does not divide."""
    tried = [*evidence.ordinary, *evidence.drawn]
    bad = [w.example.sizes for w in tried if w.got is None]
    good = [w.example.sizes for w in tried if w.got is not None]
    good = [
        sizes for sizes in good if min(sizes.values(), default=2) > 1
    ]  # where one is 1 much works by chance
    if not bad:
        return ""
    said = re.sub(r" for .*", "", next(w.said for w in tried if w.got is None))
    said = said.removeprefix(f"{evidence.formula.id}: {evidence.caller.name}")
    said = said.removeprefix(": ") if said.startswith(": ") else f"it {said.lstrip()}"
    if good:
        for rule, holds in _size_rules(list(good[0])):
            if all(holds(s) for s in good) and not any(holds(s) for s in bad):
                return f"supports only {rule}: else {said}"
    return f"cannot be called, or returns something else: {said}" if len(bad) > MOST * len(tried) else ""


def _size_rules(sizes: Sequence[Any]) -> Iterable[tuple[str, Callable[[Any], bool]]]:
    """What may hold of the sizes that are supported, the simplest first."""
    for a in sizes:
        yield f"even {a} (an odd one fails)", partial(_holds, lambda x, _: x % 2 == 0, a, a)
    for a, b in permutations(sizes, 2):
        yield f"{a} = {b}", partial(_holds, operator.eq, a, b)
        yield f"{a} divided by {b} without rest", partial(_holds, lambda x, y: x % y == 0, a, b)
        yield f"{a} ≤ {b}", partial(_holds, operator.le, a, b)


def _holds(relation: Callable[[int, int], bool], a: Any, b: Any, sizes: Any) -> bool:
    return relation(sizes[a], sizes[b])


# What is read ------------------------------------------------------------------------------------------------------------


def looks_ahead(evidence: Evidence) -> str:
    """Outputs that depend on entries of the data which the statement does not read there, or do not on those it reads."""
    witnesses = evidence.failing[:4] if evidence.everywhere else []
    found = [each for witness in witnesses for each in _find_extra_reads(evidence, witness)]
    later = {(name, shown) for name, shown, is_later in found if is_later}
    other = {(name, shown) for name, shown, is_later in found if not is_later}
    if later - other:
        name, shown = min(later - other)
        return f"look-ahead: position i of {shown} depends on later positions of {name}, and must not: it sees the future"
    if other:
        name, shown = min(other)
        return f"{shown} depends on entries of {name} that it must not read (hidden or at other places)"
    return ""


def _find_extra_reads(evidence: Evidence, witness: Witness) -> Iterator[tuple[str, str, bool]]:
    """(input, output, whether they are later ones): rows change with entries at places that the statement does not read for them.

    That a place is not read is asked with NaN there: where a softmax is saturated, other numbers may change nothing. An input
    that is itself compared is passed over: NaN is neither larger nor smaller. Those that are not read are later ones if the
    statement reads for each row all places up to it and none behind.
    """
    example, base = witness.example, evidence.evaluate_statement(witness.example)
    outputs = [k for k, stated in enumerate(base) if stated.ndim > 1]
    compared = {
        ref.tensor.name
        for part in evidence.parts(lambda part: isinstance(part, Compare))
        for ref in refs(part)
    }
    for item, value in rows_of_data(evidence.formula, example):
        if item.name in compared:
            continue
        unread = {k: np.zeros((len(base[k]), len(value)), bool) for k in outputs}
        changed = {k: np.zeros((len(base[k]), len(value)), bool) for k in outputs}
        for place in range(len(value)):
            moved, gone = np.array(value), np.array(value)
            moved[place], gone[place] = moved[place][..., ::-1] * 0.5 + 0.75, np.nan
            got = evidence.call_at(example, {item.name: moved}).got
            if got is None or witness.got is None:
                return
            said = evidence.evaluate_statement(example, {item.name: gone})
            # Rows that have nothing to do with the entries differ by roundings at most. The data are ordinary, of size 1: what is
            # close beside the largest entry is so by itself.
            close = partial(np.allclose, rtol=evidence.close, atol=evidence.close, equal_nan=True)
            for k in outputs:
                for row in range(len(base[k])):
                    unread[k][row, place] = np.array_equal(base[k][row], said[k][row], equal_nan=True)
                    changed[k][row, place] = not close(witness.got[k][row], got[k][row])
        for k in outputs:
            if not (unread[k] & changed[k]).any():
                continue
            rows, places = unread[k].shape
            later = np.triu(np.ones((rows, places), bool), 1 + places - rows)
            yield item.name, evidence.judge.flat.outputs[k].name, np.array_equal(unread[k], later)


def unread_inputs(evidence: Evidence) -> str:
    """An input that changes nothing in what is returned, though the statement reads it."""
    if not evidence.everywhere:
        return ""
    passing = [w for w in evidence.ordinary if not w.fails][:3]  # it may be read there, and there alone
    ignored = []
    for item in evidence.given:
        witnesses = (*evidence.failing[:3], *evidence.failing_afresh[:3], *passing)
        said = [_ignores(evidence, w, item) for w in witnesses]
        if True in said and False not in said:
            ignored.append(item.name)
    return (
        f"{join_names(ignored)} {'is' if len(ignored) == 1 else 'are'} ignored: other values change nothing"
        if ignored
        else ""
    )


def _ignores(evidence: Evidence, witness: Witness, item: Tensor) -> bool | None:
    """Whether an input changes nothing; None where it changes nothing in the statement either."""
    value, example = witness.example.inputs.get(item.name), witness.example
    if value is None or item.role == "generator" or not (item.domain in REAL or item.domain == "boolean"):
        return None
    if item.domain == "boolean":
        others = [np.logical_not(value)]
    else:  # some smaller, some larger: what is clamped or rounded is not ignored
        others = [
            fit_domain(item, 0.375 - 0.5 * np.flip(value)),
            fit_domain(item, 2.625 + 3.25 * np.flip(value)),
        ]
    seen: list[bool] = []
    for other in others:
        if near(
            evidence.evaluate_statement(example),
            evidence.evaluate_statement(example, {item.name: other}),
            CLOSE["float64"],
        ):
            continue
        got = evidence.call_at(example, {item.name: other}).got
        seen.append(got is not None and witness.got is not None and same(got, witness.got))
    return all(seen) if seen else None


__all__ = [
    "at_equal_sizes",
    "join_names",
    "looks_ahead",
    "returns_arrays",
    "returns_several",
    "some_sizes_only",
    "find_transposition",
    "unread_inputs",
]

"""Results of another form than is declared: several, arrays, transposed; calls that fail for some sizes."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import torch

from verify.faults import Fault
from verify.search.causes.explanations import other_inputs, other_lines
from verify.search.evidence import MOST, Evidence, Witness
from verify.subject.returned import values


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
    """An array of NumPy or the like in the place of a tensor."""
    found = [w for w in unfit(evidence) if isinstance(w.raw, np.ndarray | np.generic | float | int)]
    return f"returns {type(found[0].raw).__name__}, not a tensor" if found else ""


def transposed(evidence: Evidence) -> str:
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
            return f"axes swapped: the result is right but transposed, its axes are ({order}) and not ({listed(declared)})"
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
    return evidence.near([values(x) for x in fit], evidence.stated(witness.example))


def listed(parts: Iterable[Any]) -> str:
    """Several things in a row."""
    return ", ".join(map(str, parts))


def at_equal_sizes(evidence: Evidence) -> str:
    """What can be called only where all sizes are equal: the cause that shows there, such as a weight that is transposed."""
    if any(w.got is not None for w in evidence.ordinary) or all(w.got is None for w in evidence.alike):
        return ""
    square = Evidence(evidence.setting, evidence.kinds)
    square.ordinary = square.drawn = evidence.alike
    said = other_inputs(square) or other_lines(square)
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
    if good:
        for rule, holds in _size_rules(list(good[0])):
            if all(holds(s) for s in good) and not any(holds(s) for s in bad):
                return f"supports only {rule}; otherwise {said}"
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


__all__ = [
    "at_equal_sizes",
    "listed",
    "returns_arrays",
    "returns_several",
    "some_sizes_only",
    "transposed",
    "unfit",
]

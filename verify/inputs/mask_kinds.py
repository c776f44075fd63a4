"""Kinds of masks, for callables that do not take every one: of keys, of lengths, causal."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec.language.formula import Formula
from verify.faults import Unusable

EVERY = "every"
KINDS = {
    EVERY: "every mask",
    "keys": "every query is masked alike",
    "lengths": "masks are lengths",
    "causal": "the mask is causal",
}
"""Each kind, and what it is called in a verdict."""


def check_kind(formula: Formula, kind: str) -> str:
    """The kind, if there is such a one and the formula has masks of it.

    Raises:
        Unusable: otherwise.
    """
    if kind not in KINDS:
        raise Unusable(f"{formula.id}: {kind!r} is no kind of mask; expected {', '.join(KINDS)}")
    if kind == "causal" and not any(t.role == "mask" and len(t.shape) > 1 for t in formula.tensors):
        raise Unusable(f"{formula.id} has no mask of queries and keys, which a causal one is")
    return kind


def triangle(shape: tuple[int, ...]) -> Any:
    """The causal mask: the last query sees the last key, and each other so many less."""
    rows, columns = (shape[-2] if len(shape) > 1 else 1), shape[-1]
    lower = np.arange(columns) <= np.arange(rows)[:, None] + max(columns - rows, 0)
    return np.array(np.broadcast_to(lower if len(shape) > 1 else lower[0], shape))


def restrict_mask(kind: str, mask: Any, shape: tuple[int, ...]) -> Any:
    """The mask of this kind that is nearest to one that was drawn."""
    if kind == "causal":
        return triangle(shape)
    if kind == EVERY or mask is None:
        return mask
    keys = mask[..., :1, :] if mask.ndim > 1 else mask
    if kind == "lengths":
        keys = np.arange(shape[-1]) < keys.sum(-1, keepdims=True)
    return np.array(np.broadcast_to(keys, shape))


def fits(kind: str, mask: Any) -> bool:
    """Whether a mask is of this kind; None is every key for every query."""
    if mask is None:
        return kind != "causal"
    return bool(np.array_equal(restrict_mask(kind, mask, mask.shape), mask))


__all__ = ["EVERY", "KINDS", "fits", "check_kind", "restrict_mask", "triangle"]

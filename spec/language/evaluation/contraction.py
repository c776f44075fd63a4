"""Sums of products as matrix products: the values, and what the errors of two factors become, without the broadcast product.

The bound is that of :mod:`~spec.language.evaluation.running_error`, term by term: each product rounds once, and the sum is
taken in any order. Only where every number is a plain float is it used; elsewhere the caller multiplies and adds as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from spec.language.evaluation import numbers
from spec.language.evaluation.numbers import HIDDEN, NONE, Flags, Floats, Num
from spec.language.evaluation.precision import SUM_SLACK

FEWEST = 1 << 13
"""From how many products on it is worth the while."""
LARGE = 1e200
"""Sums and errors of numbers below this do not overflow; whether products do is looked at where it is not known."""
DEEPEST = 500
"""Numbers that lie below two to the minus so much, relative to the largest of their row, may be lost in a product of two."""


def extent(*parts: Num) -> int:
    """How many products the factors make."""
    return prod(np.broadcast_shapes(*(part.value.shape for part in parts)))


def plain(a: Num) -> Num | None:
    """Ordinary numbers alone, else None: none with an exponent of its own, none of a softmax; of those lost just the values.

    Without errors nobody asks whether all are finite: a sum of products shows one that is not, whatever it is multiplied by.
    """
    if a.scale is not None or a.softmax is not None:
        return None
    if a.error is None or (a.lost is None and a.top < LARGE):
        return a
    error = a.error if a.lost is None else np.where(a.lost, 0.0, a.error)
    if not (np.isfinite(a.value).all() and (error < LARGE).all()):
        return None
    return a if a.lost is None else Num(a.value, error, None, a.low, a.lost)


def contract(a: Num, b: Num, unit: float, tiny: float) -> tuple[Num, Floats | None] | None:
    """The sum of a·b over the last axis, and how far its partial sums reach; None where there is an overflow."""
    terms = max(a.value.shape[-1], b.value.shape[-1])
    product = _matrix_product(a.value.shape, b.value.shape, terms)
    value = product(a.value, b.value)
    top = terms * a.top * b.top
    if not top < LARGE and not np.isfinite(value).all():
        return None
    lost: Flags | None = None
    for part in (a, b):
        if part.lost is not None:
            lost = numbers.either(lost, np.asarray(filled(part.lost, part).any(-1)))
    if a.error is None or b.error is None:
        return Num(value, lost=lost), None
    size_a, size_b = np.abs(a.value), np.abs(b.value)
    total = product(size_a, size_b)
    error: Any = 0.0
    if not b.exact and b.error.any():
        error = product(size_a, filled(b.error, b))
    if not a.exact and a.error.any():
        error = numbers.above(product(filled(a.error, a), numbers.above(size_b, b.error)), error)
    error = numbers.above(numbers.growth(unit) * (total + error), error)
    if tiny:
        # a product with an exact 0 does not underflow
        zeros = (a.vanishes or b.vanishes) and not numbers.hides(error, tiny * terms)
        least = product(a.nonzero.astype(float), b.nonzero.astype(float)) if zeros else terms
        error = numbers.above(error, tiny * least)
    reach = numbers.above(total, error)
    share = (max(terms - 1, 0) + SUM_SLACK) * unit
    low = None
    if a.low is not None and b.low is not None:
        low = product(filled(a.low, a), filled(b.low, b)) * (1 - 2 * unit) * (1 - share)
    error = numbers.above(numbers.growth(share) * reach, error)
    top = (top * (1 + numbers.growth(unit)) + terms * tiny) * (1 + numbers.growth(share))
    if not top < LARGE and not np.isfinite(error).all():
        return None
    return Num(value, error, None, low, lost, top=top), reach


def contract_levelled(a: Num, b: Num, unit: float, tiny: float) -> Num | None:
    """The sum of a·b over the last axis of numbers without errors, of which some have exponents of their own; None where that
    takes more than a matrix product. Each row is taken relative to its largest number, beside which the smallest leave no trace.
    """
    rows = [_level(part) for part in (a, b)]
    if None in rows:
        return None
    (left, up, low), (right, more, lower) = (row for row in rows if row is not None)
    made = contract(left, right, unit, tiny)
    if made is None:
        return None
    value = made[0].value
    terms = max(part.value.shape[-1] for part in (a, b))
    deep = low | lower
    if deep.any() and not ((np.abs(value) > terms * 2.0**-DEEPEST / HIDDEN) | ~deep).all():
        return None
    return Num(value, None, np.broadcast_to(up + more, value.shape))


def _level(a: Num) -> tuple[Num, npt.NDArray[np.int64], Flags] | None:
    """Numbers below 1 without exponents, those of their rows, and in which rows some are so small that products may lose them."""
    if a.error is not None or a.lost is not None or a.softmax is not None or not np.isfinite(a.value).all():
        return None
    own = numbers.exponents(a)
    at = np.where(a.value != 0, own + np.frexp(a.value)[1], NONE)
    top = at.max(-1, keepdims=True)
    top = np.where(top == NONE, 0, top)
    value = np.ldexp(a.value, numbers.clip(own - top, -2400, 2400))
    deep: Flags = np.any((at < top - DEEPEST) & (at > NONE), axis=-1)
    return Num(value, top=1.0), top[..., 0], deep


def filled(part: npt.NDArray[Any], whole: Num) -> npt.NDArray[Any]:
    """An array that stands beside the values of others, in their shape."""
    return part if part.shape == whole.value.shape else np.broadcast_to(part, whole.value.shape)


@lru_cache(maxsize=1024)
def _matrix_product(
    left: tuple[int, ...], right: tuple[int, ...], terms: int
) -> Callable[[npt.NDArray[Any], npt.NDArray[Any]], Floats]:
    """The sum of products over the last axis of two arrays of these shapes, in which 1 stands for any length."""
    last = len(left) - 1
    axes = range(last)
    both = [k for k in axes if (left[k] > 1) == (right[k] > 1) or left[k] == right[k]]
    rows = [k for k in axes if k not in both and left[k] > 1]
    columns = [k for k in axes if k not in both and right[k] > 1]
    order = [*both, *rows, *columns]
    back = tuple(order.index(k) for k in axes)
    shape = [left[k] for k in (*both, *rows)] + [right[k] for k in columns]
    batch = prod(left[k] for k in both)
    first = (batch, prod(left[k] for k in rows), terms)
    second = (batch, prod(right[k] for k in columns), terms)

    def matrices(x: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
        if x.shape[-1] != terms:
            x = np.broadcast_to(x, (*x.shape[:-1], terms))
        return x.transpose(*order, last).reshape(shape)

    def product(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> Floats:
        found = np.matmul(matrices(x, first), matrices(y, second).swapaxes(1, 2))
        return np.asarray(found.reshape(shape).transpose(back))

    return product

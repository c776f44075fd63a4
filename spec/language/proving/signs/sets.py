"""Which of negative, null, positive a number can be, as a set of bits; and what that tells of products, sums and powers."""

from __future__ import annotations

from collections.abc import Callable

NEGATIVE, NULL, POSITIVE = 1, 2, 4
ANY_SIGN = NEGATIVE | NULL | POSITIVE
NONNEGATIVE = NULL | POSITIVE


def mirror(mask: int) -> int:
    """The signs of -x, given those of x."""
    return (mask & NULL) | (POSITIVE if mask & NEGATIVE else 0) | (NEGATIVE if mask & POSITIVE else 0)


def product_sign(a: int, b: int) -> int:
    """The signs that a product can have."""
    out = 0
    for x in (NEGATIVE, NULL, POSITIVE):
        for y in (NEGATIVE, NULL, POSITIVE):
            if a & x and b & y:
                out |= NULL if NULL in (x, y) else POSITIVE if x == y else NEGATIVE
    return out


def sum_sign(a: int, b: int) -> int:
    """The signs that a sum can have."""
    out = 0
    for x in (NEGATIVE, NULL, POSITIVE):
        for y in (NEGATIVE, NULL, POSITIVE):
            if a & x and b & y:
                out |= x if x == y else y if x == NULL else x if y == NULL else ANY_SIGN
    return out


def binder_sign(kind: str, mask: int, occurs: Callable[[], bool]) -> int:
    """The signs that a sum or a maximum can have, given those of each term and whether there is a term."""
    if kind == "sum" and mask & NEGATIVE and mask & POSITIVE:
        return ANY_SIGN  # nonzero terms of both signs may add up to 0
    if mask == ANY_SIGN or occurs():
        return mask
    return mask | NULL if kind == "sum" else ANY_SIGN


def power_sign(mask: int, power: int) -> int:
    """The signs that a positive integer power can have."""
    if power % 2:
        return mask
    return (mask & NULL) | (POSITIVE if mask & (NEGATIVE | POSITIVE) else 0)

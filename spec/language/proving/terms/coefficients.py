"""Coefficients: rationals, most of which are 1 and need not be multiplied by; and what is found once and kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

NULL, UNITY = Fraction(0), Fraction(1)


def times(a: Fraction, b: Fraction) -> Fraction:
    """The product of two coefficients."""
    return b if a is UNITY else a if b is UNITY else a * b


def add(terms: dict[K, Fraction], term: K, c: Fraction) -> None:
    """Add to a coefficient; most terms are met once, and sums of fractions are what costs most here."""
    old = terms.get(term)
    terms[term] = c if old is None else old + c


class Once(Generic[V]):
    """A property found once and kept in the object; ``cached_property`` locks on Python 3.11, which costs as much again."""

    def __init__(self, find: Callable[[Any], V]) -> None:
        self.find, self.__doc__ = find, find.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> V:
        """The value, which from now on is found in the object before this is asked."""
        value = instance.__dict__[self.find.__name__] = self.find(instance)
        return value


__all__ = ["NULL", "UNITY", "Once", "add", "times"]

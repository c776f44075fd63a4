"""An attack: a false theorem as plain data. The registers beside this module hold them by what they misuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from spec.language import Formula, Theorem, claim


class Attack(NamedTuple):
    """A false theorem: what it misuses, the formula it is about, how it is built, and what the refusal must say.

    ``shown``: evaluation refutes it. It does not where a derivative does not exist and autograd's rule gives a number, or
    where a size, a width or a base is none for which the oracle has a value.
    """

    name: str
    formula: Formula
    theorem: Callable[[], Theorem]
    refusal: str
    shown: bool = True


def related(left: Any, relation: str, right: Any, *over: Any, where: Any = True, **rest: Any) -> Theorem:
    """A theorem with one claim, for the indices named, proved in one step."""
    guard = {} if where is True else {"where": where}
    return Theorem("claimed", "claimed", (claim(left, relation, right, *over, **guard),), **rest)


def at_most(left: Any, right: Any, *over: Any, **rest: Any) -> Theorem:
    """A theorem with one claim ≤."""
    return related(left, "<=", right, *over, **rest)


def below(left: Any, right: Any, *over: Any, **rest: Any) -> Theorem:
    """A theorem with one claim <."""
    return related(left, "<", right, *over, **rest)

"""The place where terms are brought to normal form, with all rules at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.rules.elementary import (
    above_zero,
    at_least_zero,
    content,
    equal,
    exponential,
    function,
    inverse,
    root,
    settle,
)
from spec.language.proving.rules.maxima import largest
from spec.language.proving.rules.normal import Normal
from spec.language.proving.rules.sums import sum_over
from spec.language.proving.signs.of_terms import sign
from spec.language.proving.terms.binders import bind_array, close_binder, exists, open_binder
from spec.language.proving.terms.polynomials import Atom, Poly
from spec.language.proving.terms.replacing import Change, rebuild, rebuild_condition
from spec.language.proving.terms.writing import write_polynomial


def make_normal() -> Normal:
    """A workplace for one proof."""
    return Normal(_RULES)


def _replace_symbols(n: Normal, poly: Poly, symbols: Mapping[Atom, Poly], facts: Facts) -> Poly:
    return rebuild(n, poly, Change(symbols=symbols), facts)


def _condition_at(n: Normal, lit: Atom, symbols: Mapping[Atom, Poly], facts: Facts) -> Poly:
    return rebuild_condition(n, lit, Change(symbols=symbols), n.empty)


_RULES: Mapping[str, Callable[..., Any]] = {
    "at_least_zero": at_least_zero,
    "equal": equal,
    "above_zero": above_zero,
    "settle": settle,
    "exp": exponential,
    "inverse": inverse,
    "root": root,
    "function": function,
    "own_content": lambda _, poly: content(poly),
    "own_sign": sign,
    "sum_over": sum_over,
    "largest": largest,
    "close_binder": close_binder,
    "bind_array": bind_array,
    "exists": exists,
    "open_binder": open_binder,
    "replace_symbols": _replace_symbols,
    "condition_at": _condition_at,
    "write": write_polynomial,
}

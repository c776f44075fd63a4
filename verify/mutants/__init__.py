"""The tests of the tests: wrong implementations that a check must refuse, and right ones, written differently, that it must not.

A module for each subject, or for some of its formulas: every module of this package is looked into. Each variant takes the
formula's inputs in declared order; its docstring says the mistake, or how it is written. ``attnspec mutants`` runs them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from verify.edges import STRICT


@dataclass(frozen=True)
class Variant:
    """An implementation of a formula, known to be wrong or right; ``says`` is its docstring's sentence.

    ``dtypes`` are the types that it is about; where there are none, those that are asked for.
    """

    name: str
    formula_id: str
    is_right: bool
    call: Callable[..., Any]
    says: str
    conventions: dict[str, str] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """The options of a check that it needs; at the edge of the contract everything is judged."""
        return {
            "conventions": {**STRICT, **self.conventions},
            **({"dtypes": self.dtypes} if self.dtypes else {}),
        }


_VARIANTS: list[Variant] = []


def _variant(
    formula_id: str, is_right: bool, conventions: dict[str, str], dtypes: tuple[str, ...]
) -> Callable[[Any], Any]:
    def note(call: Callable[..., Any]) -> Callable[..., Any]:
        says = " ".join((call.__doc__ or "").split())
        _VARIANTS.append(Variant(call.__name__, formula_id, is_right, call, says, conventions, dtypes))
        return call

    return note


def wrong(formula_id: str, *, dtypes: tuple[str, ...] = (), **conventions: str) -> Callable[[Any], Any]:
    """Register a wrong variant, to be refused under ``conventions`` (ours where not given), in these types if any."""
    return _variant(formula_id, False, conventions, dtypes)


def right(formula_id: str, *, dtypes: tuple[str, ...] = (), **conventions: str) -> Callable[[Any], Any]:
    """Register a right variant, to conform under ``conventions`` (ours where not given), in these types if any."""
    return _variant(formula_id, True, conventions, dtypes)


def variants(formula_ids: tuple[str, ...] = ()) -> list[Variant]:
    """All variants, or those of some formulas, in the registry's order and the wrong ones first; imports torch."""
    from spec.language.registry import statement_ids

    for module in iter_modules(__path__):
        import_module(f"verify.mutants.{module.name}")
    order = {formula_id: place for place, formula_id in enumerate(statement_ids())}
    return sorted(
        (v for v in _VARIANTS if not formula_ids or v.formula_id in formula_ids),
        key=lambda v: (order.get(v.formula_id, len(order)), v.is_right),
    )

"""A divisor that is kept from 0 in another way than by adding ε below its root: by a least value, or by ε beside a norm."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy
from sympy.core.symbol import Str

from spec.language.arrays import Tensor
from spec.language.binders import SumOf
from spec.language.expr import Case, Compare, Func, Literal, Over, Plus, Ref, lift
from verify.slips.spots import Spot, Written

LEAST = (1e-12, 1e-8, 1e-6, 1e-5, 1e-7, 1e-10, 1e-9, 1e-16, 1e-4)
"""Values below which divisors are not let fall in the field."""


def _root(of: Any) -> Any:
    return Func(Str("sqrt"), of)


def at_least(what: Any, least: Any) -> Any:
    """The larger of two."""
    # In a comparison a bare number would be one of places, which are whole.
    number = Func(Str("abs"), least) if isinstance(least, Literal) else least
    return Case(Compare(Str("<"), what, number), least, what)


def remove_floor(spot: Spot) -> Any | None:
    """A root below which a number called ε is added, without it; nothing where the part is none."""
    part = spot.part
    if not (isinstance(part, Func) and part.name == "sqrt" and isinstance(part.args[1], Plus)):
        return None
    kept, added = part.args[1].args
    number = isinstance(added, Ref) and isinstance(added.tensor, Tensor) and added.tensor.role == "number"
    return _root(kept) if number else None


def floors(spot: Spot) -> Written:
    """Every other way in which a root is kept from 0."""
    plain = remove_floor(spot)
    if plain is None:
        return
    kept, eps = spot.part.args[1].args
    said = f"a divisor is kept from 0 by a least value, and {eps} is not added to it: {{line}} divides by "
    count = _terms(spot, kept)
    for least, name in ((eps, str(eps)), *((lift(Fraction(value)), f"{value:g}") for value in LEAST)):
        yield f"{said}max({plain}, {name})", at_least(plain, least)
        yield f"{said}√max({kept}, {name})", _root(at_least(kept, least))
        if count is not None:
            share, norm = Over(least, _root(count)), f"√({count}·{kept})"
            yield (
                f"{said}max({norm}, {name}) / √{count}: the norm is not let fall below {name}, as F.normalize does",
                at_least(plain, share),
            )
            yield (
                f"{{line}} adds {name} to the norm, outside the root: it divides by ({norm} + {name}) / √{count}",
                Plus(plain, share),
            )
        if name != str(eps):
            yield f"{{line}} adds {name} outside the root, not {eps} below it", Plus(plain, least)


def _terms(spot: Spot, kept: Any) -> Any | None:
    """Of how many entries a part is the mean; nothing where it is no mean."""
    while isinstance(kept, Ref):
        lines = [line for line in spot.flat.lines if line.name == kept.tensor.name]
        if len(lines) != 1:
            return None
        kept = lines[0].right
    if isinstance(kept, Over) and isinstance(kept.args[0], SumOf) and isinstance(kept.args[1], Literal):
        return kept.args[1] if isinstance(kept.args[1].value, sympy.Expr) else None
    return None


__all__ = ["at_least", "floors", "remove_floor"]

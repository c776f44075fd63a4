"""Quotients of places and sizes, such as the exponents of frequencies, and bases of powers, as programs have them by mistake."""

from __future__ import annotations

import math
from typing import Any

import sympy
from sympy.core.symbol import Str

from spec.language.expr import Func, Literal, Node, Over, Power, Ref, Times
from spec.language.trees import substitute
from verify.slips.spots import Spot, Written

BASES = (1000, 100000, 100, 10**6, 500000, 10, 2, 1024, 8192, 2**14, 20000, 50000, 12000)
"""Numbers at which bases of powers are fixed in the field."""
DIGITS = 10**9
"""So many parts of one are kept of a logarithm, which is rounded down to a whole number."""
COLUMN = sympy.Symbol("column", integer=True)


def _split_quotient(part: Any) -> tuple[Any, Any] | None:
    """Numerator and denominator of a number made of a place and a size, such as 2·i/d."""
    if not isinstance(part, Literal):
        return None
    numerator, denominator = part.value.as_numer_denom()
    places = {s for s in numerator.free_symbols if not s.is_positive}
    return (numerator, denominator) if places and denominator.free_symbols else None


def quotients(spot: Spot) -> Written:
    """A quotient of a place and a size: rounded, doubled, halved, inverted, of columns for pairs."""
    if _split_quotient(spot.part) is None:
        return
    part, value = spot.part, spot.part.value
    yield from _columns(spot, value)
    whole = sympy.floor(value)
    yield (
        f"a whole quotient: {{line}} has {Literal(whole)} instead of {part} (// rounds it)",
        Literal(whole),
    )
    for said, factor in (
        ("doubled", 2),
        ("halved", sympy.Rational(1, 2)),
        ("taken twice over", 4),
        ("multiplied by −1", -1),
    ):
        yield (
            f"the exponent is {said}: {{line}} has {Literal(factor * value)} instead of {part}",
            Literal(factor * value),
        )


def even_sizes(spot: Spot) -> Written:
    """A quotient by a size that is rounded to an even one: wrong for odd ones alone."""
    split = _split_quotient(spot.part)
    if split is None:
        return
    numerator, denominator = split
    for size in sorted(denominator.free_symbols, key=str):
        for even in (2 * sympy.floor(size / 2), 2 * sympy.ceiling(size / 2)):
            yield (
                f"fails only where {size} is odd: {{line}} has {Literal(even)} instead of {size}",
                Literal(numerator / substitute(denominator, {size: even})),
            )


def _columns(spot: Spot, value: Any) -> Written:
    """The number of a column instead of its pair's: neighbours that have to share a frequency then have one each."""
    for entry in spot.line.left.index:
        for place in sorted(getattr(entry, "free_symbols", ()), key=str):
            if (
                place.is_positive
                or place not in value.free_symbols
                or (place == entry and not _several(spot))
            ):
                continue
            for times in (sympy.Rational(1, 2), 1):
                shown = Literal(substitute(value, {place: times * COLUMN}))
                yield (
                    f"each column has a frequency of its own: {{line}} has {shown} instead of {spot.part}, which both "
                    "columns of a pair share",
                    Literal(substitute(value, {place: times * entry})),
                )


def _several(spot: Spot) -> bool:
    """Whether several lines define the tensor."""
    return sum(line.name == spot.line.name for line in spot.flat.lines) > 1


def bases(spot: Spot) -> Written:
    """The base of a power: another number, or a product instead of the power."""
    part = spot.part
    if not isinstance(part, Power) or not isinstance(part.args[0], Ref):
        return
    base, exponent = part.args
    if base.tensor.role != "constant":
        return
    for number in BASES:
        yield (
            f"the base is {number}: {{line}} has {number} instead of {base}",
            Power(Literal(sympy.Integer(number)), exponent),
        )
    natural = Func(
        Str("exp"),
        Times(Over(Func(Str("log"), base), Func(Str("log"), Literal(sympy.Integer(10)))), exponent),
    )
    yield f"the logarithm of {base} is that of base 10, though exp is taken of it, in {{line}}", natural
    yield (
        f"{{line}} has a product, {base}·{exponent}, instead of the power {part}",
        Times(base, exponent),
    )
    yield from _round_logarithms(spot, base, exponent)


def _round_logarithms(spot: Spot, base: Ref, exponent: Node) -> Written:
    """-log(b) / d // 2 and its like, whose quotients are whole numbers: // binds as tightly as /."""
    split, number = _split_quotient(exponent), spot.flat.constants.get(base.tensor.name)
    if split is None or number is None:
        return
    places, size = split
    logarithm = sympy.Rational(round(math.log(number) * DIGITS), DIGITS)
    for written, by in ((f"-log({base}) / {size} // 2", 2 * size), (f"-log({base}) // {size}", size)):
        step = Literal(places * -sympy.floor(-logarithm / by))
        yield (
            f"// rounds the logarithm of the frequencies: {{line}} has {written} as a whole number (// binds as tightly as /)",
            Func(Str("exp"), step),
        )


def turns(spot: Spot) -> Written:
    """Angles: places that are divided by their number, or multiplied by π."""
    part = spot.part
    if isinstance(part, Func) and part.name in ("sin", "cos"):
        argument = part.args[1]
        pi = Literal(sympy.pi)
        for said, factor in (("π", pi), ("2π", Times(Literal(sympy.Integer(2)), pi))):
            new = Times(factor, argument)
            yield (
                f"the angle is multiplied by {said}: {{line}} has {new} instead of {argument}",
                Func(part.args[0], new),
            )
    if isinstance(part, Literal) and part.value in spot.line.spans:
        first, last = spot.line.spans[part.value]
        for count, said in ((last - first + 1, "their number"), (last - first, "the largest of them")):
            yield (
                f"places are divided by {said}: {{line}} has {Literal(part.value / count)} instead of {part}",
                Literal(part.value / count),
            )


__all__ = ["bases", "even_sizes", "quotients", "turns"]

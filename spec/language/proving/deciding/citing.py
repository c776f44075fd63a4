"""A theorem at the place where it is cited: its letters stand for the arguments there, once they meet what it asks of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy.core.basic import Basic

from spec.language.abbreviations import meant
from spec.language.arrays import Tensor
from spec.language.calls import Call, shape_of
from spec.language.cited import Cited
from spec.language.formula import Formula
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Unprovable
from spec.language.proving.reading.frames import Frame, Origin
from spec.language.proving.reading.reader import Reader
from spec.language.trees import free_symbols


def instance(reader: Reader, cited: Cited, formula: Formula, frame: Frame, facts: Facts) -> Frame:
    """The frame in which the claims of a cited theorem are read; arguments are in the letters of the ``formula`` that cites.

    Raises:
        Unprovable: the theorem speaks of other sizes, values, conventions or inputs than those at hand.
    """
    theorem = cited.theorem
    if theorem.at or theorem.assuming or theorem.exists:
        raise Unprovable(f"{cited} is a theorem under restrictions, and cannot be cited")
    call: Call = meant(cited.call, formula)
    plain = reader.unfolding.enter(call, frame, facts)
    for name, option in theorem.conventions.items():
        if plain.conventions[name] != option:
            raise Unprovable(
                f"{cited} is a theorem under {name}={option}, and is cited under {plain.conventions[name]}"
            )
    plain = _sized(reader, cited, plain, frame, facts)
    tensors = dict(plain.tensors)
    for item in theorem.given:
        value: Basic = _whole(dict(cited.given)[item.name], formula)
        _check(reader, cited, item, value, plain, frame, facts)
        tensors[item.name] = (value, frame)
    return replace(plain, tensors=tensors, lines={}, origin=Origin(plain.origin.facts))


def _sized(reader: Reader, cited: Cited, plain: Frame, frame: Frame, facts: Facts) -> Frame:
    """The frame with the sizes that the theorem writes others by, which are what it says."""
    sizes = cited.theorem.sizes
    for size in set().union(*(free_symbols(value) for value in sizes.values())):
        value = reader.index(dict(cited.given)[size.name], frame, facts)
        if not facts.nonnegative(value - 1):
            raise Unprovable(f"{cited} is cited with a {size} that is not known to be at least 1")
        plain = plain.bind({size: value})
    for size, value in sizes.items():
        if not facts.same_index(plain.symbols[size], reader.index(value, plain, facts)):
            raise Unprovable(f"{cited} is a theorem for {size} = {value}, and is cited for another {size}")
    return plain


def _whole(value: Any, formula: Formula) -> Any:
    """What a theorem is given, in the letters of the formula that cites."""
    if isinstance(value, Tensor) and value.role == "internal":
        value = value[()]
    return meant(value, formula)


def _check(
    reader: Reader, cited: Cited, item: Tensor, value: Basic, plain: Frame, frame: Frame, facts: Facts
) -> None:
    """What a theorem is given has the shape and the domain that it asks for."""
    shape = shape_of(value)
    wanted = tuple(reader.index(size, plain, facts) for size in item.shape)
    if len(shape) != len(wanted) or any(
        not facts.same_index(reader.index(size, frame, facts), own)
        for size, own in zip(shape, wanted, strict=True)
    ):
        raise Unprovable(f"{cited} is given {item.name} of another shape")
    if item.domain in ("real", "boolean"):
        return
    below = reader.index(item.below, plain, facts)
    if not isinstance(value, Tensor) or value.domain != item.domain:
        raise Unprovable(f"{cited} is given {item.name}, which has to be a letter that is {item.domain}")
    if item.domain == "integer" and not facts.nonnegative(below - reader.index(value.below, frame, facts)):
        raise Unprovable(f"{cited} is given {item.name}, which may be as large as it must not be")


__all__ = ["instance"]

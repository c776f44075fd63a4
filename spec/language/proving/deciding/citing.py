"""A theorem at the place where it is cited: its letters stand for the arguments there, once they meet what it asks of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sympy.core.basic import Basic

from spec.language.abbreviations import meant
from spec.language.arrays import Comprehension, Tensor
from spec.language.calls import ABSENT, Call, shape_of
from spec.language.cited import Cited
from spec.language.formula import Formula
from spec.language.proving.knowledge.facts import Facts
from spec.language.proving.obligations import Unprovable
from spec.language.proving.reading.frames import Frame, Origin
from spec.language.proving.reading.reader import Reader
from spec.language.trees import free_symbols
from spec.language.wellformed.letters import is_condition


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
    _within_its_domains(reader, cited, call, plain, frame, facts)
    plain = _sized(reader, cited, plain, frame, facts)
    tensors = dict(plain.tensors)
    for item in theorem.given:
        value: Basic = _whole(dict(cited.given)[item.name], formula)
        _check(reader, cited, item, value, plain, frame, facts)
        tensors[item.name] = (value, frame)
    return replace(plain, tensors=tensors, lines={}, origin=Origin(plain.origin.facts))


def _within_its_domains(
    reader: Reader, cited: Cited, call: Call, plain: Frame, frame: Frame, facts: Facts
) -> None:
    """A theorem speaks of sizes from 1 on, of inputs within their domains, and of the constants as the statement has them.

    Whoever cites it may apply the formula to a part that is empty, or fix an input at the edge of its domain.
    """
    for size, value in plain.symbols.items():
        if not facts.nonnegative(value - 1):
            raise Unprovable(f"{cited} is cited where {size} is not known to be at least 1")
    if frame.constants:
        raise Unprovable(f"{cited} is cited where a constant is fixed to another value than its own")
    for item, value in zip(cited.formula.inputs, call.arguments, strict=True):
        if isinstance(item, Tensor) and value != ABSENT:
            reader.unfolding.fits(cited.formula, item, value, frame, facts, plain.symbols, edges=False)


def _sized(reader: Reader, cited: Cited, plain: Frame, frame: Frame, facts: Facts) -> Frame:
    """The frame with the sizes that the theorem writes others by, which are what it says."""
    sizes = cited.theorem.sizes
    for size in set().union(*(free_symbols(value) for value in sizes.values())):
        value = reader.index(dict(cited.given)[size.name], frame, facts)
        if not facts.nonnegative(value - 1):
            raise Unprovable(f"{cited} is cited with a {size} that is not known to be at least 1")
        if size in plain.symbols and not facts.same_index(plain.symbols[size], value):
            raise Unprovable(f"{cited} is cited with another {size} than it has there")
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
    body = value.body if isinstance(value, Comprehension) else value
    if (item.domain == "boolean") != is_condition(body):
        raise Unprovable(f"{cited} is given {item.name}, which has to be {item.domain}")
    if item.domain in ("real", "boolean"):
        return
    if not isinstance(value, Tensor) or value.domain != item.domain:
        raise Unprovable(f"{cited} is given {item.name}, which has to be a letter that is {item.domain}")
    below, own_below = reader.index(item.below, plain, facts), reader.index(value.below, frame, facts)
    if item.below != 0 and (value.below == 0 or not facts.nonnegative(below - own_below)):
        raise Unprovable(f"{cited} is given {item.name}, which may be as large as it must not be")


__all__ = ["instance"]

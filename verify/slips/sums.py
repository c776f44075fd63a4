"""Sums as programs have them by mistake: of each factor by itself, along another axis, one entry short, without their weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from spec.language.binders import Bound, MaxOf, SumOf
from spec.language.expr import TRUE, Literal, Over, Plus, Ref, Times
from spec.language.flatten import Flat
from spec.language.trees import free_symbols, fresh, substitute, transform, walk
from verify.slips.floors import at_least
from verify.slips.spots import Spot, Written

ONE, ZERO = Literal(sympy.Integer(1)), Literal(sympy.Integer(0))
WIDTHS = (8, 4, 16, 32, 64, 128, 2)
"""Multiples to which rows are padded in the field."""


def shares(flat: Flat, node: Any) -> bool:
    """Whether a part is an entry of weights: of a tensor that is divided by a sum, or of a copy of one."""
    while isinstance(node, Ref):
        lines = [line for line in flat.lines if line.name == node.tensor.name]
        if len(lines) != 1:
            return False
        node = lines[0].right
    return any(isinstance(part, Over) and isinstance(part.args[1], SumOf) for part in walk(node))


def _find_weighted_sums(spot: Spot) -> Iterator[tuple[SumOf, Any, Any]]:
    """A sum of what is read times its weights: the sum, the weights, what is read."""
    part = spot.part
    if isinstance(part, SumOf) and isinstance(part.body, Times):
        for by, read in (part.body.args, part.body.args[::-1]):
            both = part.var in free_symbols(by) and part.var in free_symbols(read)
            if both and isinstance(by, Ref) and shares(spot.flat, by):
                yield part, by, read


def drop_weights(spot: Spot) -> Written:
    """Weights that have no effect on what is read: its sum or its mean, over all that there is or what is permitted."""
    for part, by, read in _find_weighted_sums(spot):
        said = f"the weights {by} have no effect on what is read: {{line}} "
        every = ((part.where, "permitted"), (TRUE, "all")) if part.where != TRUE else ((TRUE, "all"),)
        for where, which in every[::-1]:
            total, count = (part.func(one, *part.args[1:4], where) for one in (read, ONE))
            what = (
                f"entries of {read}, whatever the weights"
                if which == "all"
                else f"entries of {read} that are permitted"
            )
            yield f"{said}is the mean of all {what}", Over(total, at_least(count, ONE))
            yield f"{said}sums all {what}", total
        by_itself = Over(part.func(read, *part.args[1:4], TRUE), part.func(ONE, *part.args[1:4], TRUE))
        yield (
            f"{said}is the mean of all entries of {read}, times the sum of the weights",
            Times(SumOf(by, *part.args[1:]), by_itself),
        )


def separate(spot: Spot) -> Written:
    """A sum of products in which each factor is summed by itself, as an einsum with one letter too many does."""
    part = spot.part
    if isinstance(part, SumOf) and isinstance(part.body, Times):
        one, two = part.body.args
        if part.var in free_symbols(one) and part.var in free_symbols(two):
            other = fresh(part.var, free_symbols(part) | {part.var} | set(spot.line.spans))
            apart = SumOf(substitute(two, {part.var: other}), other, part.first, part.last, TRUE)
            yield _separately(spot, two, one), Times(SumOf(one, *part.args[1:]), apart)
            first = SumOf(one, *part.args[1:4], TRUE)
            kept = SumOf(
                substitute(two, {part.var: other}),
                other,
                part.first,
                part.last,
                substitute(part.where, {part.var: other}),
            )
            yield _separately(spot, one, two), Times(first, kept)


def _separately(spot: Spot, summed: Any, beside: Any) -> str:
    """What is said of a factor that is summed by itself."""
    letters = f"(an einsum with two letters for {spot.part.var})"
    if shares(spot.flat, beside):
        return f"the weights {beside} have no effect on what is read: {{line}} sums all entries of {summed} {letters}"
    return f"sums all entries: {{line}} sums {summed} by itself, whatever {beside} is {letters}"


def axes(spot: Spot) -> Written:
    """A sum that runs along another axis than its own: a softmax over queries instead of keys."""
    part = spot.part
    if not isinstance(part, SumOf | MaxOf):
        return
    spans = spot.line.spans
    inside = free_symbols(part)
    for wrong in (s for s in spans if s in inside):
        for own, span in spans.items():
            if own == wrong or own in inside or span != (part.first, part.last):
                continue
            var = fresh(wrong, inside | set(spans) | {part.var})
            swap = {part.var: own, wrong: var}
            body, where = substitute(part.body, swap), substitute(part.where, swap)
            yield (
                f"the wrong axis: {{line}} sums over {wrong} where it has to sum over {own}",
                part.func(body, var, *spans[wrong], where),
            )


def padded(spot: Spot) -> Written:
    """A sum over a row that is padded with zeros to a multiple of a width: what stands there counts."""
    part = spot.part
    if not isinstance(part, SumOf) or part.where != TRUE:
        return
    size = part.last - part.first + 1
    if not getattr(size, "free_symbols", None) or size.has(sympy.floor):
        return

    def silent(node: Any) -> Any:
        return ZERO if isinstance(node, Ref) and part.var in free_symbols(node) else None

    nothing = transform(part.body, silent)
    for width in WIDTHS:
        more = Literal(width * sympy.ceiling(size / width) - size)
        yield (
            f"padding counts: {{line}} sums over {part.var} up to a multiple of {width}, with zeros behind the last entry",
            Plus(part, Times(more, nothing)),
        )


def ends(spot: Spot) -> Written:
    """A sum that begins or ends one off."""
    part = spot.part
    if isinstance(part, Bound) and isinstance(part, SumOf | MaxOf):
        for said, first, last in (("first", part.first + 1, part.last), ("last", part.first, part.last - 1)):
            yield (
                f"{{line}} leaves out the {said} entry of the sum over {part.var}",
                part.func(part.body, part.var, first, last, part.where),
            )


__all__ = ["axes", "ends", "padded", "separate", "drop_weights"]

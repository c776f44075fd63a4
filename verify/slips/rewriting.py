"""One small change to a statement, for each mistake that is usual in writing it as a program. They are data: a table of rules.

A rule takes a part of a line and gives what is likely to stand there instead, with a sentence that says so. None knows a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy
from sympy.core.symbol import Str

from spec.language.arrays import DISCRETE, Tensor
from spec.language.binders import Bound, SumOf
from spec.language.expr import (
    TRUE,
    Both,
    Case,
    Compare,
    Either,
    Func,
    Literal,
    Minus,
    Negative,
    Node,
    Over,
    Plus,
    Ref,
    Times,
)
from spec.language.lines import Definition
from spec.language.trees import free_symbols, refs, substitute, transform, walk
from verify.slips.activations import activations, added_activations, functions
from verify.slips.angles import bases, even_sizes, quotients, turns
from verify.slips.spots import Spot, Written, depends_on_sizes_alone
from verify.slips.sums import axes, ends, padded, separate

ONE = Literal(sympy.Integer(1))
FIXED = (64, 128, 32, 80, 96, 16, 256, 512, 768, 1024, 2, 3, 4, 8, 5, 7)
"""Widths at which a scale is fixed in the field."""


def scales(spot: Spot) -> Written:
    """What a size divides or multiplies: the scale left out, applied twice, or inverted."""
    part = spot.part
    if isinstance(part, Over) and _of(part.args[1]):
        what, by = part.args
        yield f"the scale is missing: {{line}} is not divided by {by}", what
        yield f"the scale is doubled: {{line}} is divided by {by} twice", Over(what, Times(by, by))
        for number in FIXED:
            fixed_at = Literal(sympy.Integer(number))
            by_number = Func(by.args[0], fixed_at) if isinstance(by, Func) else fixed_at
            yield f"the scale is fixed: {{line}} is divided by {by_number}, not {by}", Over(what, by_number)
        yield (
            f"the scale is inverted: {{line}} is multiplied by {by} instead of divided by it",
            Times(what, by),
        )
        if isinstance(by, Func):
            yield (
                f"the scale has no root: {{line}} is divided by {by.args[1]}, not {by}",
                Over(what, by.args[1]),
            )
        else:
            root = Func(Str("sqrt"), by)
            yield f"{{line}} is divided by {root}, not {by}", Over(what, root)
    if isinstance(part, Times):
        for by, what in (part.args, part.args[::-1]):
            if _of(by):
                yield f"the scale is missing: {{line}} is not {spot.deed} by {by}", what
                yield (
                    f"the scale is doubled: {{line}} is {spot.deed} by {by} twice",
                    Times(by, Times(by, what)),
                )


def _of(node: Any) -> bool:
    return depends_on_sizes_alone(node) and bool(free_symbols(node))


def sizes(spot: Spot) -> Written:
    """One size taken for another, or one off."""
    part = spot.part
    if not isinstance(part, Literal):
        return
    inside = [s for s in free_symbols(part) if s.is_positive]
    every = {s: None for item in spot.flat.inputs for s in _sizes_of(item)}
    for symbol in sorted((s for s in free_symbols(part) if not s.is_positive), key=str):
        for step, said in ((1, "1, not 0"), (-1, "−1, not 0")):
            new = Literal(substitute(part.value, {symbol: symbol + step}))
            yield f"off by one: {symbol} counts from {said}, in {{line}}", new
    for size in sorted(inside, key=str):
        for step, said in ((-1, f"{size} − 1"), (1, f"{size} + 1"), (-2, f"{size} − 2")):
            new = Literal(substitute(part.value, {size: size + step}))
            yield f"{{line}} has {said} instead of {size}", new
        for other in every:
            if other != size:
                new = Literal(substitute(part.value, {size: other}))
                yield f"{{line}} has {new} instead of {part}", new
                new = Literal(substitute(part.value, {size: size * other}))
                yield f"{{line}} has {new} instead of {part}", new


def _sizes_of(item: Any) -> Iterator[Any]:
    for size in item.shape if isinstance(item, Tensor) else (item,):
        yield from sorted((s for s in free_symbols(size) if s.is_positive), key=str)


def comparisons(spot: Spot) -> Written:
    """A comparison that is off by one, turned round, or left out."""
    part = spot.part
    if not isinstance(part, Compare):
        return
    sign, left, right = part.args
    if any(refs(part)):  # between numbers, not between positions
        return
    later = part.func(sign, left, right + 1)
    earlier = part.func(sign, left, right - 1)
    if str(sign) == "==":  # it hides nothing that comes later
        for new in (later, earlier):
            yield f"off by one: {new} instead of {part}", new
        yield f"the condition {part} is not applied", TRUE
        return
    yield (
        f"off by one: {later} instead of {part}, so that one entry too many is seen, the next one",
        later,
    )
    yield f"off by one: {earlier} instead of {part}, so that one entry too few is seen", earlier
    offset = right.as_independent(*(s for s in free_symbols(right) if not s.is_positive), as_Add=True)[0]
    if offset.free_symbols:
        either = Either(part, part.func(sign, left, right - offset))
        yield (
            f"the offset {offset} is not let fall below 0 in {part}: where it is negative, later entries are seen",
            either,
        )
    yield f"look-ahead: the condition {part} is not applied, so that what comes later is seen", TRUE
    yield (
        f"the condition is the wrong way round: {right} {sign} {left} instead of {part}",
        part.func(sign, right, left),
    )


def limits(spot: Spot) -> Written:
    """A limit of what is counted, wherever a line compares with it: off by one, or not applied."""
    part = spot.part
    compared = [each for each in walk(part) if _is_limited(each)] if spot.whole else []
    for first in {each.args[2]: each for each in reversed(compared)}.values():
        for step in (1, -1):
            moved = _move_limit(first, step)
            yield f"off by one: {moved} instead of {first}", _change_limit(part, first, step)
        yield f"the condition {first} is not applied in {{line}}", _change_limit(part, first, None)


def _is_limited(part: Any) -> bool:
    return isinstance(part, Compare) and any(refs(part)) and not isinstance(part.args[2], Node)


def _move_limit(part: Any, step: int) -> Any:
    sign, left, right = part.args
    return part.func(sign, left, right + step)


def _change_limit(node: Any, like: Any, step: int | None) -> Any:
    """All comparisons with one limit by another, or left out."""

    def change(part: Any) -> Any:
        if not _is_limited(part) or part.args[2] != like.args[2]:
            return None
        return TRUE if step is None else _move_limit(part, step)

    return transform(node, change)


def unapplied_conditions(spot: Spot) -> Written:
    """A condition that is not applied where it belongs: in one sum, or around one value."""
    part = spot.part
    if isinstance(part, Bound) and part.where != TRUE:
        new = part.func(*part.args[:4], TRUE)
        if spot.divisor:
            yield (
                f"weights do not sum to 1: {{line}} divides by a sum over hidden entries, too (not {part.where} alone)",
                new,
            )
        else:
            yield (
                f"the mask is ignored in a sum: {{line}} sums over hidden entries, too (not {part.where} alone)",
                new,
            )
    if isinstance(part, Case):
        condition, then, otherwise = part.args
        yield (
            f"the condition {condition} is not applied: {{line}} is everywhere what it should be there",
            then,
        )
        yield f"the condition {condition} is inverted in {{line}}", Case(condition, otherwise, then)
    if isinstance(part, Both):
        for one, other in (part.args, part.args[::-1]):
            yield f"the condition {one} is not applied in {{line}}", other


def missing_terms(spot: Spot) -> Written:
    """A term or factor that is missing."""
    part = spot.part
    if isinstance(part, Plus):
        for gone, kept in (part.args, part.args[::-1]):
            yield f"{gone} is not added in {{line}}", kept
    elif isinstance(part, Minus):
        yield f"{part.args[1]} is not subtracted in {{line}}", part.args[0]
    elif isinstance(part, Times):
        for gone, kept in (part.args, part.args[::-1]):
            yield f"{{line}} is not {spot.deed} by {gone}", kept
    elif isinstance(part, Over):
        yield f"{{line}} is not divided by {part.args[1]}", part.args[0]


def signs(spot: Spot) -> Written:
    """A sign that is wrong."""
    part = spot.part
    if isinstance(part, Plus):
        yield f"{part.args[1]} is subtracted in {{line}}, not added", Minus(*part.args)
    elif isinstance(part, Minus):
        yield f"{part.args[1]} is added in {{line}}, not subtracted", Plus(*part.args)
        yield f"the sign of {{line}} is wrong: {part.args[1]} − {part.args[0]}", Minus(*part.args[::-1])
    elif isinstance(part, Negative):
        yield "the sign in {line} is wrong", part.args[0]
    elif spot.whole and not isinstance(part, Case):
        yield "the sign of {line} is wrong", Negative(part)


def means_and_epsilons(spot: Spot) -> Written:
    """ε moved: out of a root, or into one; a mean for a sum, and a sum for a mean."""
    part = spot.part
    if isinstance(part, Func) and part.name == "sqrt" and isinstance(part.args[1], Plus):
        kept, added = part.args[1].args
        yield f"{added} is added outside the root in {{line}}", Plus(Func(Str("sqrt"), kept), added)
    if isinstance(part, Func) and part.name in ("sqrt", "log"):
        for item in spot.flat.inputs:
            if isinstance(item, Tensor) and item.role == "number" and item.domain == "positive":
                yield (
                    f"{item.name} is added inside the {part.name} in {{line}}",
                    Func(part.args[0], Plus(part.args[1], Ref(item))),
                )
    if isinstance(part, SumOf):
        count = Literal(part.last - part.first + 1)
        yield f"{{line}} takes the mean over {part.var}, not the sum", Over(part, count)


def references(spot: Spot) -> Written:
    """Another tensor of the same shape instead of the right one; its axes exchanged; its neighbour."""
    part = spot.part
    if not isinstance(part, Ref) or part.tensor.domain in DISCRETE:
        return
    tensor, index = part.tensor, part.index
    wrong = (
        "{} is read where {{line}} belongs"
        if spot.whole
        else f"{{{{line}}}} reads {{}} where {tensor.name} belongs"
    )
    for other in _alike(spot, tensor):
        yield wrong.format(other.name), Ref(other, *index)
    for a in range(len(index)):
        for b in range(a + 1, len(index)):
            turned = list(index)
            turned[a], turned[b] = turned[b], turned[a]
            yield (
                f"axes swapped: {{line}} reads {Ref(tensor, *turned)} where {part} belongs",
                Ref(tensor, *turned),
            )


def gathered(spot: Spot) -> Written:
    """A product around a sum instead of one of its terms: a bias that is multiplied, too."""
    part = spot.part
    for product, term in (part.args, part.args[::-1]) if isinstance(part, Plus) else ():
        for factor, rest in (product.args, product.args[::-1]) if isinstance(product, Times | Over) else ():
            if isinstance(factor, Ref) and (isinstance(product, Times) or factor is product.args[0]):
                inner = Plus(rest, term) if isinstance(product, Times) else Plus(Over(ONE, rest), term)
                yield f"{term} is multiplied by {factor}, too, in {{line}}", Times(factor, inner)


def superfluous(spot: Spot) -> Written:
    """What does not belong: a scale by a size that is summed over, another tensor added."""
    part, line = spot.part, spot.line
    if not spot.whole or line.left.tensor.domain in DISCRETE:
        return
    for size in dict.fromkeys(
        s for each in walk(part) if isinstance(each, SumOf) for s in free_symbols(each.last)
    ):
        for by in (Func(Str("sqrt"), Literal(size)), Literal(size)):
            yield f"the scale does not belong: {{line}} is divided by {by}", Over(part, by)
            yield f"the scale does not belong: {{line}} is multiplied by {by}", Times(part, by)
    for other in _alike(spot, line.left.tensor):
        yield f"{other.name} is added to {{line}}", Plus(part, Ref(other, *line.left.index))


def _alike(spot: Spot, tensor: Tensor) -> list[Tensor]:
    """Data and tensors of earlier lines that have the shape of one."""
    earlier = [t for t in spot.flat.inputs if isinstance(t, Tensor) and t.role in ("data", "parameter")]
    for line in spot.flat.lines:
        if line.name == spot.line.name:
            break
        earlier.append(line.left.tensor)
    return [
        t
        for t in dict.fromkeys(earlier)
        if t != tensor and t.shape == tensor.shape and t.domain not in DISCRETE
    ]


def distributed(spot: Spot) -> Written:
    """A bias that is added to what is made of a sum, and not to that sum: behind a gate, or behind an activation."""
    part = spot.part
    for read in sorted(set(refs(part)), key=str) if isinstance(part, Times | Func | Case) else ():
        lines = [line for line in spot.flat.lines if line.name == read.tensor.name]
        if len(lines) != 1 or not isinstance(lines[0].right, Plus):
            continue
        places = dict(zip(lines[0].left.index, read.index, strict=True))
        for bias in lines[0].right.args:
            if isinstance(bias, Ref) and bias.tensor.role == "parameter":
                own = substitute(bias, places)
                yield (
                    f"{bias.tensor.name} is not added to {read.tensor.name}, but in {{line}}, to what is made of it",
                    Plus(substitute(part, {read: Minus(read, own)}), own),
                )


def residuals(spot: Spot) -> Written:
    """What stands beside a layer in a sum: not the row, but what was made of it first, such as the normalised row."""
    part = spot.part
    for kept, _ in (part.args, part.args[::-1]) if isinstance(part, Plus) and spot.whole else ():
        if not isinstance(kept, Ref) or kept.tensor.role == "parameter":
            continue
        names = {kept.tensor.name}
        for line in spot.flat.lines:
            if line.name == spot.line.name:
                break
            read = {each.tensor.name for each in refs(line.right)}
            if not read & names:
                continue
            names.add(line.name)
            if line.left.tensor.shape == kept.tensor.shape:
                named = next((each.name for each in spot.flat.lines if _hands_on(each, line)), line.name)
                said = f"the residual in {{line}} is {named}, which is made of {kept.tensor.name}, and not that itself"
                other = Ref(line.left.tensor, *kept.index)
                yield said, part.func(*(other if each is kept else each for each in part.args))
                break


def _hands_on(line: Definition, made: Definition) -> bool:
    """Whether a line is what another one has made, by another name: a formula's result, as who asked for it calls it."""
    return isinstance(line.right, Ref) and line.right.tensor == made.left.tensor


RULES: tuple[Callable[[Spot], Written], ...] = (
    scales,
    comparisons,
    limits,
    unapplied_conditions,
    separate,
    axes,
    quotients,
    bases,
    turns,
    sizes,
    even_sizes,
    means_and_epsilons,
    activations,
    missing_terms,
    distributed,
    gathered,
    residuals,
    padded,
    functions,
    signs,
    ends,
    added_activations,
    references,
    superfluous,
)
"""The kinds of mistakes, the most usual first."""


__all__ = ["RULES"]

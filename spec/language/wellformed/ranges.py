"""Indices in their range: every entry that a statement reads or defines lies in its tensor, at all small sizes that are tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language import expr
from spec.language.arrays import NO_LABEL, WHOLE, Comprehension, Tensor
from spec.language.binders import Bound
from spec.language.calls import Call, Pullback, unify
from spec.language.expr import Node, Ref
from spec.language.known import get_formula
from spec.language.lines import Span
from spec.language.trees import free_symbols, substitute, walk
from spec.language.wellformed.letters import IllFormed

SMALL = ((1, 1, 1), (2, 3, 5), (3, 2, 4))
"""Sizes at which the range of an index is tried where it is not plain from its form, by turns over the size symbols."""
WIDE = ((7, 11, 13), (13, 7, 11), (11, 13, 7))
"""Sizes at one of which, at least, a range that means something is not empty."""
MOST = 4000
"""Values of the indices around that are tried at most."""

Values = Mapping[Any, int]
"""Sizes, indices and look-ups as numbers."""


@dataclass(frozen=True)
class Scope:
    """Where a part of a tree stands: the indices around it with their ranges, and what is known to hold there."""

    spans: Mapping[sympy.Symbol, Span]
    held: tuple[Node, ...] = ()
    sizes: Mapping[sympy.Symbol, Any] = field(default_factory=dict)
    """Sizes that others fix."""

    def inside(self, *ranges: tuple[sympy.Symbol, Any, Any], held: tuple[Any, ...] = ()) -> Scope:
        """Further inside."""
        more = {symbol: (first, last) for symbol, first, last in ranges}
        return Scope({**self.spans, **more}, (*self.held, *held), self.sizes)


def parts(node: Basic, scope: Scope) -> Iterator[tuple[Basic, Scope]]:
    """A tree part by part, each with the scope in which it stands."""
    yield node, scope
    if isinstance(node, Tensor):
        return
    if isinstance(node, Bound):
        for end in (node.first, node.last):
            yield from parts(end, scope)
        inner = scope.inside((node.var, node.first, node.last))
        yield from parts(node.where, inner)
        yield from parts(node.body, inner.inside(held=(node.where,)))
    elif isinstance(node, Comprehension):
        pairs = zip(node.vars, node.shape, strict=True)
        yield from parts(node.body, scope.inside(*((s, sympy.S.Zero, size - 1) for s, size in pairs)))
    elif isinstance(node, expr.Case):
        condition, then, otherwise = node.args
        yield from parts(condition, scope)
        yield from parts(then, scope.inside(held=(condition,)))
        yield from parts(otherwise, scope.inside(held=(expr.Not(condition),)))
    elif isinstance(node, expr.Both):  # a & b: what b reads does not matter where a fails
        first, *more = node.args
        yield from parts(first, scope)
        for one in more:
            yield from parts(one, scope.inside(held=(first,)))
    else:
        for child in node.args:
            yield from parts(child, scope)


def check_places(tree: Basic, scope: Scope, where: str) -> None:
    """Refuse entries outside their tensor, and ranges that are none.

    Raises:
        IllFormed: naming the place, the index, and sizes at which it is out of range.
    """
    for part, around in parts(tree, scope):
        if isinstance(part, Ref):
            name = part.tensor.name
            _check_entry(part, part.index, part.tensor.shape, name, around, where)
        elif isinstance(part, Call | Pullback):
            name, shape = _result(part)
            _check_entry(part, part.index, shape, name, around, where)
        elif isinstance(part, Bound):
            check_range((part.var, part.first, part.last), around, where)
        elif isinstance(part, Comprehension):
            for symbol, size in zip(part.vars, part.shape, strict=True):
                _check_length(symbol, size, around, where)


def check_range(bound: tuple[Any, Any, Any], scope: Scope, where: str) -> None:
    """Refuse a range with ends that are no integers, and one that is never anything but empty."""
    symbol, first, last = bound
    wanted = free_symbols(first) | free_symbols(last)
    for end in (first, last):
        for at in _try_values(end, wanted, scope, SMALL):
            value = _exact(end, at)
            if value is not None and not isinstance(value, int):
                raise IllFormed(
                    f"{where}: the range of {symbol} ends at {end}, which is {value}{_format_values(at, wanted)}"
                )
    tried = _try_values(last - first, wanted, scope, WIDE, bare=True)
    lengths = [(_exact(first, at), _exact(last, at)) for at in tried]
    if lengths and all(a is not None and b is not None and b < a for a, b in lengths):
        raise IllFormed(f"{where}: the range of {symbol} is empty: it begins at {first} and ends at {last}")


def _check_length(symbol: Any, size: Any, scope: Scope, where: str) -> None:
    wanted = free_symbols(size)
    for at in _try_values(size, wanted, scope, SMALL):
        value = _exact(size, at)
        if value is not None and not (isinstance(value, int) and value >= 0):
            raise IllFormed(
                f"{where}: an array has {size} entries along {symbol}: {value}{_format_values(at, wanted)}"
            )


def _result(node: Call | Pullback) -> tuple[str, tuple[Any, ...]]:
    """The tensor that an application gives an entry of: its name and its shape in the caller's sizes."""
    call = node.call if isinstance(node, Pullback) else node
    callee = get_formula(call.formula_id)
    sizes = unify(callee, call.arguments)
    pulled = isinstance(node, Pullback)
    of = next(t for t in callee.inputs if str(t) == node.wrt) if pulled else callee.line(call.output)
    return f"{callee.id}'s {of.name}", tuple(substitute(size, sizes) for size in of.shape)


def _check_entry(
    node: Basic, index: tuple[Any, ...], shape: tuple[Any, ...], name: str, scope: Scope, where: str
) -> None:
    if len(index) != len(shape):
        raise IllFormed(f"{where}: {name} has {len(shape)} axes, but {len(index)} indices were given")
    for part, size in zip(index, shape, strict=True):
        if isinstance(part, Ref) and part.tensor.domain not in WHOLE:
            raise IllFormed(
                f"{where}: {part} is no index: {part.tensor.name} holds {part.tensor.domain} numbers"
            )
        if not _plainly_inside(part, size, scope):
            _try_sizes(part, size, scope, node, where)


def _plainly_inside(part: Basic, size: sympy.Expr, scope: Scope) -> bool:
    if isinstance(part, Ref):
        return bool(part.tensor.domain != "label" and sympy.expand(_below(part) - size) == 0)
    return part in scope.spans and scope.spans[part] == (0, size - 1)


def _below(look_up: Ref) -> Any:
    tensor = look_up.tensor
    return tensor.shape[0] if tensor.domain == "permutation" else tensor.below


def _try_sizes(part: Any, size: sympy.Expr, scope: Scope, node: Basic, where: str) -> None:
    """Refuse an index that lies outside at some small sizes."""
    wanted = free_symbols(part) | free_symbols(size)
    for at in _try_values(part, wanted, scope, SMALL):
        found, end = _exact(part, at), _exact(size, at)
        if found is None or end is None or (isinstance(found, int) and 0 <= found < end):
            continue
        if isinstance(part, Ref):
            runs = f"runs below {_below(part)}, but the axis has size {size}"
            none = f"is no index where it is {NO_LABEL}: it is read under the condition le(0, {part})"
            raise IllFormed(f"{where}: {node}: {part} {none if found == -1 else runs}")
        problem = "out of range" if isinstance(found, int) else "no integer"
        raise IllFormed(
            f"{where}: the index {part} of {node} is {problem}: it is {found} where the axis has size {size} = {end}"
            f"{_format_values(at, wanted)}"
        )


def _format_values(at: Values, wanted: Iterable[Any]) -> str:
    """The values at which something was seen, in parentheses."""
    said = ", ".join(
        f"{s} = {at[s]}"
        for s in sorted({*wanted} | {k for k in at if isinstance(k, Ref)}, key=str)
        if s in at
    )
    return f" ({said})" if said else ""


# Values that are tried ------------------------------------------------------------------------------------------------------


def _try_values(
    part: Any, wanted: set[Any], scope: Scope, turns: Iterable[tuple[int, ...]], bare: bool = False
) -> Iterator[Values]:
    """Small sizes, and every value there of the indices and look-ups in a part, where what is known to hold does not fail.

    ``bare`` leaves aside what is known to hold.
    """
    looked = [x for x in walk(part) if isinstance(x, Ref)] if isinstance(part, Node) else []
    if any(_below(one) == 0 for one in looked):
        return  # nothing is said of its range: left to the prover, which has to see it in range
    held = () if bare else scope.held
    ranges: dict[Any, Span] = _select_ranges(wanted, scope, held)
    labels = [
        one for one in looked if one.tensor.domain == "label"
    ]  # of which one that is none is tried, too
    ranges |= {one: (sympy.Integer(-1 if one in labels else 0), _below(one) - 1) for one in looked}
    symbols = {s for span in ranges.values() for end in span for s in free_symbols(end)} | wanted
    fixed = {size: scope.sizes[size] for size in symbols & scope.sizes.keys()}
    free = (symbols - fixed.keys()).union(*map(free_symbols, fixed.values())) - set(ranges)
    ordered = sorted(free, key=lambda s: s.name)
    for turn in turns:
        sizes = {symbol: turn[k % len(turn)] for k, symbol in enumerate(ordered)}
        sizes |= {size: number_at(value, sizes) or 0 for size, value in fixed.items()}
        for values in values_of(ranges.items(), sizes):
            at = {**sizes, **values}
            if not any(_excludes(condition, at, looked) for condition in held):
                yield at


def _excludes(condition: Basic, at: Values, looked: list[Ref]) -> bool:
    """Whether a condition keeps these values out, or may do so: one that depends on data, and on a look-up at hand."""
    if isinstance(condition, expr.Both):
        return any(_excludes(one, at, looked) for one in condition.args)
    truth = truth_at(condition, at)
    return truth is False or (truth is None and any(one in looked for one in walk(condition)))


def _select_ranges(wanted: set[Any], scope: Scope, held: Iterable[Node]) -> dict[Any, Span]:
    """The ranges of the indices that something depends on, outermost first; and of those that conditions compare."""
    wanted = set(wanted)
    for condition in held:
        if not any(isinstance(x, Ref) for x in walk(condition)):
            wanted |= free_symbols(condition)
    kept: dict[Any, Span] = {}
    for symbol, ends in reversed(list(scope.spans.items())):
        if symbol in wanted:
            kept[symbol] = ends
            wanted |= free_symbols(ends[0]) | free_symbols(ends[1])
    return dict(reversed(list(kept.items())))


def values_of(ranges: Iterable[tuple[Any, Span]], sizes: Values) -> Iterator[dict[Any, int]]:
    """Every choice of the indices in their ranges, as far as :data:`MOST`."""
    found: list[dict[Any, int]] = [{}]
    for symbol, (first, last) in ranges:
        wider = []
        for at in found:
            low, high = number_at(first, {**sizes, **at}), number_at(last, {**sizes, **at})
            if low is not None and high is not None:
                wider += [{**at, symbol: k} for k in range(low, high + 1)]
        found = wider[:MOST]
    return iter(found)


def number_at(index: Any, at: Values) -> int | None:
    """An index as a number; None where it is none, or depends on data."""
    value = _exact(index, at)
    return value if isinstance(value, int) else None


def _exact(index: Any, at: Values) -> Any:
    """An index as an exact value, an ``int`` if it is whole; None where it depends on data that are not among the values."""
    if isinstance(index, int | sympy.Integer):
        return int(index)
    if isinstance(index, sympy.Symbol | Ref):
        return at.get(index)
    if isinstance(index, expr.Literal):
        return _exact(index.value, at)
    if isinstance(
        index, sympy.Add | sympy.Mul | expr.Plus | expr.Minus | expr.Times | expr.Negative
    ):  # most: n - 1, h·d_k
        found = [_exact(one, at) for one in index.args]
        if None in found:
            return None
        if isinstance(index, expr.Negative):
            return -found[0]
        if isinstance(index, expr.Minus):
            return found[0] - found[1]
        return _plain(sum(found) if isinstance(index, sympy.Add | expr.Plus) else prod(found))
    if isinstance(index, Node):
        return None
    whole = {s: sympy.Integer(v) for s, v in at.items() if not isinstance(s, Ref)}
    value = substitute(sympy.sympify(index), whole)
    return _plain(value) if value.is_number else None


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, sympy.Integer) else value


def truth_at(condition: Basic, at: Values) -> bool | None:
    """Whether a condition holds at given indices; None where that depends on data."""
    if isinstance(condition, expr.Always):
        return True
    if isinstance(condition, expr.Not):
        inner = truth_at(condition.args[0], at)
        return None if inner is None else not inner
    if isinstance(condition, expr.Both | expr.Either):
        found = [truth_at(part, at) for part in condition.args]
        decisive = isinstance(condition, expr.Either)
        if decisive in found:
            return decisive
        return None if None in found else not decisive
    if isinstance(condition, expr.Compare):
        a, b = (number_at(part, at) for part in condition.args[1:])
        if a is None or b is None:
            return None
        return {"<=": a <= b, "<": a < b, "==": a == b}[str(condition.args[0])]
    return None

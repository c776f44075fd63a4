"""What a statement has to be, to mean anything: refused when it is made, in one line that names formula, line and symbol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.arrays import Comprehension, Tensor
from spec.language.calls import Call, Pullback, unify
from spec.language.expr import Always, AnyOf, Both, Bound, Case, Choice, Compare, Either, Node, Not, Ref
from spec.language.known import known
from spec.language.letters import IllFormed, Parts, check_once, check_tensor, is_index, is_size
from spec.language.lines import Definition, LineChoice, Span
from spec.language.trees import free_symbols, substitute, walk

SMALL = ((1, 1, 1), (2, 3, 5), (3, 2, 4))
"""Sizes at which the range of an index is tried where it is not plain from its form, by turns over the size symbols."""
MOST = 4000
"""Values of the indices around that are tried at most."""


@dataclass(frozen=True)
class _Scope:
    """Where a part of a tree stands: the indices around it with their ranges, and what is known to hold there."""

    spans: Mapping[sympy.Symbol, Span]
    held: tuple[Node, ...] = ()

    def inside(self, *ranges: tuple[sympy.Symbol, Any, Any], held: tuple[Any, ...] = ()) -> _Scope:
        """Further inside."""
        more = {symbol: (first, last) for symbol, first, last in ranges}
        return _Scope({**self.spans, **more}, (*self.held, *held))


def check_formula(formula: Any) -> None:
    """Refuse a formula that means nothing.

    Raises:
        IllFormed: naming formula, line and symbol.
    """
    tensors = {*formula.tensors, *formula.outputs, *formula.constants}
    tensors |= {line.left.tensor for line in formula.definitions}
    for tensor in sorted(tensors, key=str):
        check_tensor(tensor, formula.id)
    for item in formula.inputs:
        if not isinstance(item, Tensor) and not is_size(item):
            raise IllFormed(f"{formula.id}: the input {item} is neither a tensor nor a size")
    check_once((*tensors, *_sizes(formula)), formula.id)
    for tensor in formula.outputs:
        if tensor.name not in {line.name for line in formula.definitions}:
            raise IllFormed(f"{formula.id}: no line defines the output {tensor.name}")
    for line in formula.definitions:
        _check_line(formula, line)
    _check_use(formula)


# A line -------------------------------------------------------------------------------------------------------------------


def _check_line(formula: Any, line: Definition) -> None:
    where = f"{formula.id}, line {line.left}"
    defined = {item.left.tensor for item in formula.definitions}
    given = {item for item in formula.inputs if isinstance(item, Tensor)} | set(formula.constants)
    sizes = _sizes(formula)
    outer = _Scope(line.spans)
    for symbol, first, last in line.ranges:
        for end in (first, last):
            _check_letters(end, where, sizes)
        if symbol in sizes:
            raise IllFormed(f"{where}: {symbol} is a size of the formula and an index of the line")
        if not is_index(symbol):
            raise IllFormed(f"{where}: {symbol} is no index")
    for part, scope in _parts(line.left, outer):
        _check_place(part, scope, where)
    for part, scope in _parts(line.right, outer):
        if isinstance(part, Tensor) and part not in defined | given and part.role != "generator":
            known_names = ", ".join(sorted(t.name for t in defined | given))
            raise IllFormed(
                f"{where}: nothing defines {part.name} of shape ({', '.join(map(str, part.shape))}); "
                f"the formula has: {known_names}"
            )
        if isinstance(part, sympy.Symbol) and part not in sizes and part not in scope.spans:
            raise IllFormed(f"{where}: {part} is neither an index of the line nor a size of the formula")
        if isinstance(part, Ref):
            _check_place(part, scope, where)
        if isinstance(part, Choice):
            _check_choice(formula, part, where)
    check_calls(line.right, where)
    Parts(where).check(line.right, frozenset(line.spans))


def check_calls(node: Basic, where: str) -> None:
    """Refuse an application whose arguments do not fit in shape, or in number of indices."""
    for part in walk(node):
        call = part.call if isinstance(part, Pullback) else part
        if not isinstance(call, Call):
            continue
        callee = known(call.formula_id)
        try:
            unify(callee, call.arguments)
        except ValueError as error:
            raise IllFormed(f"{where}: {error}") from None
        of = (
            next(t for t in callee.inputs if str(t) == part.wrt)
            if isinstance(part, Pullback)
            else callee.line(call.output)
        )
        if len(call.index) != len(of.shape):
            raise IllFormed(
                f"{where}: {callee.id}: {of.name} has {len(of.shape)} axes, but {len(call.index)} indices were given"
            )


def _check_letters(expr: Any, where: str, sizes: set[sympy.Symbol]) -> None:
    for symbol in free_symbols(expr):
        if symbol not in sizes:
            raise IllFormed(f"{where}: {symbol} is no size of the formula")


def _check_choice(formula: Any, choice: Choice, where: str) -> None:
    name = str(choice.args[0])
    options = {str(pair.args[0]) for pair in choice.args[1:]}
    _check_options(formula, name, options, where)


def _check_options(formula: Any, name: str, options: set[str], where: str) -> None:
    declared = {c.name: set(c.options) for c in formula.conventions}
    if name not in declared:
        raise IllFormed(
            f"{where}: {name} is no convention of the formula; it has: {', '.join(declared) or 'none'}"
        )
    if options != declared[name]:
        raise IllFormed(
            f"{where}: the convention {name} has the options {', '.join(sorted(declared[name]))}; "
            f"the line has: {', '.join(sorted(options))}"
        )


def _parts(node: Basic, scope: _Scope) -> Iterator[tuple[Basic, _Scope]]:
    """A tree part by part, each with the scope in which it stands."""
    yield node, scope
    if isinstance(node, Tensor):
        return
    if isinstance(node, Bound):
        for end in (node.first, node.last):
            yield from _parts(end, scope)
        inner = scope.inside((node.var, node.first, node.last))
        yield from _parts(node.where, inner)
        yield from _parts(node.body, inner.inside(held=(node.where,)))
    elif isinstance(node, Comprehension):
        pairs = zip(node.vars, node.shape, strict=True)
        yield from _parts(node.body, scope.inside(*((s, sympy.S.Zero, size - 1) for s, size in pairs)))
    elif isinstance(node, Case):
        condition, then, otherwise = node.args
        yield from _parts(condition, scope)
        yield from _parts(then, scope.inside(held=(condition,)))
        yield from _parts(otherwise, scope.inside(held=(Not(condition),)))
    else:
        for child in node.args:
            yield from _parts(child, scope)


# Indices in their range -----------------------------------------------------------------------------------------------------


def _check_place(ref: Basic, scope: _Scope, where: str) -> None:
    """Refuse an entry that lies outside its tensor."""
    if not isinstance(ref, Ref):
        return
    if len(ref.index) != len(ref.tensor.shape):
        raise IllFormed(
            f"{where}: {ref.tensor.name} has {len(ref.tensor.shape)} axes, but {len(ref.index)} indices were given"
        )
    for part, size in zip(ref.index, ref.tensor.shape, strict=True):
        if isinstance(part, Node):
            _check_look_up(part, size, ref, where)
        elif not _plainly_inside(part, size, scope):
            _try_sizes(part, size, scope, ref, where)


def _check_look_up(part: Node, size: sympy.Expr, ref: Ref, where: str) -> None:
    if not isinstance(part, Ref):
        return  # arithmetic over look-ups: left to the prover, which has to see it in range
    below = part.tensor.shape[0] if part.tensor.domain == "permutation" else part.tensor.below
    if part.tensor.domain not in ("integer", "permutation"):
        raise IllFormed(f"{where}: {part} is no index: {part.tensor.name} holds {part.tensor.domain} numbers")
    if below != 0 and sympy.expand(below - size) != 0:
        raise IllFormed(f"{where}: {ref}: {part} runs below {below}, but the axis has size {size}")


def _plainly_inside(part: Basic, size: sympy.Expr, scope: _Scope) -> bool:
    if part not in scope.spans:
        return False
    first, last = scope.spans[part]
    return first == 0 and last == size - 1


def _try_sizes(part: Any, size: sympy.Expr, scope: _Scope, ref: Ref, where: str) -> None:
    """Refuse an index that lies outside at some small sizes."""
    ranges = _needed(part, scope)
    symbols = sorted(
        set().union(
            free_symbols(part),
            free_symbols(size),
            *(free_symbols(e) for span in ranges.values() for e in span),
        )
        - set(ranges),
        key=lambda s: s.name,
    )
    held = [_holds(condition) for condition in scope.held]
    for turn in SMALL:
        sizes = {symbol: turn[k % len(turn)] for k, symbol in enumerate(symbols)}
        for values in _values(list(ranges.items()), sizes):
            at = {**sizes, **values}
            if any(condition(at) is False for condition in held):
                continue
            found, end = _number(part, at), _number(size, at)
            if found is not None and end is not None and not 0 <= found < end:
                names = sorted(free_symbols(part) | free_symbols(size) | set(values), key=lambda s: s.name)
                seen = ", ".join(f"{s} = {at[s]}" for s in names if s in at)
                raise IllFormed(
                    f"{where}: the index {part} of {ref} is out of range: it is {found} where the axis has size {size} = {end} "
                    f"({seen})"
                )


def _needed(part: Any, scope: _Scope) -> dict[sympy.Symbol, Span]:
    """The ranges of the indices that a part depends on, outermost first; and of those that conditions compare."""
    wanted = set(free_symbols(part))
    for condition in scope.held:
        if not any(isinstance(x, Ref) for x in walk(condition)):
            wanted |= free_symbols(condition)
    kept: dict[sympy.Symbol, Span] = {}
    for symbol, ends in reversed(list(scope.spans.items())):
        if symbol in wanted:
            kept[symbol] = ends
            wanted |= free_symbols(ends[0]) | free_symbols(ends[1])
    return dict(reversed(list(kept.items())))


def _values(
    ranges: list[tuple[sympy.Symbol, Span]], sizes: Mapping[sympy.Symbol, int]
) -> Iterator[dict[sympy.Symbol, int]]:
    """Every choice of the indices in their ranges, as far as :data:`MOST`."""
    found: list[dict[sympy.Symbol, int]] = [{}]
    for symbol, (first, last) in ranges:
        wider = []
        for at in found:
            low, high = _number(first, {**sizes, **at}), _number(last, {**sizes, **at})
            if low is not None and high is not None:
                wider += [{**at, symbol: k} for k in range(low, high + 1)]
        found = wider[:MOST]
    return iter(found)


def _number(expr: Any, at: Mapping[sympy.Symbol, int]) -> int | None:
    """An index as a number, None where it holds a look-up."""
    if isinstance(expr, Node):
        return None
    value = substitute(sympy.sympify(expr), {s: sympy.Integer(v) for s, v in at.items()})
    return int(value) if value.is_Integer else None


def _holds(condition: Basic) -> Callable[[Mapping[sympy.Symbol, int]], bool | None]:
    """Whether a condition holds at given indices; None where that depends on data."""

    def at(values: Mapping[sympy.Symbol, int]) -> bool | None:
        return _truth(condition, values)

    return at


def _truth(condition: Basic, at: Mapping[sympy.Symbol, int]) -> bool | None:
    if isinstance(condition, Always):
        return True
    if isinstance(condition, Not):
        inner = _truth(condition.args[0], at)
        return None if inner is None else not inner
    if isinstance(condition, Both | Either):
        parts = [_truth(part, at) for part in condition.args]
        decisive = isinstance(condition, Either)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(condition, Compare):
        a, b = (_number(part, at) for part in condition.args[1:])
        if a is None or b is None:
            return None
        return {"<=": a <= b, "<": a < b, "==": a == b}[str(condition.args[0])]
    return None


# What is declared is used ---------------------------------------------------------------------------------------------------


def _check_use(formula: Any) -> None:
    """Refuse inputs and conventions that no line uses, and nothing that a law says of its results."""
    parts = [part for line in formula.definitions for side in (line.left, line.right) for part in walk(side)]
    if formula.law is not None:
        said = (*formula.law.outcome, *(axiom.condition for axiom in formula.law.axioms))
        parts += [part for tree in said for part in walk(tree)]
    used = {part for part in parts if isinstance(part, Tensor | sympy.Symbol)}
    used |= {
        s
        for line in formula.definitions
        for _, *ends in line.ranges
        for end in ends
        for s in free_symbols(end)
    }
    used |= {s for line in formula.definitions for size in line.left.tensor.shape for s in free_symbols(size)}
    for item in formula.inputs:
        if item not in used and not (isinstance(item, Tensor) and item.role == "generator"):
            raise IllFormed(f"{formula.id}: no line uses the input {item}")
    applied = [known(part.formula_id) for part in parts if isinstance(part, Call)]
    asked = {str(part.args[0]) for part in parts if isinstance(part, Choice)}
    for item in formula.lines:
        if isinstance(item, LineChoice):
            asked.add(item.convention)
            _check_options(formula, item.convention, set(item.options), f"{formula.id}, a choice of lines")
    asked |= {c.name for callee in applied for c in callee.conventions}
    for convention in formula.conventions:
        if convention.name not in asked:
            raise IllFormed(f"{formula.id}: no line uses the convention {convention.name}")


def _sizes(formula: Any) -> set[sympy.Symbol]:
    """The sizes of a formula: inputs that are sizes, and those in the shapes of its tensors."""
    tensors = [item for item in formula.inputs if isinstance(item, Tensor)]
    shapes = [size for t in (*tensors, *formula.outputs) for size in (*t.shape, t.below)]
    shapes += [size for line in formula.definitions for size in line.left.tensor.shape]
    found = {item for item in formula.inputs if isinstance(item, sympy.Symbol)}
    return found.union(*(free_symbols(size) for size in shapes))


__all__ = ["AnyOf", "IllFormed", "check_calls", "check_formula"]

"""Giving every sum inside an expression a name, so that only elementwise expressions are left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy

from spec.language.arrays import DISCRETE, Tensor
from spec.language.binders import Bound, SumOf
from spec.language.expr import TRUE, Both, Case, Func, Literal, Minus, Node, Ref, lift
from spec.language.flatten import Flat
from spec.language.lengths import longest
from spec.language.lines import Definition, Span
from spec.language.ordering import arrange
from spec.language.trees import free_symbols, refs, substitute, walk


def name_sums(flat: Flat) -> tuple[Definition, ...]:
    """The lines of a formula with every sum inside an expression moved to a line of its own."""
    binder = _SumNamer({line.name for line in flat.lines} | {str(item) for item in flat.inputs})
    for line in flat.lines:
        binder.add(line)
    return tuple(line for group in arrange(binder.lines) for line in group.lines)


def name_rests(lines: Sequence[Definition]) -> tuple[tuple[Definition, ...], dict[Func, Node]]:
    """The lines with 1 − z, for a gate z = σ(a) that a line defines, as a line of its own; and every such rest by its σ(a).

    An implementation may form it as σ(−a). Then it differentiates z and its rest each by itself, and rounds otherwise in each.
    """
    by_name: dict[str, list[Definition]] = {}
    for line in lines:
        by_name.setdefault(line.name, []).append(line)
    gates = {name for name, own in by_name.items() if all(_is_share(line.right) for line in own)}
    changes, rests = dict[Node, Node](), dict[str, Tensor]()
    for node in _from_one(lines):
        (_, gate) = node.args
        if isinstance(gate, Ref) and gate.tensor.name in gates:
            name, shape = gate.tensor.name, gate.tensor.shape
            rests[name] = Tensor(f"{name}_rest", shape, "real", "internal")
            changes[node] = Ref(rests[name], *gate.index)
    made: list[Definition] = []
    for line in lines:
        made.append(replace(line, right=substitute(line.right, changes)))
        if line.name in rests:
            left = Ref(rests[line.name], *line.left.index)
            made.append(Definition(left, Minus(lift(1), line.right), line.ranges, line.accumulate))
    ordered = tuple(line for group in arrange(made) for line in group.lines) if rests else tuple(lines)
    return ordered, {node.args[1]: node for node in _from_one(ordered) if _is_share(node.args[1])}


def _from_one(lines: Iterable[Definition]) -> Iterator[Any]:
    """Every difference 1 − x."""
    for line in lines:
        for node in walk(line.right):
            if isinstance(node, Minus) and node.args[0] == lift(1):
                yield node


def _is_share(node: Any) -> bool:
    return isinstance(node, Func) and node.name == "sigmoid"


class _SumNamer:
    def __init__(self, names: set[str]) -> None:
        self.names, self.lines = names, list[Definition]()

    def add(self, line: Definition) -> None:
        right = line.right
        if isinstance(right, SumOf):
            inner = {**line.spans, right.var: (right.first, right.last)}
            right = SumOf(self.named(right.body, inner, TRUE), *right.args[1:])
        elif line.left.tensor.domain not in DISCRETE:
            right = self.named(right, line.spans, TRUE)
        self.lines.append(Definition(line.left, right, line.ranges, line.accumulate))

    def named(self, node: Any, scope: Mapping[sympy.Symbol, Span], guard: Node) -> Any:
        if isinstance(node, SumOf):
            return self.name(node, scope, guard)
        if isinstance(node, Case):
            condition, then, otherwise = node.args
            inside = condition if guard == TRUE else Both(guard, condition)
            return Case(condition, self.named(then, scope, inside), self.named(otherwise, scope, guard))
        if isinstance(node, Bound) or not node.args or isinstance(node, Ref | Literal):
            return node
        return node.func(*(self.named(child, scope, guard) for child in node.args))

    def name(self, node: SumOf, scope: Mapping[sympy.Symbol, Span], guard: Node) -> Ref:
        inner = {**scope, node.var: (node.first, node.last)}
        where = node.where
        if any(not isinstance(part, sympy.Symbol) for ref in refs(node) for part in ref.index):
            where = where if guard == TRUE else guard if where == TRUE else Both(guard, where)
        body = self.named(node.body, inner, TRUE)
        total = SumOf(body, node.var, node.first, node.last, where)
        asked = set(free_symbols(total))
        for symbol in reversed(list(scope)):  # an inner range may be bounded by outer indices
            if symbol in asked:
                asked |= {s for end in scope[symbol] for s in free_symbols(sympy.sympify(end))}
        free = [symbol for symbol in scope if symbol in asked]
        count = 1
        while f"sum_{count}" in self.names:
            count += 1
        self.names.add(f"sum_{count}")
        shape = tuple(longest(sympy.Integer(0), scope[s][1], scope) for s in free)
        target = Tensor(f"sum_{count}", shape, "real", "internal")
        left = Ref(target, *free)
        self.lines.append(Definition(left, total, tuple((s, *scope[s]) for s in free), part=True))
        return left

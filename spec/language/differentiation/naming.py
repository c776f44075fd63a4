"""Giving every sum inside an expression a name, so that only elementwise expressions are left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from spec.language.arrays import DISCRETE, Tensor
from spec.language.expr import TRUE, Both, Bound, Case, Literal, Node, Ref, SumOf
from spec.language.flatten import Flat
from spec.language.lines import Definition, Span
from spec.language.ordering import arrange
from spec.language.trees import free_symbols, refs


def name_sums(flat: Flat) -> tuple[Definition, ...]:
    """The lines of a formula with every sum inside an expression moved to a line of its own."""
    binder = _SumNamer({line.name for line in flat.lines} | {str(item) for item in flat.inputs})
    for line in flat.lines:
        binder.add(line)
    return tuple(line for group in arrange(binder.lines) for line in group.lines)


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
        free = [symbol for symbol in scope if symbol in free_symbols(total)]
        count = 1
        while f"sum_{count}" in self.names:
            count += 1
        self.names.add(f"sum_{count}")
        target = Tensor(f"sum_{count}", tuple(scope[s][1] + 1 for s in free), "real", "internal")
        left = Ref(target, *free)
        self.lines.append(Definition(left, total, tuple((s, *scope[s]) for s in free)))
        return left

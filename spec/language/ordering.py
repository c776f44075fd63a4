"""In which order lines are evaluated: tensors after those they depend on, recurrences step by step.

Lines that refer to one another are a *recurrence*. It can be evaluated when there is an index, or a few in lexicographic order,
along which every line reads only what comes before: ``h[t]`` from ``h[t-1]``, the state of a layer from the same layer one step
earlier and from the layer below at the same step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.basic import Basic

from spec.language.expr import Bound, Node, Ref, Tensor, free_symbols
from spec.language.formula import Definition, Span, dependencies

Axis = tuple[str, int]
"""An axis of a tensor: its name, and which."""


@dataclass(frozen=True)
class Step:
    """An index that a recurrence steps through: which axis of each tensor it is, and whether it ascends."""

    axes: Mapping[str, int]
    ascends: bool

    def of(self, line: Definition) -> sympy.Expr:
        """Where a line writes along this index: an expression of one of its own indices, or of none."""
        return line.left.index[self.axes[line.name]]


@dataclass(frozen=True)
class Group:
    """Lines evaluated together: one tensor's lines, or a recurrence with the indices it steps through, outermost first."""

    lines: tuple[Definition, ...]
    steps: tuple[Step, ...] = ()


def arrange(lines: Iterable[Definition]) -> tuple[Group, ...]:
    """Group lines by tensor, mutual recurrences together, so that each group follows those it depends on."""
    lines = tuple(lines)
    graph = dependencies(lines)
    reach = {name: _reachable(name, graph) for name in graph}
    groups: list[Group] = []
    done: set[str] = set()
    remaining = list(graph)
    while remaining:
        for name in remaining:
            cycle = {other for other in graph if other in reach[name] and name in reach[other]} | {name}
            needs = set().union(*(graph[member] & graph.keys() for member in cycle)) - cycle
            if needs <= done:
                break
        else:
            raise ValueError(f"lines {remaining} cannot be put in an order")
        members = tuple(line for line in lines if line.name in cycle)
        groups.append(_Recurrence(members, cycle).group() if name in reach[name] else Group(members))
        done |= cycle
        remaining = [other for other in remaining if other not in cycle]
    return tuple(groups)


def _reachable(name: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    frontier = [name]
    while frontier:
        for other in graph.get(frontier.pop(), ()):
            if other not in found:
                found.add(other)
                frontier.append(other)
    return found


@dataclass(frozen=True)
class _Read:
    """A line reads an entry of its own group; ``spans`` ranges the indices around, innermost last."""

    line: Definition
    ref: Ref
    spans: tuple[tuple[sympy.Symbol, Span], ...]


class _Recurrence:
    """Finds the indices that a group of lines steps through."""

    def __init__(self, lines: tuple[Definition, ...], cycle: set[str]) -> None:
        self.lines, self.cycle = lines, cycle
        self.reads = [
            _Read(line, ref, spans)
            for line in lines
            for ref, spans in _refs(line.right, tuple(line.spans.items()))
            if ref.tensor.name in cycle
        ]

    def group(self) -> Group:
        """The lines in the order of one step, and the steps.

        Raises:
            ValueError: lines that refer to each other without an index along which each reads what comes before.
        """
        steps: list[Step] = []
        left = self.reads
        candidates = [Step(axes, ascends) for axes in self.classes() for ascends in (True, False)]
        while _cyclic(left):
            for step in candidates:
                signs = [_order(read, step) for read in left]
                if None not in signs and any(signs):
                    steps.append(step)
                    left = [read for read, before in zip(left, signs, strict=True) if not before]
                    break
            else:
                names = ", ".join(sorted(self.cycle))
                raise ValueError(f"the lines {names} refer to each other without stepping through an index")
        return Group(_sorted(self.lines, left), tuple(steps))

    def classes(self) -> Iterator[Mapping[str, int]]:
        """Axes of the group's tensors that run together: one of each tensor, written and read at the same index."""
        parent: dict[Axis, Axis] = {}

        def root(axis: Axis) -> Axis:
            parent.setdefault(axis, axis)
            while parent[axis] != axis:
                axis = parent[axis]
            return axis

        for line in self.lines:
            for place in range(len(line.left.index)):
                root((line.name, place))
        for read in self.reads:
            for there, part in enumerate(read.ref.index):
                for here, own in enumerate(read.line.left.index):
                    if not isinstance(part, Node) and (free_symbols(part) & free_symbols(own)) & set(
                        read.line.spans
                    ):
                        parent[root((read.ref.tensor.name, there))] = root((read.line.name, here))
        members: dict[Axis, list[Axis]] = {}
        for axis in parent:
            members.setdefault(root(axis), []).append(axis)
        for axes in members.values():
            if len(axes) == len(self.cycle) == len(dict(axes)):
                yield dict(axes)


def _refs(
    node: Basic, spans: tuple[tuple[sympy.Symbol, Span], ...]
) -> Iterator[tuple[Ref, tuple[tuple[sympy.Symbol, Span], ...]]]:
    """Every reference inside a tree, with the ranges of the indices around it."""
    if isinstance(node, Bound):
        spans = (*spans, (node.var, (node.first, node.last)))
    if isinstance(node, Ref):
        yield node, spans
    if not isinstance(node, Tensor):
        for child in node.args:
            yield from _refs(child, spans)


def _order(read: _Read, step: Step) -> bool | None:
    """Whether what is read comes before what is written (True), or at the same step at the latest (False); None if unknown."""
    there = read.ref.index[step.axes[read.ref.tensor.name]]
    if isinstance(there, Node):
        return None
    ahead: Any = there - step.of(read.line) if step.ascends else step.of(read.line) - there
    for symbol, (first, last) in reversed(read.spans):
        if symbol in free_symbols(ahead):
            slope = sympy.diff(ahead, symbol)
            if not slope.is_Integer:
                return None
            ahead = sympy.expand(ahead + slope * ((last if slope > 0 else first) - symbol))
    return True if ahead.is_negative else False if ahead.is_nonpositive else None


def _cyclic(reads: list[_Read]) -> bool:
    """Whether tensors refer to each other within one step."""
    graph: dict[str, set[str]] = {}
    for read in reads:
        graph.setdefault(read.line.name, set()).add(read.ref.tensor.name)
    return any(name in _reachable(name, graph) for name in graph)


def _sorted(lines: tuple[Definition, ...], reads: list[_Read]) -> tuple[Definition, ...]:
    """The lines of a recurrence in the order in which one step evaluates them."""
    needs = {line.name: {r.ref.tensor.name for r in reads if r.line.name == line.name} for line in lines}
    ordered: list[Definition] = []
    waiting = list(lines)
    while waiting:
        names = {line.name for line in waiting}
        ready = [line for line in waiting if not needs[line.name] & names]
        ordered += ready
        waiting = [line for line in waiting if line not in ready]
    return tuple(ordered)

"""In which order lines are evaluated: tensors after those they depend on, recurrences step by step.

Lines that refer to one another are a *recurrence*. It can be evaluated when there is an index, or a few in lexicographic order,
along which every line reads only what comes before: ``h[t]`` from ``h[t-1]``, the state of a layer from the same layer one step
earlier and from the layer below at the same step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.utilities.iterables import strongly_connected_components

from spec.language.arrays import Tensor
from spec.language.binders import Bound
from spec.language.expr import Node, Ref
from spec.language.lines import Definition, Span, dependencies
from spec.language.trees import free_symbols

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
    """Lines evaluated together: one tensor's lines; or a recurrence, whose ``body`` is evaluated at each value of its step."""

    lines: tuple[Definition, ...]
    step: Step | None = None
    body: tuple[Group, ...] = ()


def arrange(lines: Iterable[Definition]) -> tuple[Group, ...]:
    """Group lines by tensor, mutual recurrences together, so that each group follows those it depends on."""
    lines = tuple(lines)
    return _arrange_groups(lines, dependencies(lines), None)


def _arrange_groups(
    lines: tuple[Definition, ...], graph: Mapping[str, set[str]], reads: list[_Read] | None
) -> tuple[Group, ...]:
    """The groups of some lines; ``reads`` is what lines of a recurrence read of it at the same step, if they are some."""
    place = {name: number for number, name in enumerate(graph)}
    edges = [(name, other) for name, used in graph.items() for other in used if other in place]
    # Names that depend on each other, together; any other alone.
    found = strongly_connected_components((list(graph), edges))
    cycles = {min(map(place.__getitem__, cycle)): set(cycle) for cycle in found}
    cycle_of = {name: first for first, cycle in cycles.items() for name in cycle}
    needs: dict[int, set[int]] = {first: set() for first in cycles}
    needed_by: dict[int, set[int]] = {first: set() for first in cycles}
    for name, other in edges:
        if cycle_of[name] != cycle_of[other]:
            needs[cycle_of[name]].add(cycle_of[other])
            needed_by[cycle_of[other]].add(cycle_of[name])
    of: dict[str, list[Definition]] = {name: [] for name in graph}
    for line in lines:
        of[line.name].append(line)
    ready = [first for first in sorted(cycles) if not needs[first]]
    groups: list[Group] = []
    while ready:  # whatever depends on nothing that is left, in the order in which lines stand
        first = heappop(ready)
        cycle = cycles[first]
        names = sorted(cycle, key=place.__getitem__)
        if len(cycle) > 1 or names[0] in graph[names[0]]:
            members = tuple(line for line in lines if line.name in cycle)
            groups.append(_recurrence(members, cycle, reads))
        else:
            groups.append(Group(tuple(of[names[0]])))
        for after in needed_by[first]:
            needs[after].discard(first)
            if not needs[after]:
                heappush(ready, after)
    return tuple(groups)


@dataclass(frozen=True)
class _Read:
    """A line reads an entry of its own group; ``spans`` ranges the indices around, innermost last."""

    line: Definition
    ref: Ref
    spans: tuple[tuple[sympy.Symbol, Span], ...]


def _recurrence(lines: tuple[Definition, ...], cycle: set[str], reads: list[_Read] | None) -> Group:
    """The group of lines that refer to each other: the index they step through, and what one step evaluates.

    Raises:
        ValueError: lines that refer to each other without an index along which each reads what comes before.
    """
    if reads is None:
        reads = [
            _Read(line, ref, spans)
            for line in lines
            for ref, spans in _refs(line.right, tuple(line.spans.items()))
        ]
    reads = [read for read in reads if {read.line.name, read.ref.tensor.name} <= cycle]
    for step in _steps(lines, cycle, reads):
        earlier = [_order(read, step) for read in reads]
        if None not in earlier and any(earlier):
            left = [read for read, before in zip(reads, earlier, strict=True) if not before]
            graph: dict[str, set[str]] = {line.name: set() for line in lines}
            for read in left:
                graph[read.line.name].add(read.ref.tensor.name)
            return Group(lines, step, _arrange_groups(lines, graph, left))
    names = ", ".join(sorted(cycle))
    raise ValueError(f"the lines {names} refer to each other without stepping through an index")


def _steps(lines: tuple[Definition, ...], cycle: set[str], reads: list[_Read]) -> Iterator[Step]:
    """Axes of the tensors that run together, one of each tensor, written and read at the same index; in either direction."""
    parent: dict[Axis, Axis] = {}

    def root(axis: Axis) -> Axis:
        parent.setdefault(axis, axis)
        while parent[axis] != axis:
            axis = parent[axis]
        return axis

    for line in lines:
        for place in range(len(line.left.index)):
            root((line.name, place))
    for read in reads:
        for there, part in enumerate(read.ref.index):
            for here, own in enumerate(read.line.left.index):
                shared = set() if isinstance(part, Node) else free_symbols(part) & free_symbols(own)
                if shared & set(read.line.spans):
                    parent[root((read.ref.tensor.name, there))] = root((read.line.name, here))
    members: dict[Axis, list[Axis]] = {}
    for axis in parent:
        members.setdefault(root(axis), []).append(axis)
    for axes in members.values():
        if len(axes) == len(cycle) == len(dict(axes)):
            yield Step(dict(axes), ascends=True)
            yield Step(dict(axes), ascends=False)


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

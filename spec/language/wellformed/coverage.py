"""What lines define: every entry of a tensor once, from inputs and from entries that are defined before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import sympy

from spec.language.arrays import Tensor
from spec.language.expr import Ref
from spec.language.lines import Definition, LineChoice
from spec.language.trees import free_symbols, walk
from spec.language.wellformed.letters import IllFormed
from spec.language.wellformed.ranges import SMALL, Scope, Values, number_at, parts, truth_at, values_of

Place = tuple[str, tuple[int, ...]]
"""An entry of a tensor: its name, and its index in numbers."""


def check_coverage(formula: Any, sizes: set[sympy.Symbol]) -> None:
    """Refuse entries that no line defines or that several do, a tensor that nothing reads, and lines that turn in a circle.

    Raises:
        IllFormed: naming formula and line, and sizes at which an entry shows it.
    """
    for group in _chosen(formula):
        for turn in SMALL:
            at = {size: turn[k % len(turn)] for k, size in enumerate(sorted(sizes, key=str))}
            missing = {}
            for name in dict.fromkeys(line.name for line in group):
                lines = [line for line in group if line.name == name]
                places = _missing(formula, lines, at)
                if places:
                    missing[lines[0].left.tensor] = places
            if not formula.auxiliary:  # entries that no line defines are 0, which a page would have to say
                _check_missing(formula, group, missing, at)
        _check_order(formula, group, sizes)
    read = {part for line in formula.definitions for part in walk(line.right) if isinstance(part, Tensor)}
    for line in formula.definitions:
        if line.left.tensor not in read | {*formula.outputs} and formula.law is None:
            raise IllFormed(f"{formula.id}, line {line.left}: nothing reads {line.name}, and it is no output")


def _chosen(formula: Any) -> Iterator[tuple[Definition, ...]]:
    """The lines under each choice of the conventions that pick lines."""
    options: dict[str, list[str]] = {}
    for item in formula.lines:
        if isinstance(item, LineChoice):
            options[item.convention] = list(item.options)
    for picked in product(*options.values()):
        choice = dict(zip(options, picked, strict=True))
        yield tuple(
            line
            for item in formula.lines
            for line in (item.options[choice[item.convention]] if isinstance(item, LineChoice) else (item,))
        )


def _missing(formula: Any, lines: list[Definition], sizes: Values) -> list[Place]:
    """The entries of a tensor that none of its lines defines; one that several define is refused."""
    if any(line.accumulate for line in lines):
        return []
    tensor, found = lines[0].left.tensor, Counter[Any]()
    for line in lines:
        for values in values_of(line.spans.items(), sizes):
            found[tuple(number_at(part, {**sizes, **values}) for part in line.left.index)] += 1
    if any(None in at for at in found):
        return []  # a line for the entries that a look-up names
    for at, count in found.items():
        if count > 1:
            said = "more than one line defines" if len(lines) > 1 else "the line defines more than once"
            entry = f"{_said((tensor.name, at))}{_at(sizes)}"
            raise IllFormed(f"{formula.id}, line {lines[-1].left}: {said} {entry}")
    every = product(*(range(number_at(size, sizes) or 0) for size in tensor.shape))
    return [(tensor.name, at) for at in every if not found[at]]


def _check_missing(
    formula: Any, group: tuple[Definition, ...], missing: dict[Tensor, list[Place]], sizes: Values
) -> None:
    """Refuse entries that no line defines where they are returned or read."""
    for tensor, places in missing.items():
        if tensor in formula.outputs:
            raise IllFormed(
                f"{formula.id}: no line defines {_said(places[0])}{_at(sizes)} of the output {tensor}"
            )
        for line in group:
            for _, read in _reads(line, {tensor.name}, sizes):
                if read in places:
                    raise IllFormed(
                        f"{formula.id}, line {line.left}: it reads {_said(read)}{_at(sizes)}, which no line defines"
                    )


def _said(place: Place) -> str:
    name, index = place
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _at(sizes: Values) -> str:
    return f" ({', '.join(f'{size} = {value}' for size, value in sizes.items())})" if sizes else ""


# Circles --------------------------------------------------------------------------------------------------------------------


def _check_order(formula: Any, lines: tuple[Definition, ...], sizes: set[sympy.Symbol]) -> None:
    """Refuse an entry that depends on itself."""
    defined = {line.name for line in lines}
    graph: dict[Any, set[Any]] = {name: set() for name in defined}
    for line in lines:
        graph[line.name] |= {part.name for part in walk(line.right) if isinstance(part, Tensor)} & defined
    turning = {name for name in defined if name in _reached(graph, graph[name])}
    if not turning:
        return
    among = tuple(line for line in lines if line.name in turning)
    for turn in SMALL[1:]:
        at = {size: turn[k % len(turn)] for k, size in enumerate(sorted(sizes, key=str))}
        places: dict[Any, set[Any]] = {}
        for line in among:
            for place, read in _reads(line, turning, at):
                places.setdefault(place, set()).add(read)
        circle = _circle(places)
        if circle:
            said = " → ".join(map(_said, circle))
            line = next(line for line in among if line.name == circle[0][0])
            raise IllFormed(f"{formula.id}, line {line.left}: the lines turn in a circle: {said}")


def _reads(line: Definition, names: set[str], sizes: Values) -> Iterator[tuple[Place, Place]]:
    """Which entries a line reads of some tensors for which entry it defines, at given sizes."""
    whole: set[Tensor] = set()
    within: set[Tensor] = set()
    for part, scope in parts(line.right, Scope(line.spans)):
        if isinstance(part, Tensor) and part.name in names:
            whole.add(part)
        if isinstance(part, Ref) and part.tensor.name in names:
            within.add(part.tensor)
            wanted = {s for one in (*part.index, *scope.held) for s in free_symbols(one)}
            ends = {s for _, span in scope.spans.items() for end in span for s in free_symbols(end)}
            ranges = {s: span for s, span in scope.spans.items() if s in wanted | ends or s in line.spans}
            for values in values_of(ranges.items(), sizes):
                at = {**sizes, **values}
                read = tuple(number_at(one, at) for one in part.index)
                if None not in read and not any(truth_at(held, at) is False for held in scope.held):
                    yield _place(line, at), (part.tensor.name, read)  # type: ignore[misc]
    for tensor in whole - within:  # read as a whole, by an application
        for values in values_of(line.spans.items(), sizes):
            for read in product(*(range(number_at(size, sizes) or 0) for size in tensor.shape)):
                yield _place(line, {**sizes, **values}), (tensor.name, read)


def _place(line: Definition, at: Values) -> Place:
    return line.name, tuple(number_at(part, at) or 0 for part in line.left.index)


def _reached(graph: dict[Any, set[Any]], start: Iterable[Any]) -> set[Any]:
    found, frontier = set(start), list(start)
    while frontier:
        more = graph.get(frontier.pop(), set()) - found
        found |= more
        frontier += more
    return found


def _circle(graph: dict[Any, set[Any]]) -> list[Any]:
    """The way from a place back to itself, where there is one."""
    done: set[Any] = set()
    for start in sorted(graph):
        way, branches = [start], [iter(sorted(graph[start]))]
        while branches and start not in done:
            step = next(branches[-1], None)
            if step is None:
                branches.pop()
                done.add(way.pop())
            elif step in way:
                return [*way[way.index(step) :], step]
            elif step not in done and step in graph:
                way.append(step)
                branches.append(iter(sorted(graph[step])))
    return []

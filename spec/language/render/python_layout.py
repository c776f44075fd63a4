"""Lines of code: assignments and loops, broken where they are too long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from spec.language.calls import Call
from spec.language.known import get_formula

WIDTH = 100
"""No line is longer."""


@dataclass
class Assignment:
    """An assignment; ``call``: the formula whose outcome it is, as it stands."""

    target: str
    value: str
    call: Call | None = None
    sign: str = "="


@dataclass
class Loop:
    """A loop around other lines."""

    head: str
    body: list[Assignment | Loop] = field(default_factory=list)


def indented(lines: Iterable[str]) -> list[str]:
    """The lines inside of a function."""
    return [f"    {line}" for line in lines]


def write_parts(parts: Iterable[Assignment | Loop], indent: int) -> Iterator[str]:
    """Assignments and loops as text; what several outputs of one formula are assigned to, together."""
    for _, group in groupby(parts, _tell_apart):
        for part in _join([*group]):
            if isinstance(part, Loop):
                yield from fit(part.head, indent)
                yield from write_parts(part.body, indent + 4)
            else:
                yield from fit(f"{part.target} {part.sign} {part.value}", indent)


def _tell_apart(part: Assignment | Loop) -> Any:
    """The formula applied and what it is given, where its outcome is assigned as it stands; anything else is by itself."""
    return id(part) if isinstance(part, Loop) or part.call is None else part.call.args[::2]


def _join(parts: Sequence[Assignment | Loop]) -> Sequence[Assignment | Loop]:
    """One assignment of several outputs of one application."""
    targets = {part.call.output: part.target for part in parts if isinstance(part, Assignment) and part.call}
    first = parts[0]
    if len(targets) < 2 or isinstance(first, Loop) or first.call is None:
        return parts
    names = [output.name for output in get_formula(first.call.formula_id).outputs]
    every = first.value.rpartition("[")[0]  # the place of one of them left out
    return [Assignment(", ".join(targets.get(name, "_") for name in names), every)]


def fit(line: str, indent: int) -> list[str]:
    """A line of code as lines that are not too long, broken inside of brackets."""
    groups = list(_groups(line))
    if indent + len(line) <= WIDTH or not groups:
        return [" " * indent + line]
    target, equals, value = line.partition(" = ")
    start, end = max(groups, key=lambda group: group[1] - group[0])
    apart = len(_split(value)) > 1 and not (end == len(line) - 1 and 2 * (end - start) > len(value))
    if equals and "(" not in target and (apart or " else " in _outside(value)):  # brackets of its own
        head, inside, tail = f"{target} = (", value, ")"
    else:
        while [*_groups(line[start + 1 : end])] == [(0, end - start - 2)]:  # brackets that open together
            start, end = start + 1, end - 1
        head, inside, tail = line[: start + 1], line[start + 1 : end], line[end:]
    out, waiting = [" " * indent + head], ""
    for piece in [inside] if indent + 4 + len(inside) <= WIDTH else _split(inside):
        joined = f"{waiting} {piece}" if waiting else piece
        if waiting and (len(joined) + indent + 4 > WIDTH or not waiting.endswith(",")):
            out += fit(waiting, indent + 4)
            joined = piece
        waiting = joined
    return [*out, *fit(waiting, indent + 4), " " * indent + tail]


def _depths(text: str) -> Iterator[tuple[int, str, int]]:
    """Each character with how many brackets are open around it."""
    depth = 0
    for place, letter in enumerate(text):
        depth -= letter in ")]"
        yield place, letter, depth
        depth += letter in "(["


def _outside(text: str) -> str:
    """What is outside of brackets."""
    return "".join(letter for _, letter, depth in _depths(text) if depth == 0)


def _groups(text: str) -> Iterator[tuple[int, int]]:
    """The outermost brackets: where they open, and where they close."""
    start = 0
    for place, letter, depth in _depths(text):
        if depth == 0 and letter in "([":
            start = place
        if depth == 0 and letter in ")]":
            yield start, place


def _split(text: str) -> list[str]:
    """A text in pieces, at what binds most weakly outside of brackets."""
    outside = {place for place, _, depth in _depths(text) if depth == 0}
    for words in (r", ", r" (?=for |if |else )", r" (?=or )", r" (?=and )", r" (?=[+-] )", r" (?=[*/] )"):
        cuts = [m for m in re.finditer(words, text) if m.start() in outside]
        if cuts:
            ends = [m.end() for m in cuts]
            return [text[a:b].strip() for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [text]

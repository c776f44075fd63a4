"""Parts of a line, each with how the line is put together with something else in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy
from sympy.core.basic import Basic
from sympy.core.symbol import Str

from spec.language.binders import Bound
from spec.language.expr import Func, Leaf, Literal, Over, Power, Ref, Times
from spec.language.flatten import Flat
from spec.language.lines import Definition
from spec.language.trees import free_symbols, refs

Written = Iterator[tuple[str, Any]]
"""A sentence, and what stands instead of a part."""


@dataclass(frozen=True)
class Spot:
    """A part of a line, what it is a divisor of, and how the right side is put together with something else in its place."""

    flat: Flat
    line: Definition
    part: Any
    divisor: bool
    rebuilt: Callable[[Any], Any]

    @property
    def whole(self) -> bool:
        """Whether the part is the whole right side."""
        return self.part is self.line.right

    @property
    def deed(self) -> str:
        """What a factor of the part does to the line."""
        return "divided" if self.divisor else "multiplied"

    def __str__(self) -> str:
        return plain(self.part)


def plain(part: Any) -> str:
    """A part as text, without brackets around it."""
    said = str(part)
    return said if len(said) <= 60 else said[:60] + " …"


def spots(flat: Flat, line: Definition) -> Iterator[Spot]:
    """Every part of a line, outermost first."""

    def below(part: Basic, divisor: bool, rebuilt: Callable[[Any], Any]) -> Iterator[Spot]:
        yield Spot(flat, line, part, divisor, rebuilt)
        if isinstance(part, Leaf | Str | Ref | Literal | sympy.Symbol) or not part.args:
            return
        for place, child in enumerate(part.args):
            if isinstance(part, Bound) and 0 < place < 4:
                continue
            if not isinstance(child, Basic) or isinstance(child, Str):
                continue

            def inside(new: Any, part: Basic = part, place: int = place) -> Any:
                return rebuilt(part.func(*part.args[:place], new, *part.args[place + 1 :]))

            yield from below(child, isinstance(part, Over) and place == 1, inside)

    yield from below(line.right, False, lambda new: new)


def rewrite_lines(flat: Flat, rights: Mapping[Definition, Any]) -> Flat:
    """A statement with other right sides in some lines."""
    lines = tuple(replace(line, right=rights[line]) if line in rights else line for line in flat.lines)
    return replace(flat, lines=lines)


def depends_on_sizes_alone(node: Any) -> bool:
    """Whether a part depends on sizes alone."""
    return (
        isinstance(node, Literal | Func | Power | Times | Over)
        and not any(refs(node))
        and not ({s for s in free_symbols(node) if not s.is_positive})
    )


__all__ = ["Spot", "Written", "depends_on_sizes_alone", "rewrite_lines", "spots"]

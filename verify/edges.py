"""Conventions of a check, whatever the formula: what a callable does at the edge of its contract.

Each has an option that is ours and one that is common elsewhere. Ours is judged; the other is accepted; where nothing is chosen,
what a callable does is reported among its properties and is no part of the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verify.faults import Unusable

AUTO = "auto"
"""Instead of conventions: find them."""
OTHERS = "*"
"""As a convention's name: all that are not named, of which ``auto`` alone can be said."""

UNREAD, GENERATOR, ARITHMETIC, SHAPES = "unread", "generator", "arithmetic", "shapes"

EDGES: dict[str, dict[str, str]] = {
    UNREAD: {
        "isolated": "NaN or infinity in a slot that the statement does not read does not reach the output",
        "ignored": "what stands in a slot that the statement does not read is finite",
    },
    GENERATOR: {
        "untouched": "a function that needs no random numbers leaves the global generators alone",
        "used": "it may draw from them, as building a module does",
    },
    ARITHMETIC: {
        "given": "results are as precise as the type of the inputs allows",
        "float32": "it may compute in float32 whatever it is given, and is judged in float32",
    },
    SHAPES: {
        "every": "every size and every number of leading dimensions is supported",
        "some": "where it raises an error it is not judged, if that follows a rule",
    },
}
"""Conventions by name: the sentence of each option, ours first."""

STRICT = {name: next(iter(options)) for name, options in EDGES.items()}
"""Ours: everything is judged."""


def split_conventions(conventions: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The conventions of the check, and the others, which are the formula's.

    Raises:
        Unusable: an option that a convention does not have.
    """
    edges = {name: option for name, option in conventions.items() if name in EDGES}
    for name, option in edges.items():
        if option not in EDGES[name]:
            raise Unusable(f"convention {name} is one of {', '.join(EDGES[name])}; {option!r} was given")
    return edges, {name: option for name, option in conventions.items() if name not in EDGES}


def split_auto(conventions: Any) -> tuple[Any, bool]:
    """The conventions that are named, and whether the others are to be found.

    Raises:
        Unusable: another word than ``auto`` instead of them, or of the others.
    """
    if isinstance(conventions, str):
        if conventions != AUTO:
            raise Unusable(f"conventions map names to options, or are {AUTO!r}; got {conventions!r}")
        return None, True
    if not isinstance(conventions, Mapping) or OTHERS not in conventions:
        return conventions, False
    if conventions[OTHERS] != AUTO:
        raise Unusable(
            f"conventions that are not named can be {AUTO!r} only; got {{{OTHERS!r}: {conventions[OTHERS]!r}}}"
        )
    return {name: option for name, option in conventions.items() if name != OTHERS}, True


__all__ = [
    "ARITHMETIC",
    "AUTO",
    "EDGES",
    "GENERATOR",
    "OTHERS",
    "SHAPES",
    "STRICT",
    "UNREAD",
    "split_conventions",
    "split_auto",
]

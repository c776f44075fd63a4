"""Examples that are kept once drawn: the next type, and the next implementation of a formula, asks for the same ones.

An example follows from the formula, from what is supported, and from a few numbers, so it is the same whoever asks for it. Its
arrays are closed to writing: whoever writes to one would change what others are given. Large ones are drawn anew each time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verify.inputs.examples import Example

ROOM = 32 << 20
"""Bytes that may be kept. Once they are taken, what is kept stays: all are asked for in turn, and what was asked for longest ago
is what the next implementation asks for first."""
LARGEST = 2 << 20
"""Bytes of an example that is kept: a few larger ones would fill the room."""


class Hashed:
    """A key of whose parts the hash is found once: that of a formula takes long."""

    __slots__ = ("hashed", "parts")

    def __init__(self, parts: tuple[Hashable, ...]) -> None:
        self.parts, self.hashed = parts, hash(parts)

    def __hash__(self) -> int:
        return self.hashed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashed) and self.parts == other.parts


class KeptExamples:
    """Examples by what determines them, in so many bytes."""

    def __init__(self, room: int = ROOM) -> None:
        self.room, self.taken = room, 0
        self.found: dict[Hashable, Example] = {}
        self.turn: Hashable = None

    def get(self, key: Hashable, draw: Callable[[], Example]) -> Example:
        """The example of this key: one that is kept, else what ``draw`` makes."""
        known = self.found.get(key)
        if known is not None:
            return _again(known)
        made = draw()
        size = 0
        for name, value in made.inputs.items():
            if isinstance(value, np.ndarray):
                own = value if value.flags.owndata else value.copy()
                own.flags.writeable = False
                made.inputs[name], size = own, size + own.nbytes
        if size > LARGEST or self.taken + size > self.room:
            return made
        self.found[key], self.taken = made, self.taken + size
        return _again(made)

    def turn_to(self, *turn: Hashable) -> None:
        """Another formula, or another seed, is turned to: what was drawn for the former is forgotten."""
        if turn != self.turn:
            self.forget()
            self.turn = turn

    def forget(self) -> None:
        """Keep none: those of another formula are asked for."""
        self.found.clear()
        self.taken = 0


def _again(example: Example) -> Example:
    """The same for somebody else, who may put other inputs, or more, into theirs."""
    return replace(
        example,
        inputs=dict(example.inputs),
        sizes=dict(example.sizes),
        cotangents=dict(example.cotangents),
    )


KEPT = KeptExamples()
"""What this process keeps."""


__all__ = ["KEPT", "Hashed", "KeptExamples"]

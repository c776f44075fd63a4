"""Memory in which a process that is branched off leaves what it found for the one it comes from.

It needs no descriptor, which user code may close or use up, and nobody waits for anybody to read.
"""

from __future__ import annotations

import mmap
import pickle
import struct
from typing import Any

ROOM = 160 << 20
"""Bytes for all that is left, where nothing else is said; only what is written to takes memory."""
MOST = 4096
"""How many things may be left."""
_COUNT, _ENTRY = struct.Struct("q"), struct.Struct("qqq")
_FIRST = _COUNT.size + MOST * _ENTRY.size


class Board:
    """The memory, with room for so many bytes; to be made before the other process is.

    Raises:
        OSError: there is no room for it.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._memory = mmap.mmap(-1, _FIRST + room)
        self._free, self._left, self._read = _FIRST, 0, 0

    def leave(self, place: int, what: Any) -> None:
        """Leave something under a place; None where there is no room for it.

        Raises:
            IndexError: too much was left.
            Exception: it cannot be pickled.
        """
        written = pickle.dumps(what)
        if len(written) > len(self._memory) - self._free:
            written = pickle.dumps(None)
        last = self._free + len(written)
        if self._left >= MOST or last > len(self._memory):
            raise IndexError("no room is left")
        self._memory[self._free : last] = written
        _ENTRY.pack_into(
            self._memory, _COUNT.size + self._left * _ENTRY.size, place, self._free, len(written)
        )
        self._free, self._left = last, self._left + 1
        _COUNT.pack_into(self._memory, 0, self._left)  # last: what it counts is there

    def found(self) -> dict[int, Any]:
        """What was left since it was looked at last, by its places."""
        every = {}
        (left,) = _COUNT.unpack_from(self._memory, 0)
        while self._read < left:
            place, first, long = _ENTRY.unpack_from(self._memory, _COUNT.size + self._read * _ENTRY.size)
            with memoryview(self._memory) as memory, memory[first : first + long] as written:
                every[place] = pickle.loads(written)
            self._read += 1
        return every


__all__ = ["Board"]

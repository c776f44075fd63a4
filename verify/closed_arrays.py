"""Arrays that nobody writes to any more, and what tells each from others: read through once, however often it is drawn."""

from __future__ import annotations

from collections.abc import MutableMapping
from hashlib import sha256
from typing import Any
from weakref import ref

Digests = MutableMapping[str, bytes]
"""What tells the arrays of an example from others, by the inputs' names, as far as somebody has asked."""

_held: dict[int, tuple[ref[Any], Digests, str]] = {}
"""Arrays by where they are, as long as they are, each with the example that it belongs to."""


def close(array: Any, digests: Digests, name: str) -> None:
    """Close an array to writing. It is an input of an example that is the same whenever it is drawn, whose ``digests`` these are.

    One that lies in the memory of another is left as it is: to close it would not close that.
    """
    if array.flags.owndata:
        array.flags.writeable = False
        place = id(array)
        _held[place] = ref(array, lambda _: _held.pop(place, None)), digests, name


def digest(array: Any) -> bytes:
    """What tells the entries of an array from others."""
    held = _held.get(id(array))
    if held is None or held[0]() is not array or array.flags.writeable:
        return _read(array)
    _, digests, name = held
    if name not in digests:
        digests[name] = _read(array)
    return digests[name]


def content(array: Any) -> Any:
    """The bytes of an array, which lie in order where it is contiguous."""
    return array.data if array.flags.c_contiguous and array.dtype != object else array.tobytes()


def _read(array: Any) -> bytes:
    return sha256(content(array)).digest()  # the fastest there is where the processor helps


__all__ = ["Digests", "close", "content", "digest"]

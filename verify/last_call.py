"""The call that is being made, written where the process that started this one reads it should this one come to its end."""

from __future__ import annotations

from typing import Any

SIZE = 4096
"""Bytes of the memory that both processes share."""
_memory: Any = None
"""An array of ctypes; None where no other process asks."""


def write_to(memory: Any) -> None:
    """Write calls to this array of characters from now on."""
    global _memory
    _memory = memory


def record_call(what: str) -> None:
    """Write that this call begins; nothing where no other process asks."""
    if _memory is not None:
        _memory.value = what.encode("utf-8", "replace")[: SIZE - 1]


def record_end() -> None:
    """Write that no call is being made."""
    if _memory is not None:
        _memory.value = b""


__all__ = ["SIZE", "record_call", "record_end", "write_to"]

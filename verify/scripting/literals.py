"""Values as Python text that gives them again, bit for bit."""

from __future__ import annotations

import base64
import re
import zlib
from typing import Any

import numpy as np
import torch

WRITTEN_OUT = 400
"""Entries up to which an array is written as numbers; a larger one, which nobody reads either, by its bytes."""


def literal(value: Any, dtype: str) -> str:
    """An input as Python text that gives the same tensor, bit for bit."""
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float | np.floating):
        return number(float(value))
    array = np.asarray(value)
    kind = {"b": "torch.bool", "i": "torch.int64"}.get(array.dtype.kind, f"torch.{dtype}")
    if array.size == 0:
        return f"torch.zeros({tuple(array.shape)}, dtype={kind})"
    if array.size > WRITTEN_OUT:
        made = torch.from_numpy(np.array(array)).to(getattr(torch, kind.removeprefix("torch."))).flatten()
        said = made.view(torch.uint8).numpy().tobytes().hex()
        shape = tuple(array.shape)
        return f'torch.frombuffer(bytearray.fromhex("{said}"), dtype={kind}).reshape({shape})'
    return f"torch.tensor({_nested(array)}, dtype={kind})"


def number(x: float) -> str:
    """A number, the special ones included."""
    return repr(x) if np.isfinite(x) else f'float("{x}")'


def commented(text: str) -> str:
    """What anybody says, within a docstring: without an end of it, and without what no file of Python may hold."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return re.sub("[\0-\x08\x0b-\x1f\x7f\ud800-\udfff]", lambda found: repr(found[0])[1:-1], text)


def packed(array: Any) -> str:
    """An array as Python text that gives it again through :func:`unpacked`, compressed."""
    array = np.ascontiguousarray(array)
    text = base64.b85encode(zlib.compress(array.tobytes())).decode()
    return f"unpacked({text!r}, {array.dtype.str!r}, {array.shape})"


def unpacked(text: str, dtype: str, shape: tuple[int, ...]) -> Any:
    """The array that a text stands for."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype).reshape(shape)


def _nested(array: Any) -> str:
    if array.ndim == 0:
        item = array.item()
        return number(item) if isinstance(item, float) else repr(item)
    return "[" + ", ".join(_nested(part) for part in array) + "]"


__all__ = ["commented", "literal", "number", "packed", "unpacked"]

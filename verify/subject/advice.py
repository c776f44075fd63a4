"""What to do about a callable that cannot be checked as it is: advice in a clause, from what it raised or returned."""

from __future__ import annotations

import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from verify.faults import complaint
from verify.subject.wording import kind

COMPILING = re.compile(r"\b[Cc]ompiler\b|\bnvcc\b|\bninja\b|Inductor|BackendCompilerFailed")
ELSEWHERE = re.compile(r"on the same device|is on cuda|on device")
OF_OTHERS = ("torch", "numpy", "jax", "jaxlib", "verify")
"""Packages in whose lines nobody looks for a mistake of their own."""


def advise(error: BaseException) -> str:
    """What is sure about a callable whose every call raised this: what to do, or else the line of its own in which it happens."""
    text = complaint(error)
    if isinstance(error, ImportError):
        return "install what it imports, or name a function that does without"
    if COMPILING.search(text):
        return "it wants a compiler that is not here: install it, or check the function that is not compiled"
    if ELSEWHERE.search(text):
        return "its own tensors are on another device: name that with --device, or move them"
    frames = traceback.extract_tb(error.__traceback__)
    inside = _package(frames[-1].filename) if frames else ""
    if inside == "jax" or _lacks(error, "jax"):
        return "it takes JAX's arrays: verify.adapt.jax(…) passes it such"
    if (inside == "numpy" and not isinstance(error, AttributeError)) or _lacks(error, "numpy"):
        return "it takes NumPy's arrays: verify.adapt.numpy(…) passes it such"
    own = [each for each in frames if not _package(each.filename)]
    return f"in {Path(own[-1].filename).name}, line {own[-1].lineno}: {own[-1].line}" if own else ""


def _lacks(error: BaseException, library: str) -> bool:
    """Whether a tensor was asked for what arrays of a library have, and tensors have not."""
    module = sys.modules.get(library)
    kind = getattr(module, {"numpy": "ndarray", "jax": "Array"}[library], None)
    missing = isinstance(error, AttributeError) and isinstance(error.obj, torch.Tensor)
    return missing and hasattr(kind, str(getattr(error, "name", "")))


def _package(filename: str) -> str:
    """The package of others in which a file is; ``python`` for one of Python's own, empty for one of the user's."""
    for name in OF_OTHERS:
        root = getattr(sys.modules.get(name), "__file__", None)
        if root and Path(filename).is_relative_to(Path(root).parent):
            return name
    own = "site-packages" not in filename and filename.startswith((sysconfig.get_path("stdlib"), "<frozen"))
    return "python" if own else ""


def misfit(
    result: Any, ranks: Sequence[int], shapes: Sequence[tuple[int, ...]], names: Sequence[str]
) -> tuple[str, str]:
    """What was returned in place of tensors of these ranks, and what to do about it; empty where they are."""
    count = len(ranks)
    if count == 1 and not isinstance(result, tuple | list):
        parts: Sequence[Any] = (result,)
    else:
        parts = result if isinstance(result, tuple | list) else ()
    if len(parts) == count and all(isinstance(part, torch.Tensor) for part in parts):
        return next(
            (told for told in map(_rank, parts, ranks, shapes, names) if told[0]),
            ("", ""),
        )
    wanted = f"a tensor of shape {shapes[0]}" if count == 1 else f"{count} tensors ({', '.join(names)})"
    return f"returned {_what(result, count)}, expected {wanted}", _advise_pick(result, count, shapes)


def _rank(part: torch.Tensor, rank: int, shape: tuple[int, ...], name: str) -> tuple[str, str]:
    if part.is_nested or part.ndim == rank:
        return "", ""
    said = f"returned {name} of shape {tuple(part.shape)}, expected {shape}"
    if place := [k for k in range(part.ndim) if part.ndim == rank + 1 and part.squeeze(k).shape == shape]:
        at = place[-1] - part.ndim
        return said, f"an axis of length 1 too many: lambda *inputs: f(*inputs).squeeze({at})"
    if part.numel() == torch.Size(shape).numel():
        return said, "as many entries: flatten or reshape it in a wrapper"
    return said, "wrap it in a function that returns this shape, or name another formula"


def _what(result: Any, count: int) -> str:
    if isinstance(result, Mapping):
        return f"{type(result).__name__} with {', '.join(map(repr, list(result)[:4])) or 'nothing'}"
    said = kind(result, count)
    return f"a {said}" if not isinstance(result, tuple | list) else said


def _advise_pick(result: Any, count: int, shapes: Sequence[tuple[int, ...]]) -> str:
    """Advice for something that is no tensor, or not as many."""
    if result is None:
        return "let it return what it computes"
    if isinstance(result, Mapping | tuple | list):
        keys = [
            key for key, value in _items(result) if getattr(value, "shape", None) == torch.Size(shapes[0])
        ]
        if count == 1 and keys:
            return f"pick an output: lambda *inputs: f(*inputs)[{keys[0]!r}], or verify.adapt.function(f, pick={keys[0]!r})"
        if count > 1 and isinstance(result, tuple | list) and len(result) == count:
            return "make tensors of them: lambda *inputs: tuple(torch.as_tensor(x) for x in f(*inputs))"
        if count > 1 and isinstance(result, Mapping) and len(result) >= count:
            shown = ", ".join(f"found[{key!r}]" for key in list(result)[:count])
            return f"return them in order, such as ({shown}) of found = f(*inputs)"
        return f"pick {'an output' if count == 1 else f'{count} outputs'} in a wrapper: lambda *inputs: f(*inputs)[…]"
    if isinstance(result, int | float | complex):
        return "return a tensor: without one there is no gradient"
    if hasattr(result, "__array__") or hasattr(result, "__dlpack__"):
        return "wrap it in a function that returns torch.as_tensor(…) of it"
    return "wrap it in a function that returns tensors"


def _items(result: Any) -> Iterator[tuple[Any, Any]]:
    return iter(result.items()) if isinstance(result, Mapping) else enumerate(result)


__all__ = ["advise", "misfit"]

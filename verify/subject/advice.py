"""What to do about a callable that cannot be checked as it is: advice in a clause, from what it raised or returned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from verify.subject.wording import kind

SIGNS: tuple[tuple[str, str], ...] = (
    (
        r"ModuleNotFoundError|ImportError|No module named",
        "install what it imports, or name a function that does without",
    ),
    (
        r"[Cc]ompiler|nvcc|ninja|Inductor|BackendCompilerFailed|triton",
        "it wants a compiler that is not here: install it, or check the function that is not compiled",
    ),
    (
        r"on device|same device|is on cuda|CUDA|mps:",
        "its own tensors are on another device: name that with --device, or move them",
    ),
    (
        r"values to unpack|[Dd]imension|\bdims?\b|-D\b|\d[dD]\b|\bndim\b|permute|shape",
        "it seems to want other shapes: wrap it in a function that reshapes what it is given, and what it returns",
    ),
    (
        r"dtype|scalar type|Float|Double|Half",
        "it takes none of the types tried: name others with --dtype, or cast inside a wrapper",
    ),
    (
        r"has no attribute '(astype|copy|at|flatten_|tocsr|block_until_ready)'|numpy|jax|ndarray",
        "it takes arrays that are not torch's: wrap it in a function that converts its inputs and its result",
    ),
    (
        r"positional argument|keyword argument|unexpected keyword",
        "wrap it in a function of the formula's inputs",
    ),
)
"""What an error's text shows, and the advice."""


def advised(said: str) -> str:
    """Advice for a callable whose every call raised; ``said`` is the line that names the error."""
    text = said.split(" raised ", 1)[-1].rsplit(" for ", 1)[0]
    for sign, advice in SIGNS:
        if re.search(sign, text):
            return advice
    return (
        "it raises at every size tried: see whether it runs by itself, whether it takes other sizes or types (--sizes, --dtype), "
        "or wrap it in a function that calls it as it wants"
    )


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
    return f"returned {_what(result, count)}, expected {wanted}", _picked(result, count, shapes)


def _rank(part: torch.Tensor, rank: int, shape: tuple[int, ...], name: str) -> tuple[str, str]:
    if part.is_nested or part.ndim == rank:
        return "", ""
    said = f"returned {name} of shape {tuple(part.shape)}, expected {shape}"
    if part.numel() == torch.Size(shape).numel():
        return said, "as many entries: flatten or reshape it in a wrapper"
    return said, "wrap it in a function that returns this shape, or name another formula"


def _what(result: Any, count: int) -> str:
    if isinstance(result, Mapping):
        return f"{type(result).__name__} with {', '.join(map(repr, list(result)[:4])) or 'nothing'}"
    said = kind(result, count)
    return f"a {said}" if not isinstance(result, tuple | list) else said


def _picked(result: Any, count: int, shapes: Sequence[tuple[int, ...]]) -> str:
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


__all__ = ["advised", "misfit"]

"""Words for reports: inputs, results and callables, in brief."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from spec.language.formula import Formula
from verify.faults import Fault


@functools.lru_cache(maxsize=256)
def _names(formula: Formula) -> tuple[str, ...]:
    return tuple(map(str, formula.inputs))


def describe(formula: Formula, arguments: Sequence[Any]) -> str:
    """The inputs of a call in a few words: shapes of tensors, values of numbers."""
    parts = []
    for name, value in zip(_names(formula), arguments, strict=False):
        if isinstance(value, torch.Tensor):
            parts.append(_describe_tensor(name, value.shape, value.dtype))
        elif isinstance(value, torch.Generator):
            parts.append(f"{name} on {value.device}")
        else:
            parts.append(f"{name} {value!r}")
    return ", ".join(parts)


@functools.lru_cache(maxsize=4096)
def _describe_tensor(name: str, shape: torch.Size, dtype: torch.dtype) -> str:
    """A tensor in a few words; inputs come in the same shapes again and again."""
    return f"{name} {tuple(shape)} {str(dtype).removeprefix('torch.')}"


LONG = 120
"""Characters of an error that are told in passing."""


def refusal(fault: Fault | None) -> str:
    """What a callable raised, or that it did not return, in short; empty where it returned something."""
    said = "" if fault is None else fault.refusal
    return said if len(said) <= LONG else said[:LONG] + " …"


def kind(result: Any, count: int = 1) -> str:
    """What was returned, in a few words."""
    if isinstance(result, tuple | list):
        if count == 1 and len(result) == 1:
            return type(result[0]).__name__
        return f"{type(result).__name__} of {', '.join(type(x).__name__ for x in result) or 'nothing'}"
    return type(result).__name__


def show_value(value: Any) -> str:
    """A value in one short line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # what cannot even be shown is named by its type
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:80] + " …"


def name_callable(fn: Any) -> str:
    """A name for a callable."""
    if isinstance(fn, functools.partial):
        return name_callable(fn.func)
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or type(fn).__name__
    module = getattr(fn, "__module__", "") or ""
    return name if module in ("", "builtins", "__main__") or "<" in name else f"{module}.{name}"

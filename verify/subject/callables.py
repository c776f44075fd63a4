"""What can be checked at all: a callable whose call can return tensors; and whether another process can import it."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch

from spec.language.formula import Formula
from verify.faults import Unusable
from verify.subject.wording import shown


def callable_for(formula: Formula, fn: Any) -> Callable[..., Any]:
    """The callable itself, if a call of it can return tensors.

    Raises:
        Unusable: what cannot be called, a class, or a function whose call only makes a coroutine or a generator.
    """
    if not callable(fn):
        raise Unusable(f"{formula.id}: {shown(fn)} is not callable")
    if isinstance(fn, type):
        raise Unusable(f"{formula.id}: {fn.__name__} is a class; give an instance of it, or a function")
    made = _what_a_call_makes(fn)
    if made:
        raise Unusable(
            f"{formula.id}: {getattr(fn, '__name__', type(fn).__name__)} returns {made}, not tensors"
        )
    return fn  # type: ignore[no-any-return]  # whatever it is, it can be called


def _what_a_call_makes(fn: Any) -> str:
    inner = fn.forward if isinstance(fn, torch.nn.Module) else fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    if not inspect.isroutine(inner):
        inner = type(inner).__call__
    if inspect.iscoroutinefunction(inner):
        return "a coroutine (it is async)"
    if inspect.isasyncgenfunction(inner) or inspect.isgeneratorfunction(inner):
        return "a generator (it yields)"
    return ""


def importable(fn: Any) -> str:
    """``module:name`` of a callable that another process can import; empty if there is none."""
    if isinstance(fn, functools.partial | torch.nn.Module):
        return ""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name:
        return ""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is fn else ""

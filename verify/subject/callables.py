"""What can be checked at all: a callable whose call can return tensors; and whether another process can import it."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch

from spec.language.evaluation.dimensions import is_size
from spec.language.formula import Formula
from spec.language.trees import free_symbols, refs
from verify.adapt.adapter import Adapter, Bound
from verify.faults import Unusable
from verify.inputs.given import given_words, implied_sizes, with_given
from verify.inputs.size_rules import Supported
from verify.subject.wording import show_value


def callable_for(formula: Formula, fn: Any) -> Callable[..., Any]:
    """The callable itself, if a call of it can return tensors; an adapter (:mod:`verify.adapt`) for this formula.

    Raises:
        Unusable: what cannot be called, a class, or a function whose call only makes a coroutine or a generator.
    """
    if not callable(fn):
        raise Unusable(f"{formula.id}: {show_value(fn)} is not callable")
    if isinstance(fn, type):
        raise Unusable(
            f"{formula.id}: {fn.__name__} is a class; give an instance of it, or a function "
            "(verify.adapt.module for a module that holds its weights)"
        )
    if isinstance(fn, Adapter):
        return fn.for_formula(formula)
    made = _what_a_call_makes(fn)
    if made:
        raise Unusable(
            f"{formula.id}: {getattr(fn, '__name__', type(fn).__name__)} returns {made}, not tensors"
        )
    return fn  # type: ignore[no-any-return]  # whatever it is, it can be called


def with_words(
    fn: Any, formula: Formula, sizes: Any = None, fixed: Any = None
) -> tuple[Any, Formula, Any, Any, tuple[str, ...]]:
    """The same without the inputs that are given by words, such as ``y=x`` or ``pos=0..``, here or by an adapter; and these.

    Raises:
        Unusable: words that say nothing of this formula.
    """
    own = fn.fixed if isinstance(fn, Adapter) else {}
    words = given_words(formula, {**own, **(fixed if isinstance(fixed, Mapping) else {})})
    if not words:
        return fn, formula, sizes, fixed, ()
    if own:
        fn = fn.with_changes(fixed={name: value for name, value in own.items() if name not in words})
    numbers = {name: value for name, value in (fixed or {}).items() if name not in words}
    rules = {**implied_sizes(formula, words), **(sizes if isinstance(sizes, Mapping) else {})}
    said = tuple(f"{name} = {word}" for name, word in words.items())
    return fn, with_given(formula, words), rules or sizes, numbers, said


def with_fixed(fn: Any, fixed: Any, unread: Collection[str] = ()) -> Any:
    """An adapter that knows, too, which numbers are fixed, and what is ``unread``; any other callable as it is."""
    if isinstance(fn, Adapter) and isinstance(fixed, Mapping):
        return fn.with_changes(fixed={**dict.fromkeys(unread), **fn.fixed, **fixed})
    return fn


def find_unread(formula: Formula, conventions: Mapping[str, str]) -> frozenset[str]:
    """The inputs that no line reads under these conventions: a callable need not take them. A law reads more than lines do."""
    if formula.law is not None:
        return frozenset()
    lines = formula.flat(conventions).lines
    letters = [letter for line in lines for letter in free_symbols(line.right)]
    bounds = [bound for line in lines for _, *ends in line.ranges for bound in ends]
    shapes = [size for item in formula.tensors for size in item.shape]
    sizes = {str(part) for each in (*letters, *bounds, *shapes) for part in each.free_symbols}
    read = sizes | {ref.tensor.name for line in lines for ref in refs(line.right)}
    names = [str(item) for item in formula.inputs if is_size(item) or item.role != "mask"]
    return frozenset(names) - read


def find_supported(
    fn: Any, formula: Formula, sizes: Any = None, fixed: Any = None, few_shapes: bool | None = None
) -> Supported:
    """What a callable supports, as it is said beside it; and as an adapter says by itself.

    Raises:
        Unusable: a rule, a number or a kind of masks that the formula does not have.
    """
    if isinstance(fn, Bound):
        fn = fn.adapter
    if not isinstance(fn, Adapter):
        return Supported.of(formula, sizes, fixed, few=bool(few_shapes))
    given = [{} if part is None else part for part in (sizes, fixed)]
    if all(isinstance(part, Mapping) for part in given):
        sizes, fixed = {**fn.sizes, **given[0]}, {**fn.fixed, **given[1]}
    few = fn.few_shapes if few_shapes is None else few_shapes
    return Supported.of(formula, sizes, fixed, fn.masks_for(formula), bool(few))


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

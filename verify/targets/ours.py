"""Our own implementations. They take the declared inputs as they are, the weights of a layer one by one; keywords choose a
convention or a backend.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, get_type_hints

Adapted = Callable[..., Any]


def implementation(formula_id: str, **keywords: str) -> Adapted:
    """``impl.<subject>.<name>``: the function that bears the formula's ID."""
    module, name = formula_id.split(".")
    function = flatten(getattr(import_module(f"impl.{module}"), name))
    return partial(function, **keywords) if keywords else function


def flatten(function: Adapted) -> Adapted:
    """The function with the fields of its named tuples as arguments of their own, in the order of the statement."""
    kinds = [parameter.annotation for parameter in inspect.signature(function).parameters.values()]
    if not any(hasattr(kind, "_make") for kind in kinds):
        return function

    def call(*given: Any, **keywords: Any) -> Any:
        left, packed = iter(given), list[Any]()
        for kind in kinds:
            packed += [_pack(kind, left)] if hasattr(kind, "_make") else islice(left, 1)
        return function(*packed, *left, **keywords)

    return call


def _pack(kind: Any, left: Iterator[Any]) -> Any:
    """The named tuple of what comes next; its fields may be named tuples, too."""
    fields = get_type_hints(kind).values()
    return kind._make(_pack(field, left) if hasattr(field, "_make") else next(left) for field in fields)


def is_implemented(formula_id: str) -> bool:
    """Whether there is one. A formula without is stated, and no target of ours stands for it."""
    subject, name = formula_id.split(".")
    return name in _public(subject)


@cache
def _public(subject: str) -> frozenset[str]:
    """The names in ``__all__`` of ``impl.<subject>``, read from its source: importing it would bring torch."""
    found = find_spec(f"impl.{subject}")
    if found is None or found.origin is None:
        return frozenset()
    for line in ast.parse(Path(found.origin).read_text(encoding="utf-8")).body:
        match line:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return frozenset(ast.literal_eval(value))
    return frozenset()

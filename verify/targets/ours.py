"""Our own implementations. They take the declared inputs as they are; keywords choose a convention or a backend."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Adapted = Callable[..., Any]


def implementation(formula_id: str, **keywords: str) -> Adapted:
    """``impl.<subject>.<name>``: the function that bears the formula's ID."""
    module, name = formula_id.split(".")
    function: Adapted = getattr(import_module(f"impl.{module}"), name)
    return partial(function, **keywords) if keywords else function


def implemented(formula_id: str) -> bool:
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

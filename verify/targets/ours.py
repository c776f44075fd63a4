"""Our own implementations. They take the declared inputs as they are; keywords choose a convention or a backend."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

Adapted = Callable[..., Any]


def implementation(formula_id: str, **keywords: str) -> Adapted:
    """``impl.<subject>.<name>``: the function that bears the formula's ID."""
    module, name = formula_id.split(".")
    function: Adapted = getattr(import_module(f"impl.{module}"), name)
    return partial(function, **keywords) if keywords else function

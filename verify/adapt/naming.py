"""Where another process finds what is called: its module, and its name there."""

from __future__ import annotations

import sys
from typing import Any

from verify.adapt.spelling import Unwritten

CHECKED = "_checked_"
"""Before the name of a module that a command has loaded from a file: a script beside the file imports it by its name."""


def name_of(found: Any) -> str:
    """The name in its module: its own, or that under which it stands there, as a lambda does or what a function has made.

    Raises:
        Unwritten: it has none.
    """
    module = sys.modules.get(getattr(found, "__module__", None) or "")
    name = str(getattr(found, "__qualname__", "<"))
    held: Any = module
    for part in name.split("."):
        held = getattr(held, part, None)
    if held is found:
        return name
    for other, value in vars(module).items() if module is not None else ():
        if value is found:
            return other
    raise Unwritten


def home(found: Any) -> str:
    """The module from which it is imported.

    Raises:
        Unwritten: there is none.
    """
    module = getattr(found, "__module__", None)
    name_of(found)
    if module in (None, "__main__"):
        raise Unwritten
    return str(module).removeprefix(CHECKED)


def root(found: Any) -> str:
    """What is imported from there."""
    return name_of(found).partition(".")[0]


__all__ = ["CHECKED", "home", "name_of", "root"]

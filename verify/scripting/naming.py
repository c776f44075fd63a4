"""Where another process finds what is called: its module, and its name there."""

from __future__ import annotations

import sys
from typing import Any


class Unwritten(Exception):  # noqa: N818  (it is what is not there, not a fault)
    """Something that no line says."""


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


__all__ = ["CHECKED", "Unwritten", "name_of"]

"""Scripts of several calls: what was done when a theorem or a scene of use was judged, with the helpers that it takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from verify.output import alone
from verify.report import Played
from verify.scripting.within import clash, within

HELPERS = [name for name in alone.__all__ if name != "ended"]


def played_lines(played: Played) -> list[str]:
    """The helpers, an adapted callable for each of its kinds of call, and the calls."""
    text = "\n".join(played.lines)
    used = [name for name in HELPERS if re.search(rf"\b{name}\(", text)]
    helpers: list[str] = []
    for helper in (alone.ended, *(getattr(alone, name) for name in used)):
        helpers += [*source(helper), "", ""]
    others = "\n".join([*(f"import {name}" for name in ("sys", "torch", *modules(played))), *helpers, text])
    lines: list[str] = [""]
    for place, function in enumerate(played.functions, 1):
        if len(played.functions) == 1 and not clash(function, others):
            lines += [function, "", f"function_{place} = function", "", ""]
        else:  # each is made with names of its own
            lines += [within(function, f"made_{place}", "function"), "", ""]
            lines += [f"function_{place} = made_{place}()", "", ""]
    lines += helpers
    return [*lines, *played.lines, 'print("does not fail")', "sys.exit(0)", ""]


def modules(played: Played) -> list[str]:
    """What has to be imported besides torch."""
    text = "\n".join(played.lines)
    return [name for name in ("math", "os", "random", "numpy") if re.search(rf"(?<![.\w]){name}\.", text)]


def source(function: Callable[..., Any]) -> list[str]:
    """A function as it stands."""
    return inspect.getsource(function).rstrip().split("\n")


__all__ = ["modules", "played_lines", "source"]

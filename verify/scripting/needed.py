"""Which modules cannot be imported without certain packages: they import them, or another module that does."""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

from verify.scripting.parsed import home_of

INSTALLED = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "purelib", "platlib")})
"""Where modules lie that are looked into for their own sake alone: nobody's library needs what is sought."""


def needs(module: ModuleType, packages: tuple[str, ...]) -> bool:
    """Whether a module, or one that is imported with it, imports one of the packages as it is read."""
    seen, left = {module.__name__}, [module.__name__]
    while left:
        name = left.pop()
        if name.partition(".")[0] in packages:
            return True
        if name not in sys.modules or (name != module.__name__ and _installed(name)):
            continue
        for other in (*_imported(name), *_above(name)):
            if other not in seen:
                seen.add(other)
                left.append(other)
    return False


def _installed(name: str) -> bool:
    """Whether it lies, with its whole package, where libraries do, or nowhere."""
    home = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
    return home is None or home.startswith(INSTALLED)


def _above(name: str) -> list[str]:
    """The packages that a module lies in, which are read before it."""
    parts = name.split(".")
    return [".".join(parts[:many]) for many in range(1, len(parts))]


@lru_cache(maxsize=4096)
def _imported(name: str) -> tuple[str, ...]:
    """The modules that have been imported as a module was read, and the homes of what it holds."""
    module = sys.modules[name]
    held = vars(module)
    found = [value.__name__ for value in held.values() if isinstance(value, ModuleType)]
    found += [getattr(type(value), "__module__", "") for value in held.values()]
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return tuple(map(str, found))
    for node in _read(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if (a.asname or a.name.partition(".")[0]) in held]
        elif isinstance(node, ast.ImportFrom):
            home = home_of(node, module)
            names = [a.name for a in node.names if (a.asname or a.name) in held or a.name == "*"]
            found += [home] * bool(names)
            found += [each for each in (f"{home}.{name}" for name in names) if each in sys.modules]
    return tuple(map(str, found))


def _read(node: ast.AST) -> Iterator[ast.AST]:
    """What is carried out as a module is read: all but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _read(child)


__all__ = ["needs"]

"""The package by one name: ``attnspec.check``, ``attnspec.spec``, ``attnspec.impl``, ``attnspec.verify``.

Each is imported when it is first used, so that ``import attnspec`` imports neither torch nor SymPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import impl
    import spec
    import verify
    from verify import check

    __version__: str

__all__ = ["__version__", "check", "impl", "spec", "verify"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("attnspec")
    if name == "check":
        return import_module("verify").check
    if name in __all__:
        return import_module(name)
    raise AttributeError(f"module 'attnspec' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)

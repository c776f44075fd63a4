"""Finding the callable a user names: ``module:callable`` (the current directory first) or ``file.py:callable``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from spec.language.own import module_at
from verify.faults import complaint
from verify.subject.ending import unable_to_exit
from verify.subject.streams import keep_streams

OURS = ("spec", "impl", "verify")
ADAPTS = "takes nothing and returns verify.adapt.module(…), as on the page Check a module"
"""What a module's class, or a description in TOML, is replaced by."""


class Unloadable(Exception):  # noqa: N818 it says what the callable is
    """There is nothing to check; the message is one line."""


def callable_at(where: str) -> Callable[..., Any]:
    """The callable at ``module:attribute``; both may be dotted, and the module may be the path of a file.

    A function without parameters is called: it gives the callable. Call this after everything of ours is imported: it puts the
    current directory first on the path.

    Raises:
        Unloadable: a name that is not of this form, a module that does not import, an attribute that is missing or
            cannot be called.
    """
    _, found = attribute_at(where)
    if not callable(found):
        raise Unloadable(f"{where} is not callable: it is {_an(type(found).__name__)}")
    if isinstance(found, type):
        raise Unloadable(f"{where} is a class; name an instance of it, or a function that {ADAPTS}")
    return _make_callable(found, where)


def attribute_at(where: str) -> tuple[ModuleType, Any]:
    """The module, and what is at ``module:attribute``, whatever that is; as :func:`callable_at`.

    Raises:
        Unloadable: a name that is not of this form, a module that does not import, or an attribute that is missing.
    """
    module_name, colon, attribute = where.rpartition(":")
    if not colon or not module_name or not attribute:
        raise Unloadable(
            f"expected MODULE:CALLABLE, such as mymodule:my_layer_norm or ./my_file.py:my_layer_norm; got {where!r}"
        )
    by_path = module_name.endswith(".py") or os.sep in module_name
    module = _from_file(Path(module_name)) if by_path else _from_name(module_name)
    found: Any = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            hint = ""
            if module_name.split(".")[0] in OURS and Path(f"{module_name.split('.')[0]}.py").exists():
                hint = f" ({module_name} is attnspec's own package; for your file write ./{module_name}.py:{attribute})"
            raise Unloadable(f"{module_name} has no {attribute!r}{hint}{_offer(module)}") from None
        except Exception as error:
            raise Unloadable(f"{module_name}: reading {attribute!r} raised {_short(error)}") from None
    return module, found


def gives_the_callable(found: Any) -> bool:
    """Whether it is a function without parameters, which can be no formula's: it gives the callable."""
    if not inspect.isroutine(found):
        return False
    try:
        return not inspect.signature(found).parameters
    except (ValueError, TypeError):
        return False


def _make_callable(found: Any, where: str) -> Callable[..., Any]:
    if not gives_the_callable(found):
        return found  # type: ignore[no-any-return]
    try:
        made = found()
    except (Exception, SystemExit) as error:
        raise Unloadable(
            f"{where} takes nothing, so it should give the callable: it raised {_short(error)}"
        ) from None
    if not callable(made) or isinstance(made, type):
        raise Unloadable(
            f"{where} takes nothing, so it should give the callable: it gives {_an(type(made).__name__)}"
        )
    return made  # type: ignore[no-any-return]


def _from_name(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        with unable_to_exit(), keep_streams():
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            file = Path(f"{name}.py")
            where = f"; {here} holds no {file}" if not file.exists() else ""
            raise Unloadable(f"there is no module {name!r}{where}") from None
        raise Unloadable(f"{name} does not import: {_short(error)}") from None
    except (Exception, SystemExit) as error:
        raise Unloadable(f"{name} does not import: {_short(error)}") from None


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Unloadable(f"there is no file {path}")
    if (read := module_at(path)) is not None:
        return read
    name = path.stem if path.stem not in sys.modules and path.stem.isidentifier() else f"_checked_{path.stem}"
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    found = importlib.util.spec_from_file_location(name, path.resolve())
    if found is None or found.loader is None:
        raise Unloadable(f"{path} is no Python file (.py)")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        with unable_to_exit(), keep_streams():
            found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise Unloadable(f"{path} does not import: {_short(error)}") from None
    return module


def _offer(module: ModuleType) -> str:
    names = [
        n
        for n, v in vars(module).items()
        if callable(v) and not n.startswith("_") and not isinstance(v, type)
    ]
    own = [n for n in names if getattr(vars(module)[n], "__module__", None) == module.__name__]
    return f"; it offers {', '.join((own or names)[:8])}" if own or names else ""


def _short(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"SyntaxError: {error.msg} (line {error.lineno})"
    return complaint(error)


def _an(word: str) -> str:
    return f"an {word}" if word[:1].lower() in "aeiou" else f"a {word}"

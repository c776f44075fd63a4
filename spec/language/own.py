"""Formulas outside this package: stated in a file of a user's, and named ``my_spec.py:rms_gate`` or ``my_package.spec:rms_gate``.

Such an address stands wherever an ID does. The file is run once; the formula in it may apply ours, and others of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from spec.language.formula import Formula
from spec.language.known import forget, is_known, list_registered
from spec.language.wellformed.letters import IllFormed

_ADDRESSES: dict[str, str] = {}
_MODULES: dict[Path, ModuleType] = {}
"""Files in which formulas were read."""


class Unreadable(LookupError):  # noqa: N818 said as it stands
    """An address at which no formula was found; the message is one line."""

    def __str__(self) -> str:
        return str(self.args[0])


def is_address(name: str) -> bool:
    """Whether a name is that of a file or module, perhaps with a formula in it, rather than an ID."""
    return ":" in name or name.endswith(".py") or "/" in name or "\\" in name


def address_of(formula_id: str) -> str | None:
    """Where a formula was read from, so that another process finds it; None for one of ours."""
    return _ADDRESSES.get(formula_id)


def module_at(path: Path) -> ModuleType | None:
    """The module of a file in which formulas were read, so that it is not run twice."""
    return _MODULES.get(path.resolve())


def formula_at(address: str, ours: Iterable[str] = ()) -> Formula:
    """The formula at ``file.py:name``, ``file.py`` (where it states one only), or ``package.module:name``.

    ``ours`` are the IDs that no other formula may have.

    Raises:
        Unreadable: no such file, name or formula, a file that does not run, or a statement that is refused; one line.
    """
    home, colon, name = address.rpartition(":")
    if not colon or name.endswith(".py") or "/" in name or "\\" in name:  # no name, or the colon of a drive
        home, name = address, ""
    by_path = home.endswith(".py") or "/" in home or "\\" in home
    module = _file(Path(home).resolve(), home) if by_path else _module(home)
    name, found = _formula(module, home, name)
    if found.id not in set(ours):
        _check_pitfalls(home, found)
        _ADDRESSES.setdefault(found.id, f"{Path(home).resolve() if by_path else home}:{name}")
    elif not _is_ours(found):
        if is_known(found):  # so that ours can be stated
            forget(found.id)
        other = f"my.{found.id.split('.')[-1]}"
        raise Unreadable(
            f"{home}: the ID {found.id!r} is that of a formula of attnspec; choose another, such as {other!r}"
        )
    return found


def _check_pitfalls(home: str, formula: Formula) -> None:
    """Refuse a pitfall that is shown by a theorem that there is not, or by a mutant: those are of our formulas alone."""
    for pitfall in formula.pitfalls:
        said = f"{home}: {formula.id}, pitfall {pitfall.text!r}"
        if pitfall.mutant:
            raise Unreadable(
                f"{said} names the mutant {pitfall.mutant!r}; mutants are of the formulas of attnspec alone: "
                "name a convention or theorem that shows it"
            )
        if pitfall.theorem and pitfall.theorem not in formula.theorems:
            has = ", ".join(formula.theorems) or "none"
            raise Unreadable(f"{said} names the theorem {pitfall.theorem!r}; the formula has: {has}")


def _formula(module: ModuleType, home: str, name: str) -> tuple[str, Formula]:
    """The formula of this name in a module; the only one that it states, where none is named."""
    stated = {key: value for key, value in vars(module).items() if isinstance(value, Formula)}
    own = {key: value for key, value in stated.items() if not _is_ours(value)}
    offered = f"it states {', '.join(own)}" if own else "it states none: a formula is made by Formula(...)"
    if not name:
        pages = [key for key, value in own.items() if not value.auxiliary]
        if len(pages) == 1:
            return pages[0], own[pages[0]]
        hint = f", such as {home}:{next(iter(own))}" if own else ""
        raise Unreadable(f"{home}: name the formula{hint}; {offered}")
    if name in stated:
        return name, stated[name]
    if hasattr(module, name):
        kind = type(getattr(module, name)).__name__
        raise Unreadable(f"{home}: {name} is no formula, but of type {kind}; {offered}")
    close = get_close_matches(name, own, n=1)
    raise Unreadable(f"{home} has no {name!r}; " + (f"did you mean {home}:{close[0]}?" if close else offered))


def _is_ours(formula: Formula) -> bool:
    """Whether a formula is one of ours, imported from where it is stated."""
    home = sys.modules.get(f"spec.{formula.id}")
    return home is not None and any(value is formula for value in vars(home).values())


@cache
def _file(path: Path, shown: str) -> ModuleType:
    """The module in a file, run once; one that was imported already is taken as it is."""
    if not path.is_file():
        raise Unreadable(f"there is no file {shown}")
    if path.suffix != ".py":
        raise Unreadable(f"{shown} is no Python file (.py)")
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and module.__name__ != "__main__" and Path(file).name == path.name and path.samefile(file):
            _MODULES[path] = module
            return module
    name = path.stem if path.stem.isidentifier() and path.stem not in sys.modules else f"_stated_{path.stem}"
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: nothing of the user's may stand in for what we import
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    before = set(list_registered())
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        forget_refused(before)
        raise Unreadable(describe_mistake(error, path, shown)) from None
    _MODULES[path] = module
    return module


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise Unreadable(
                f"there is no module {name!r}; for a file write {name.split('.')[-1]}.py"
            ) from None
        raise Unreadable(f"{name}: {_describe_error(error)}") from None
    except (Exception, SystemExit) as error:
        raise Unreadable(f"{name}: {_describe_error(error)}") from None


def forget_refused(before: set[str]) -> None:
    """Forget the formulas stated since whose module did not run to its end, so that the file, mended, can be read again."""
    for formula_id in set(list_registered()) - before:
        if f"spec.{formula_id}" not in sys.modules:
            forget(formula_id)


def describe_mistake(error: BaseException, path: Path, shown: str) -> str:
    """What is wrong in a file of statements, in one line that names the file and the line."""
    return f"{shown}{_line(error, path)}: {_describe_error(error)}"


def _line(error: BaseException, path: Path) -> str:
    """The line of the file at which it stopped."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}" if error.filename == str(path) and error.lineno else ""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""


def _describe_error(error: BaseException) -> str:
    said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    if isinstance(error, IllFormed):  # it names formula, line and symbol itself
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__

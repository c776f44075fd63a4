"""A user's targets: the table ``[tool.attnspec]`` of a ``pyproject.toml``, or an ``attnspec.toml``.

What is wrong with it is one line that names the file and the key. Paths count from the folder that the file is in.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from verify.command.parsing import DTYPES
from verify.command.profiles import PROFILES
from verify.deviations import Deviation
from verify.faults import Unusable
from verify.limits import REAL, WHOLE

FILES = ("attnspec.toml", "pyproject.toml")


@dataclass(frozen=True)
class OwnTarget:
    """A target of a user's.

    Attributes:
        label: what it is called in tables.
        address: its callable, ``module:function`` or ``file.py:function``.
        formula: an ID, or where the formula is.
        options: of :func:`verify.check`, and the profile.
        known: in what it is known to deviate.
    """

    label: str
    address: str
    formula: str
    options: dict[str, Any] = field(default_factory=dict)
    known: tuple[Deviation, ...] = ()


@dataclass(frozen=True)
class Config:
    """A configuration file: options for all of its targets, where modules are found, and the targets."""

    path: Path
    targets: tuple[OwnTarget, ...]
    options: dict[str, Any] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    table: str = ""


def nearest(start: Path) -> Path | None:
    """The nearest file, from a folder upwards, that speaks of attnspec."""
    for folder in (start, *start.parents):
        for name in FILES:
            path = folder / name
            if path.is_file() and (name == FILES[0] or _speaks(path)):
                return Path(os.path.relpath(path)) if path.is_relative_to(start) else path
    return None


def _speaks(path: Path) -> bool:
    """Whether a file that is not only attnspec's has its table; one that cannot be read does not, whatever it says."""
    return "attnspec" in path.read_text("utf-8", "replace") and _table(path)[0] is not None


def read_config(path: Path) -> Config:
    """Read a configuration file.

    Raises:
        Unusable: no such file, no TOML, no such table, an unknown key, or a value that cannot be used.
    """
    table, name = _table(path)
    if table is None:
        raise Unusable(f"{path}: there is no table [tool.attnspec]")
    at = Place(path, name)
    given = at.check_keys(table, (*OPTIONS, "pythonpath", "target"))
    folders = [str((path.parent / each).resolve()) for each in at.texts(given, "pythonpath", ["."])]
    options = at.options(given)
    entries = given.get("target", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        at.refuse("target", f"expected tables, each headed [[{at.under('target')}]]", entries)
    if not entries:
        raise Unusable(f"{path}: there is no target; name one under [[{at.under('target')}]]")
    targets = tuple(
        _target(Place(path, at.under(f"target[{number}]")), entry) for number, entry in enumerate(entries, 1)
    )
    labels = [target.label for target in targets]
    for label in labels:
        if len({t.formula for t in targets if t.label == label}) < labels.count(label):
            raise Unusable(f"{path}: two targets of one formula are called {label!r}: give each a name")
    return Config(path, targets, options, tuple(folders), f"{at.table}." if at.table else "")


def _target(at: Place, entry: Mapping[str, Any]) -> OwnTarget:
    given = at.check_keys(entry, (*OPTIONS, "callable", "formula", "name", "known", "adapter"))
    address, formula = at.text(given, "callable"), at.text(given, "formula")
    address, formula = (_resolve_address(where, at.path.parent) for where in (address, formula))
    label = at.text(given, "name", given["callable"])
    known = given.get("known", [])
    if not isinstance(known, list) or not all(isinstance(each, dict) for each in known):
        at.refuse("known", 'expected tables such as {check = "value*", reason = "…"}', known)
    deviations = tuple(
        _deviation(Place(at.path, at.under(f"known[{number}]")), label, formula, each)
        for number, each in enumerate(known, 1)
    )
    if "adapter" in given:
        instead = "no adapter, but a callable that takes nothing and returns verify.adapt.module(…)"
        at.refuse("adapter", f"expected {instead}", given["adapter"])
    return OwnTarget(label, address, formula, at.options(given), deviations)


def _deviation(at: Place, label: str, formula: str, entry: Mapping[str, Any]) -> Deviation:
    given = at.check_keys(entry, ("check", "reason", "versions", "report"))
    check, reason = at.text(given, "check"), at.text(given, "reason")
    return Deviation(
        label, formula, check, reason, at.text(given, "versions", ""), at.text(given, "report", "")
    )


def _resolve_address(where: str, folder: Path) -> str:
    """An address whose file, if it names one, is found from anywhere."""
    home, colon, name = where.rpartition(":")
    if not colon or name.endswith(".py"):
        home, colon, name = where, "", ""
    return f"{(folder / home).resolve()}{colon}{name}" if home.endswith(".py") or "/" in home else where


def _table(path: Path) -> tuple[dict[str, Any] | None, str]:
    """The table that speaks of attnspec, None where there is none; and what it is called, nothing if it is all of the file."""
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unusable(f"{path} is no TOML: {error}") from None
    if path.name != "pyproject.toml" and "tool" not in found:
        return found, ""
    tool = found.get("tool", {})
    table = tool.get("attnspec") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise Unusable(f"{path}: tool.attnspec is a table; got {table!r}")
    return table, "tool.attnspec"


@dataclass(frozen=True)
class Place:
    """A table in a file: every refusal names both."""

    path: Path
    table: str

    def under(self, key: str) -> str:
        """A key with the table that it is in."""
        return f"{self.table}.{key}" if self.table else key

    def refuse(self, key: str, expected: str, value: Any) -> None:
        """Refuse a value.

        Raises:
            Unusable: always.
        """
        raise Unusable(f"{self.path}: {self.under(key)}: {expected}; got {value!r}")

    def check_keys(self, table: Mapping[str, Any], keys: tuple[str, ...]) -> Mapping[str, Any]:
        """A table that has no other keys than these."""
        for key in table:
            if key not in keys:
                close = get_close_matches(key, keys, n=1, cutoff=0.5)
                hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(keys)}"
                raise Unusable(f"{self.path}: {self.under(key)} is no key of attnspec; {hint}")
        return table

    def text(self, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
        """A text that is not empty; without a default it has to be there."""
        if key not in table:
            if default is None:
                raise Unusable(f"{self.path}: {self.table} has no {key}")
            return default
        value = table[key]
        if not isinstance(value, str) or not value.strip():
            self.refuse(key, "expected a text", value)
        return str(value)

    def texts(self, table: Mapping[str, Any], key: str, default: list[str]) -> list[str]:
        """A list of texts."""
        value = table.get(key, default)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self.refuse(key, "expected a list of texts", value)
        return list(value)

    def options(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a check, by the names that it has for them."""
        return {name: make(self, key, table[key]) for key, (name, make) in OPTIONS.items() if key in table}


def _count(least: int) -> Callable[[Place, str, Any], int]:
    def make(at: Place, key: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            at.refuse(key, f"expected a whole number of at least {least}", value)
        if value > WHOLE:
            at.refuse(key, "expected a whole number of 63 bits at most", value)
        return int(value)

    return make


def _positive(at: Place, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= REAL:
        at.refuse(key, "expected a positive number", value)
    return float(value)


def _profile(at: Place, key: str, value: Any) -> str:
    if value == "default":
        at.refuse(key, "this profile is called full now", value)
    if not isinstance(value, str) or value not in PROFILES:
        at.refuse(key, f"expected one of {', '.join(PROFILES)}", value)
    return str(value)


def _types(at: Place, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(each in DTYPES for each in value):
        at.refuse(key, f"expected a list of some of {', '.join(DTYPES)}", value)
    return tuple(dict.fromkeys(value))


def _flag(at: Place, key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        at.refuse(key, "expected true or false", value)
    return bool(value)


def _by_name(kinds: tuple[type, ...], example: str) -> Callable[[Place, str, Any], Any]:
    def make(at: Place, key: str, value: Any) -> Any:
        if key == "conventions" and value in ("auto", "ours"):  # as on the command line
            return "auto" if value == "auto" else {}
        if not isinstance(value, dict):
            at.refuse(key, f"expected a table such as {example}", value)
        for name, each in value.items():
            if isinstance(each, bool) or not isinstance(each, kinds):
                at.refuse(f"{key}.{name}", f"expected a value as in {example}", each)
        return dict(value)

    return make


OPTIONS: dict[str, tuple[str, Callable[[Place, str, Any], Any]]] = {
    "conventions": ("conventions", _by_name((str,), '{eps = "outside"}')),
    "sizes": ("sizes", _by_name((str, int), '{d_v = "d_k", h = "2|4"}')),
    "set": ("fixed", _by_name((int, float, str), '{eps = 1e-5, y = "x"}')),
    "ranges": ("ranges", _by_name((int, float), "{q = 1e3}")),
    "few-shapes": ("few_shapes", _flag),
    "types": ("dtypes", _types),
    "profile": ("profile", _profile),
    "max-examples": ("max_examples", _count(1)),
    "seed": ("seed", _count(0)),
    "accuracy": ("accuracy", _positive),
    "time-limit": ("time_limit", _positive),
}
"""The options of a check: the key, the name that :func:`verify.check` has for it, and what reads it."""

__all__ = ["OPTIONS", "Config", "OwnTarget", "nearest", "read_config"]

"""Adapters as data, in a file of TOML: what :func:`verify.adapt.module`, :func:`function` and the others take, by name."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from verify.adapt.adapter import Adapter
from verify.adapt.arrays import jax, numpy
from verify.adapt.constructors import function, module
from verify.faults import Unusable

KINDS: dict[str, Callable[..., Adapter]] = {
    "module": module,
    "function": function,
    "numpy": numpy,
    "jax": jax,
}


def from_table(subject: Any, table: Mapping[str, Any], where: str) -> Adapter:
    """The adapter that a table describes; ``kind`` says of what: module (the default), function, numpy, jax.

    Raises:
        Unusable: a key that is none; one line that names the file.
    """
    given = dict(table)
    kind = given.pop("kind", "module")
    if kind not in KINDS:
        raise Unusable(f"{where}: kind = {kind!r}; expected {', '.join(KINDS)}")
    known = [name for name in inspect.signature(KINDS[kind]).parameters if name not in ("build", "fn", "vjp")]
    for name in given:
        if name not in known:
            raise Unusable(f"{where}: {name!r} is nothing that a {kind} takes; expected {', '.join(known)}")
    if isinstance(given.get("batch"), str):
        if given["batch"] != "any":
            raise Unusable(f'{where}: batch = {given["batch"]!r}; expected a number or "any"')
        given["batch"] = None
    for name in ("weights", "sizes", "fixed"):
        if not isinstance(given.get(name, {}), dict):
            raise Unusable(f"{where}: {name} is a table; got {given[name]!r}")
    for name, value in given.get("weights", {}).items():
        if value == "keep":  # TOML has no None
            given["weights"][name] = None
    return KINDS[kind](subject, **given)


def table_at(path: Path) -> dict[str, Any]:
    """What a file says.

    Raises:
        Unusable: there is none, or it is no TOML.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise Unusable(f"the adapter {path} cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise Unusable(f"the adapter {path} is no TOML: {error}") from None


__all__ = ["from_table", "table_at"]

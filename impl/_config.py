"""What all configurations refuse, in one line: fields of another kind than they declare, and what ``expect`` says."""

import math
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

KINDS: dict[Any, tuple[str, tuple[type, ...]]] = {
    int: ("a whole number", (int,)),
    float: ("a finite number", (int, float)),
    bool: ("True or False", (bool,)),
}


def check_fields(config: Any, *sizes: str) -> None:
    """ValueError unless each field is a number, a truth value or a choice as it is declared, and ``sizes`` are at least 1."""
    hints = get_type_hints(type(config))
    for name in (field.name for field in fields(config)):
        value, hint = getattr(config, name), hints[name]
        options = get_args(hint) or (hint,)
        if get_origin(hint) is Literal:
            one = value in options
            expect(config, one, f"{name} to be one of {', '.join(map(str, options))}", name)
        elif options[0] in KINDS and not (value is None and NoneType in options):
            words, types = KINDS[options[0]]
            expect(config, type(value) in types and abs(value) < math.inf, f"{words} for {name}", name)
    for name in sizes:
        size = getattr(config, name)
        expect(config, size is None or size >= 1, f"{name} >= 1", name)


def expect(config: Any, holds: bool, what: str, *names: str) -> None:
    """ValueError with what was expected and what these fields are, unless it ``holds``."""
    if not holds:
        got = ", ".join(f"{name} {getattr(config, name)!r}" for name in names)
        raise ValueError(f"{type(config).__name__}: expected {what}; got {got}")


def look_up(whose: str, key: str, choices: Mapping[str, T], given: object) -> T:
    """What the word stands for that a file has as ``key``. ValueError for what is none of the choices."""
    if not isinstance(given, str) or given not in choices:
        raise ValueError(f"{whose}: expected {key} to be one of {', '.join(choices)}; got {given!r}")
    return choices[given]

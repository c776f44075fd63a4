"""What all configurations refuse, in one line: fields of another kind than they declare, and what ``expect`` says."""

from dataclasses import fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

KINDS: dict[Any, tuple[str, tuple[type, ...]]] = {
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
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
            expect(config, type(value) in types, f"{words} for {name}", name)
    for name in sizes:
        size = getattr(config, name)
        expect(config, size is None or size >= 1, f"{name} >= 1", name)


def expect(config: Any, holds: bool, what: str, *names: str) -> None:
    """ValueError with what was expected and what these fields are, unless it ``holds``."""
    if not holds:
        got = ", ".join(f"{name} {getattr(config, name)!r}" for name in names)
        raise ValueError(f"{type(config).__name__}: expected {what}; got {got}")

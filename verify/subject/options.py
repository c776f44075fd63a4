"""What a check is asked for: every argument is looked at before the first call, and refused in one line if it cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from spec.language.formula import Formula
from spec.language.registry import UnknownFormula, find
from verify.faults import Unusable, describe_error
from verify.inputs.dtypes import DTYPES
from verify.inputs.kinds import DEFAULT_TYPES
from verify.limits import REAL, WHOLE
from verify.subject.wording import show_value


def find_formula(formula_id: Any) -> Formula:
    """The formula that is named, or given itself.

    Raises:
        Unusable: no name, or the name of none; the message names the closest.
    """
    if isinstance(formula_id, Formula):
        return formula_id
    if not isinstance(formula_id, str):
        raise Unusable(
            f"a formula is named by its ID, such as 'attention.softmax'; got {show_value(formula_id)}"
        )
    try:
        return find(formula_id)
    except UnknownFormula as error:
        raise Unusable(str(error)) from None


def whole_number(name: str, value: Any, least: int) -> int:
    """A whole number that is large enough.

    Raises:
        Unusable: anything else.
    """
    fits = not isinstance(value, bool | float | str) and hasattr(value, "__index__")
    if not fits or int(value) < least:
        raise Unusable(f"{name} is a whole number of at least {least}; got {show_value(value)}")
    if int(value) > WHOLE:
        raise Unusable(f"{name} is a whole number of 63 bits at most; got {show_value(value)}")
    return int(value)


def seconds(value: Any) -> float | None:
    """A time limit.

    Raises:
        Unusable: no number, or one below 0.
    """
    if value is None:
        return None
    if isinstance(value, bool | str) or not isinstance(value, int | float) or not value >= 0:
        raise Unusable(f"time_limit is a number of seconds, 0 or more; got {show_value(value)}")
    return float(value) if value <= REAL else None


def positive(name: str, value: Any) -> float | None:
    """A positive number, or None.

    Raises:
        Unusable: anything else.
    """
    if value is None:
        return None
    if isinstance(value, bool | str) or not isinstance(value, int | float) or not 0 < value <= REAL:
        raise Unusable(f"{name} is a positive number; got {show_value(value)}")
    return float(value)


def types(dtypes: Any) -> list[str]:
    """The names of the types to check, each once.

    Raises:
        Unusable: no sequence, an empty one, or a type that cannot be checked.
    """
    if dtypes is None:
        return list(DEFAULT_TYPES)
    if isinstance(dtypes, str | bytes | Mapping) or not isinstance(dtypes, Iterable):
        raise Unusable(f"dtypes is a sequence of names, such as ['float32']; got {show_value(dtypes)}")
    names = [str(d).removeprefix("torch.") if isinstance(d, torch.dtype) else d for d in dtypes]
    if not names:
        raise Unusable("dtypes is empty: name at least one type, or none at all for the default")
    for each in names:
        if not isinstance(each, str) or each not in DTYPES:
            raise Unusable(f"{each!r} is no type that can be checked; known: {', '.join(DTYPES)}")
    return list(dict.fromkeys(names))


def choices(formula: Formula, conventions: Any) -> dict[str, str]:
    """A choice of conventions, by name.

    Raises:
        Unusable: no mapping of names to options.
    """
    if conventions is None:
        return {}
    if not isinstance(conventions, Mapping) or not all(
        isinstance(part, str) for pair in conventions.items() for part in pair
    ):
        raise Unusable(
            f"{formula.id}: conventions map names to options, such as {{'eps': 'inside'}}; got {show_value(conventions)}"
        )
    return dict(conventions)


def usable_device(device: Any) -> str:
    """A device on which tensors can be made and read.

    Raises:
        Unusable: no device, one that is absent, or one that holds no values.
    """
    if not isinstance(device, str | torch.device):
        raise Unusable(f"device is a name such as 'cpu' or 'cuda:0'; got {show_value(device)}")
    try:
        read = torch.zeros(1, device=device).item() == 0
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        said = describe_error(error).partition(". ")[0]
        raise Unusable(f"the device {str(device)!r} cannot be used: {said}") from None
    if not read:
        raise Unusable(f"the device {str(device)!r} cannot be used: it does not keep values")
    return str(device)


__all__ = [
    "choices",
    "find_formula",
    "positive",
    "seconds",
    "types",
    "usable_device",
    "whole_number",
]

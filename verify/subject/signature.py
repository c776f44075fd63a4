"""How a callable takes the inputs of a formula: by position, in declared order; an optional mask also by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import torch

from spec.language.formula import Formula
from verify.faults import Unusable

MASKS = ("mask", "attn_mask", "attention_mask")
"""Names of the parameter that takes the mask, wherever it stands among the others."""


@dataclass(frozen=True)
class Taken:
    """Which inputs a callable takes, and how.

    Attributes:
        left_out: the fixed inputs that it does not take.
        mask: whether it takes the optional mask.
        by_name: the parameter that the mask is passed to by its name; empty where it is passed by position.
    """

    left_out: frozenset[str] = frozenset()
    mask: bool = False
    by_name: str = ""


def taken(fn: Callable[..., Any], formula: Formula, fixed: Collection[str], name: str) -> Taken:
    """What a callable takes, by its signature; ``fixed`` inputs may be left out.

    Raises:
        Unusable: it cannot be called with the inputs.
    """
    inputs = formula.inputs
    masked = bool(inputs) and formula.is_mask(inputs[-1])
    try:
        signature = inspect.signature(fn.forward if isinstance(fn, torch.nn.Module) else fn)
    except (ValueError, TypeError):  # builtins that tell nothing about themselves: the first call shows
        return Taken(mask=masked)
    for left_out in dict.fromkeys((frozenset[str](), frozenset(fixed))):
        count = len(inputs) - len(left_out)
        named = _mask_of(signature, count) if masked else ""
        if named:
            return Taken(left_out, True, named)
        for by_position in (count, count - 1) if masked else (count,):
            if _bound(signature, by_position):
                return Taken(left_out, masked and by_position == count)
    names = ", ".join(str(item) + (" (optional)" if formula.is_mask(item) else "") for item in inputs)
    raise Unusable(
        f"{formula.id} is called positionally with ({names}); {name}{signature} cannot be called so"
        + ("; verify.adapt.module says where its weights are" if isinstance(fn, torch.nn.Module) else "")
    )


def _mask_of(signature: inspect.Signature, count: int) -> str:
    """The parameter that takes the last of so many inputs, the mask, by its name; empty where that is the one in its place, or
    where there is none.
    """
    usual = _bound(signature, count)
    if usual is not None and any(usual.arguments.get(name) == count - 1 for name in MASKS):
        return ""
    fitting = (name for name in MASKS if name in signature.parameters and _bound(signature, count - 1, name))
    return next(fitting, "")


def _bound(signature: inspect.Signature, count: int, *names: str) -> inspect.BoundArguments | None:
    """Numbers of so many inputs bound by position, others by name; None where that is no call."""
    try:
        return signature.bind(*range(count), **dict.fromkeys(names))
    except TypeError:
        return None


def in_place(fn: Callable[..., Any], count: int, name: str) -> Callable[..., Any]:
    """``fn``, whose last of so many inputs is passed by its name, as a callable that takes all of them by position."""

    def call(*inputs: Any) -> Any:
        named = {name: inputs[count - 1]} if len(inputs) == count else {}
        return fn(*inputs[: count - 1], **named)

    call.inner = fn  # type: ignore[attr-defined]
    return call


def given_lines(formula: Formula, left_out: Collection[str], by_name: str, called: str) -> list[str]:
    """In scripts: the function of this name with parameters for all inputs, of which it takes those that are not left out."""
    names = [str(item) for item in formula.inputs]
    passed = [name for name in names if name not in left_out]
    if by_name:
        passed[-1] = f"{by_name}={names[-1]}"
    if formula.is_mask(formula.inputs[-1]):
        names[-1] += "=None"
    return [
        "",
        "",
        f"def given({', '.join(names)}, inner={called}):",
        f"    return inner({', '.join(passed)})",
        "",
        "",
        f"{called} = given",
    ]


__all__ = ["MASKS", "Taken", "given_lines", "in_place", "taken"]

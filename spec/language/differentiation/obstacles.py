"""What in a statement is not differentiated: maxima, |a|, rounding, powers whose exponent is no number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from sympy.core.basic import Basic

from spec.language.arrays import DISCRETE
from spec.language.binders import Bound, MaxOf
from spec.language.differentiation.derivative import SLOPES
from spec.language.expr import Case, Func, Literal, Power, Ref
from spec.language.flatten import Flat


def obstacle(part: Basic) -> str:
    """Why a part is not differentiated, in words; empty if it is."""
    if isinstance(part, MaxOf):
        return "a maximum"
    if isinstance(part, Func) and part.name not in SLOPES:
        return part.name
    if isinstance(part, Power) and not isinstance(part.args[1], Literal):
        return "a power whose exponent is no number"
    return ""


def valued(node: Basic) -> Iterator[Basic]:
    """A node and the parts of it whose values pass into its own: conditions, ranges and indices apart."""
    yield node
    if isinstance(node, Ref | Literal):
        return
    parts = (
        node.args[1:] if isinstance(node, Case) else node.args[:1] if isinstance(node, Bound) else node.args
    )
    for part in parts:
        yield from valued(part)


def _read(node: Basic) -> list[str]:
    return [part.tensor.name for part in valued(node) if isinstance(part, Ref)]


@lru_cache(maxsize=256)
def obstacles(flat: Flat) -> Mapping[str, str]:
    """For each tensor that reaches an output through such a part, or may: the part, in words."""
    found: dict[str, str] = {}
    lines = [line for line in flat.lines if line.left.tensor.domain not in DISCRETE]
    for line in lines:
        for part in valued(line.right):
            said = obstacle(part)
            if said:
                found |= {name: said for name in _read(part) if name not in found}
    before = -1
    while before < len(found):
        before = len(found)
        for line in lines:
            if line.name in found:
                found |= {name: found[line.name] for name in _read(line.right) if name not in found}
    return found


__all__ = ["obstacle", "obstacles"]

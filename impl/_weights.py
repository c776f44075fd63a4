"""The axes of the tensors in a named tuple of weights, as they are declared, and their shapes where these have sizes."""

from math import prod
from typing import get_type_hints

from impl._axes import Axes


def axes(kind: type) -> dict[str, str]:
    """The axes of each weight of one layer: ``{"W_o": "h*d_v d_model", …}``."""
    hints = get_type_hints(kind)
    return {name: hint.dim_str.removeprefix("*L").strip() for name, hint in hints.items()}


def shapes(kind: type, sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The shape of each weight where the axes have these sizes."""
    return {
        name: tuple(
            prod(int(factor) if factor.isdigit() else sizes[factor] for factor in axis.split("*"))
            for axis in declared.split()
        )
        for name, declared in axes(kind).items()
    }


def with_axes(data: str, kind: type) -> Axes:
    """The axes of data, written as for ``Axes``, with those of the weights behind them."""
    return Axes(", ".join((data, *(f"{name} ({declared})" for name, declared in axes(kind).items()))))

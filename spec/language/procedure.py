"""Procedures: algorithms stated by what their result must satisfy, beside a plain executable reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spec.language.expr import Tensor
from spec.language.law import Axiom


@dataclass(frozen=True)
class Procedure:
    """An algorithm: the tensors it returns, the axioms they satisfy, and a reference that is plain rather than fast.

    ``reference`` takes the formula's inputs as NumPy arrays and Python numbers and returns the results as NumPy arrays.
    """

    returns: tuple[Tensor, ...]
    axioms: tuple[Axiom, ...]
    reference: Callable[..., tuple[Any, ...]]

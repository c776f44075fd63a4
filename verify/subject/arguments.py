"""The inputs of a formula as they are passed to a callable: tensors on a device, Python numbers, generators, an optional mask."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.dimensions import is_size
from spec.language.formula import Formula
from verify.inputs.dtypes import DTYPES
from verify.inputs.size_rules import NUMBERS

REAL = ("real", "positive", "nonnegative")


class Passing:
    """Converts the inputs of one formula to the arguments of a call.

    Attributes:
        formula: the formula.
        device: where tensors are.
        fixed: the inputs that are constants, of which no gradient is asked.
        takes_mask: whether the optional mask is passed at all.
    """

    def __init__(self, formula: Formula, device: str = "cpu", fixed: Collection[str] = ()) -> None:
        self.formula, self.device, self.fixed, self.takes_mask = formula, device, fixed, True

    def tensor(self, item: Tensor, value: Any, dtype: str, grad: bool = False) -> torch.Tensor:
        """One input as a contiguous tensor on the device; real ones in ``dtype``."""
        with np.errstate(over="ignore"):  # NumPy rounds as torch does, and is quicker
            return self._tensor(item, value, dtype, grad)

    def _tensor(self, item: Tensor, value: Any, dtype: str, grad: bool = False) -> torch.Tensor:
        if item.domain == "boolean":
            return torch.from_numpy(np.array(value, dtype=np.bool_, order="C")).to(self.device)
        if item.domain in WHOLE:
            return torch.from_numpy(np.array(value, dtype=np.int64, order="C")).to(self.device)
        if dtype == "float32" and self.device == "cpu":
            made = torch.from_numpy(np.array(value, dtype=np.float32, order="C"))
            return made.requires_grad_() if grad else made
        made = torch.from_numpy(np.array(value, dtype=np.float64, order="C"))
        if dtype != "float64" or self.device != "cpu":
            made = made.to(device=self.device, dtype=DTYPES[dtype])
        return made.requires_grad_() if grad else made

    def arguments(
        self, inputs: Mapping[str, Any], dtype: str, grad: bool = False, generator_seed: int | None = None
    ) -> list[Any]:
        """The inputs of an example as they are passed, in declared order (the mask left out where it is not taken)."""
        with np.errstate(over="ignore"):
            return [
                self._pass_input(item, inputs.get(item.name), dtype, grad, generator_seed)
                for item in self.formula.inputs
                if self.takes_mask or is_size(item) or item.role != "mask"
            ]

    def _pass_input(self, item: Any, value: Any, dtype: str, grad: bool, generator_seed: int | None) -> Any:
        if is_size(item):
            return int(value)
        if item.role == "generator":
            return torch.Generator(device=self.device).manual_seed(generator_seed or 0)
        if item.role == "mask":
            return None if value is None else self._tensor(item, value, dtype)
        if item.role == "number":
            return NUMBERS.get(item.domain, float)(value)
        return self._tensor(item, value, dtype, grad and item.domain in REAL and item.name not in self.fixed)


__all__ = ["Passing"]

"""The arguments of the formulas applied in a claim, for many examples of equal sizes at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spec.language.arrays import WHOLE, Tensor
from spec.language.evaluation.batching import EXAMPLE
from spec.language.evaluation.compiled.applications import Applications
from verify.inputs.examples import Example, round_to


class OfExamples(Applications):
    """Gathers arguments for each of some examples; ``tensors`` holds what each gives for a tensor, by name."""

    leading = (EXAMPLE,)

    def __init__(self, examples: Sequence[Example], tensors: Mapping[str, Sequence[Any]]) -> None:
        self.examples, self.tensors = examples, tensors

    def read_argument(self, frame: Any, item: Tensor, value: Tensor) -> Sequence[Any]:
        """A tensor that is an argument as it stands, in each example in the type under check."""
        every = self.tensors[value.name]
        if item.domain in WHOLE or item.domain == "boolean":
            return every
        return [round_to(own, each.dtype) for own, each in zip(every, self.examples, strict=True)]

    def real(self, number: Any) -> Any:
        """Return a real argument for each example, in the type under check."""
        found, dtypes = np.array(number.floats()), [example.dtype for example in self.examples]
        for dtype in {*dtypes}:
            here = np.array([own == dtype for own in dtypes])
            found[here] = round_to(found[here], dtype)
        return found


__all__ = ["OfExamples"]

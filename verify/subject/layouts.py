"""Tensors as Python text that makes them again: their entries, bit for bit, and how they lie in memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import torch

from verify.inputs.dtypes import NAMES
from verify.scripting.literals import literal

LONG = 60
"""Characters of a literal that is written once, however often it is needed."""


class Literals:
    """The tensors written down in some lines, where a mark stands for each until it is known how often it is needed."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def of(self, tensor: torch.Tensor) -> str:
        """A mark for a tensor of these entries, contiguous."""
        array = tensor.detach().double() if tensor.is_floating_point() else tensor.detach()
        text = literal(array.numpy(), NAMES.get(tensor.dtype, "float64"))
        return f"\0{self.texts.setdefault(text, len(self.texts))}\0"

    def settled(self, lines: Sequence[str]) -> tuple[list[str], list[str]]:
        """The lines with the tensors in them, and before these the tensors that are needed more than once."""
        texts, every = list(self.texts), [int(k) for line in lines for k in re.findall("\0(\\d+)\0", line)]
        often = [k for k, count in Counter(every).items() if count > 1 and len(texts[k]) > LONG]
        names = {k: f"given_{place}" for place, k in enumerate(often, 1)}

        def put(match: re.Match[str]) -> str:
            k = int(match[1])
            return f"{names[k]}.clone()" if k in names else texts[k]

        given = [f"{name} = {texts[k]}" for k, name in names.items()]
        return [re.sub("\0(\\d+)\0", put, line) for line in lines], given


def content(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of all that is in the storage of a tensor."""
    storage = tensor.detach().untyped_storage()
    count = storage.nbytes() // tensor.element_size()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (count,), (1,)).clone()


def stored(tensor: torch.Tensor, literals: Literals) -> str:
    """A tensor of its entries, stored as it is."""
    whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
    if not tensor.numel() or (tensor.is_contiguous() and whole):
        return literals.of(tensor)
    if tensor.ndim > 1 and tensor.mT.is_contiguous() and whole:
        return f"{literals.of(tensor)}.mT.contiguous().mT"
    repeated = next((axis for axis, step in enumerate(tensor.stride()) if step), tensor.ndim)
    member = tensor[(0,) * repeated]
    if repeated and member.is_contiguous():
        return f"{literals.of(member)}.expand({', '.join(map(str, tensor.shape))})"
    view = f"{tuple(tensor.shape)}, {tensor.stride()}, {tensor.storage_offset()}"
    return f"{literals.of(content(tensor))}.as_strided({view})"


__all__ = ["Literals", "content", "stored"]

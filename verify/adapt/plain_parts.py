"""Parts of plain lines: tensors laid out otherwise, members that are called one by one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from verify.adapt.adapter import SEPARATELY, Bound
from verify.scripting.naming import Unwritten


def apart(bound: Bound) -> bool:
    """Whether each member of a batch is called by itself."""
    return bound.layout.batch == SEPARATELY or bound.form.form == "nm"


def looped(texts: Sequence[str], bound: Bound, carried: Sequence[str], lead: tuple[int, ...]) -> str:
    """The lines of the call of one member, or of each, then those of all of them."""
    known = ["member"] if len(texts) == 1 else [f"member_{place}" for place in range(len(texts))]
    which = known[0] if len(texts) == 1 else f"({', '.join(known)})[at]"
    names = [*bound.inputs]
    if bound.masked:
        names[-1] += "=None"
    members = [
        f"{name}.reshape(-1, *{name}.shape[{len(lead)}:])[at]" if name in carried else name
        for name in bound.inputs
    ]
    lines = [
        *(
            line
            for name, text in zip(known, texts, strict=True)
            for line in (text.replace("def function(", f"def {name}(", 1).rstrip(), "", "")
        ),
        f"def function({', '.join(names)}):",
        f"    every = [{which}({', '.join(members)}) for at in range({prod(lead)})]",
        "    rows = [one if isinstance(one, tuple) else (one,) for one in every]",
        f"    found = tuple(torch.stack(row).reshape({lead!r} + row[0].shape) for row in zip(*rows))",
        "    return found if len(found) > 1 else found[0]",
        "",
    ]
    return "\n".join(lines)


def arranged(letter: Tensor) -> list[tuple[str, Tensor]]:
    """A letter's entries in their order, and transposed: what is written behind its name, and their numbers."""
    numbers = torch.arange(letter.numel()).reshape(letter.shape)
    return [("", numbers), (".mT", numbers.mT)] if letter.ndim > 1 else [("", numbers)]


def laid_out(name: str, value: Tensor, laid: Tensor, change: Any) -> str:
    """A tensor laid out otherwise: by what moves its axes, as it is told by its numbers."""
    if laid.shape == value.shape and laid is value:
        return name
    numbers = torch.arange(value.numel()).reshape(value.shape)
    moved = change(numbers)
    if moved.numel() != value.numel():
        if not torch.equal(numbers.expand(moved.shape), moved):
            raise Unwritten
        return f"{name}.expand({listing(moved.shape)})"
    shape = tuple(moved.shape)
    if torch.equal(moved.flatten(), numbers.flatten()):
        return name if shape == tuple(value.shape) else f"{name}.reshape({listing(shape)})"
    return f"{name}.flatten()[{moved.flatten().tolist()}].reshape({listing(shape)})"


def listing(shape: Sequence[int]) -> str:
    """Sizes as arguments."""
    return ", ".join(map(str, shape)) or "()"


__all__ = ["apart", "arranged", "laid_out", "listing", "looped"]

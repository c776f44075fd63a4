"""In scripts: a function that takes a certain number of leading dimensions only, called with others, in plain lines."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from spec.language.arrays import Tensor
from spec.language.formula import Formula
from verify.output.played import source
from verify.report import Counterexample
from verify.subject import leading


def led_lines(formula: Formula, example: Counterexample, allowed: Sequence[int]) -> list[str]:
    """The function in the shapes that it takes, as :func:`verify.subject.leading.led` calls it; none where it takes these."""
    carried = {
        item.name: np.shape(example.inputs[item.name])
        for item in formula.inputs
        if isinstance(item, Tensor)
        and item.role in ("data", "mask")
        and isinstance(example.inputs.get(item.name), np.ndarray)
    }
    own = {t.name: len(t.shape) for t in formula.tensors}
    given = next((shape[: len(shape) - own[name]] for name, shape in carried.items()), ())
    if not carried or len(given) in allowed:
        return []
    target = min(allowed, key=lambda count: (abs(count - len(given)), count))
    names = [str(item) for item in formula.inputs]
    taken = ", ".join([*names[:-1], names[-1] + ("=None" if formula.is_mask(formula.inputs[-1]) else "")])
    if target:
        lead = (1,) * (target - len(given)) + given
        lead = (prod(lead[: len(lead) - target + 1]), *lead[len(lead) - target + 1 :])
        moved = [
            f"{name}.reshape({_row((*lead, *carried[name][len(given) :]))})" if name in carried else name
            for name in names
        ]
        call = f"found = inner({_listed(formula, example, moved)})"
        shaped = [f"out.reshape({_shape(given)}*out.shape[{target}:])"]
    else:
        members = [
            f"{name}.reshape({_row((-1, *carried[name][len(given) :]))})[at]" if name in carried else name
            for name in names
        ]
        every = f"[inner({_listed(formula, example, members)}) for at in range({prod(given)})]"
        call = f"found = {every}"
        shaped = [f"torch.stack(list(out)).reshape({_shape(given)}*out[0].shape)"]
    result = _result(shaped[0], bool(target))
    return [
        "",
        "",
        f"def led({taken}, inner=function):",
        f"    {call}",
        *(f"    {line}" for line in result),
        "",
        "",
        "function = led",
    ]


def by_leading_lines(formula: Formula, allowed: Sequence[int]) -> list[str]:
    """The same for calls of any shapes."""
    helpers = (leading.by_leading, leading.one_by_one, leading.each)
    return [
        "",
        "",
        "from math import prod",
        *(line for helper in helpers for line in ("", "", *source(helper))),
        "",
        "",
        f"function = by_leading(function, {leading.carried(formula)!r}, {tuple(allowed)!r})",
    ]


def _listed(formula: Formula, example: Counterexample, names: list[str]) -> str:
    """The arguments, without a mask that is none."""
    last = str(formula.inputs[-1])
    absent = formula.is_mask(formula.inputs[-1]) and example.inputs.get(last) is None
    return ", ".join(names[:-1] if absent else names)


def _row(shape: Sequence[int]) -> str:
    return ", ".join(map(str, shape))


def _shape(given: Sequence[int]) -> str:
    return "".join(f"{size}, " for size in given)


def _result(shaped: str, together: bool) -> list[str]:
    """The outputs in the shapes that were asked for."""
    if together:
        return [
            "if isinstance(found, (tuple, list)):",
            f"    return tuple({shaped} for out in found)",
            f"return {shaped.replace('out', 'found')}",
        ]
    return [
        "if isinstance(found[0], (tuple, list)):",
        f"    return tuple({shaped} for out in zip(*found))",
        f"return {shaped.replace('out', 'found')}",
    ]


def outputs_shapes(formula: Formula, sizes: dict[Any, int], batch: Sequence[int]) -> list[tuple[int, ...]]:
    """The shape of each output."""
    from spec.language.evaluation.dimensions import whole

    return [(*batch, *(whole(size, sizes) for size in t.shape)) for t in formula.outputs]


__all__ = ["by_leading_lines", "led_lines", "outputs_shapes"]

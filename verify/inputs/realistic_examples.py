"""Examples of the sizes of real models: data are unit normal, and weights keep them so.

Over how many entries a weight is summed is read off the statement.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from spec.language.binders import SumOf
from spec.language.evaluation.dimensions import Size, whole
from spec.language.expr import Func, Ref
from spec.language.formula import Formula
from spec.language.trees import free_symbols, walk
from verify.inputs.examples import Example, Recipe, Space, rounded
from verify.inputs.kept_examples import KEPT
from verify.inputs.size_rules import EVERY_SIZE, Supported

DRAWN = 6
"""For how many sizes and seeds the parameters are kept: those of one formula, until the next type, or target, asks for them."""
REAL = ("real", "positive", "nonnegative")
UNUSUAL = 8
"""The place of numbers that nobody builds in, such as ε = 1e-3, while ids are any: what a kernel for a width of models has fixed
shows there.
"""


def realistic(
    formula: Formula,
    sizes: Mapping[Size, int],
    dtype: str,
    seed: int,
    masks: bool,
    supported: Supported = EVERY_SIZE,
    batch: tuple[int, ...] = (),
    number: int = 0,
) -> Example:
    """An example at realistic sizes; ``masks`` draws a random mask where the statement has one, and labels for all; ``number`` is
    the place of the first number among those that are offered.
    """
    causal = supported.masks == "causal"  # there is no other, and none is a mask, too
    space = _space(formula, masks or causal, supported)

    def drawn() -> Example:
        made = unit_weights(formula, sizes, dtype, seed, space.fixed)
        example = space.example(Recipe(0, 0, 0, int(masks), number, seed), dtype, batch, sizes, made)
        return replace(example, regime="as wide as real models")

    return KEPT.get((space, dtype, seed, masks, batch, number, *sizes.items()), drawn)


def unit_weights(
    formula: Formula, sizes: Mapping[Size, int], dtype: str, seed: int, fixed: Collection[str] = ()
) -> dict[str, Any]:
    """Random parameters, those that are ``fixed`` left out, by which data of unit size stay so."""
    weights = _weights(formula, tuple(sizes.items()), frozenset(fixed), seed)
    return {name: rounded(values, dtype) for name, values in weights.items()}


@lru_cache(maxsize=32)
def _space(formula: Formula, masks: bool, supported: Supported) -> Space:
    """The examples of a formula: what they may be about is read off it once."""
    return Space(formula, masks, supported=supported)


@lru_cache(maxsize=DRAWN)
def _weights(
    formula: Formula, sizes: tuple[tuple[Size, int], ...], fixed: frozenset[str], seed: int
) -> Mapping[str, Any]:
    """The parameters that are not ``fixed``, before they are rounded to a type: every type is graded at the same.

    They are uniform, as layers begin, and the mean of their squares is 1 over the number of terms that they are summed with.
    """
    random, at = np.random.default_rng([seed, 13]), dict(sizes)
    fans, made = _fans(formula, at), {}
    for item in formula.tensors:
        if item.role == "parameter" and item.domain in REAL and item.name not in fixed:
            shape = tuple(whole(size, at) for size in item.shape)
            single = random.random(shape, np.float32)  # no type graded holds more
            drawn = np.asarray(np.subtract(1, single, out=single if shape else None), np.float64)
            spread = 3.0  # of numbers up to 1, none of them 0, whose squares have the mean 1/3
            if item.domain == "real":
                drawn -= 0.5
                spread = 12.0
            drawn *= math.sqrt(spread / fans.get(item.name, 1))
            made[item.name] = drawn
    return made


def _fans(formula: Formula, sizes: Mapping[Size, int]) -> dict[str, int]:
    """For each parameter over how many of its entries a sum runs."""
    return {
        name: math.prod(whole(length, sizes) for length in lengths)
        for name, lengths in _summed(formula).items()
    }


@lru_cache(maxsize=64)
def _summed(formula: Formula) -> dict[str, list[Any]]:
    """For each parameter the lengths of those of its axes that a sum runs over: read off the statement once."""
    found: dict[str, dict[int, Any]] = {}
    for line in formula.flat(None).lines:
        for part in walk(line.right):
            if not isinstance(part, SumOf):
                continue
            for entry in _outside_functions(part.body):
                if entry.tensor.role == "parameter":
                    for axis, index in enumerate(entry.index):
                        if part.var in free_symbols(index):
                            found.setdefault(entry.tensor.name, {})[axis] = entry.tensor.shape[axis]
    return {name: list(axes.values()) for name, axes in found.items()}


def _outside_functions(node: Any) -> Iterator[Ref]:
    """The entries that a sum adds up, those inside a function left out: a function starts anew."""
    if isinstance(node, Ref):
        yield node
    elif not isinstance(node, Func):
        for part in node.args:
            yield from _outside_functions(part)


def forget() -> None:
    """Keep no parameters, and no examples: those of another formula are asked for."""
    _weights.cache_clear()
    KEPT.forget()


__all__ = ["UNUSUAL", "forget", "realistic", "unit_weights"]

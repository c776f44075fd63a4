"""The examples of large sizes, one at a time, and of a large batch.

The statement is asked for little: all other sizes are small, and of a batch only some members are compared. Data and weights are
drawn as for real models, so that no softmax is saturated and no bound is wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from spec.language.formula import Formula
from verify.inputs.examples import Example, Space, rounded
from verify.inputs.large_sizes import (
    GRADIENTS,
    LONG_SLOPES,
    SLOPING,
    TWICE,
    Large,
    full_blocks,
    large_sizes,
    many_rows,
    members,
    several_layers,
    small_sizes,
    usual_widths,
)
from verify.inputs.realistic_examples import UNUSUAL, realistic
from verify.properties.judge import Judge
from verify.properties.slopes import with_cotangents

OUTLIER = 128.0
"""An entry among others of about 1."""
LARGER = 3.0
"""How much larger data are in the last block."""

Drawing = Callable[[Judge, Space, int, Sequence[str], Sequence[str]], Iterator[Example]]
"""Examples for a judge from a space and a seed, in these types, and in which of them with cotangents."""


def large_examples(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Each size large in its turn: values where it is as large as they allow, then gradients where it is as large as these do.

    One of them is with a mask, the other without; they are in each type in turn. Values are looked at twice where there are no
    gradients. Then values where blocks are filled, at usual widths, where there are many rows and columns, and of several layers.
    """
    formula, supported, masks = judge.formula, space.supported, len(space.masks) > 1
    far = large_sizes(formula, supported)
    slopes = large_sizes(formula, supported, GRADIENTS, LONG_SLOPES) if graded else ()
    every = {large.says: large for large in (*far, *slopes)}
    for place, large in enumerate(every.values()):
        for turn in range(2):
            dtype = dtypes[(place + turn) % len(dtypes)]
            sloping = turn == 1 and large in slopes
            if sloping and dtype not in graded:
                dtype = graded[0]
            if not sloping and (large not in far or (turn and large.cost > TWICE)):
                continue
            with_mask = masks and turn == place % 2
            wide = realistic(formula, large.sizes, dtype, seed + place, with_mask, supported)
            example = replace(
                _within(space, _telling(formula, large, wide)), regime=f"large sizes: {large.says}"
            )
            yield with_cotangents(judge, example, seed + place) if sloping else example
    for place, large in enumerate(full_blocks(formula, supported)):
        dtype = dtypes[place % len(dtypes)]
        full = realistic(formula, large.sizes, dtype, seed + place, masks and place % 2 == 1, supported)
        other = _outlying(formula, large, full)
        yield replace(_within(space, full), regime=f"large sizes: {large.says}")
        if other is not full:
            yield replace(_within(space, other), regime=f"large sizes: {large.says}, with an outlier")
    for place, large in enumerate(usual_widths(formula, supported)):
        dtype = dtypes[place % len(dtypes)]
        with_mask = masks and place % 2 == 1
        usual = realistic(formula, large.sizes, dtype, seed + place, with_mask, supported, number=UNUSUAL)
        example = replace(_within(space, usual), regime=f"large sizes: {large.says}")
        yield example
        if dtype in graded and large.cost <= LONG_SLOPES and large.sizes[large.size] in SLOPING:
            yield with_cotangents(judge, example, seed + place)
    for place, large in enumerate(many_rows(formula, supported)):
        for turn, dtype in enumerate(dtypes):
            long = realistic(formula, large.sizes, dtype, seed + turn, masks and turn == place, supported)
            yield replace(_within(space, long), regime=f"large sizes: {large.says}")
    for large in several_layers(formula, supported):
        for turn in range(1 + masks):  # in the first type, in which most can be said
            deep = space.young(large.sizes, seed + turn, masks and turn == 1, dtypes[0])
            example = replace(deep, regime=f"large sizes: {large.says}")
            yield example
            if turn == 0 and dtypes[0] in graded:
                yield with_cotangents(judge, example, seed)


def _telling(formula: Formula, large: Large, example: Example) -> Example:
    """The example with larger data in the last block, which is a part of one: what decides stands there more often than not."""
    changed = {}
    for item in formula.tensors:
        if item.role == "data" and item.domain == "real" and large.size in item.shape:
            axis = item.shape.index(large.size) - len(item.shape)
            made = np.array(example.inputs[item.name])
            np.moveaxis(made, axis, 0)[-large.tail :] *= LARGER
            changed[item.name] = rounded(made, example.dtype)
    return example.changed(**changed)


def _outlying(formula: Formula, large: Large, example: Example) -> Example:
    """The example with an outlier in each long row of an input: it stands out of a wide row by more deviations than of others."""
    for item in formula.tensors:
        if item.role == "data" and item.domain == "real" and item.shape[-1:] == (large.size,):
            made = np.array(example.inputs[item.name])
            made[..., 0] = OUTLIER
            return example.changed(**{item.name: rounded(made, example.dtype)})
    return example


def large_batch(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """A batch of many members with a mask, and one without, in each type in its turn; the latter with gradients. Where there are
    masks, one more of both, if the statement says something under any: of a parameter's gradient all members are a part.
    """
    if space.supported.few:
        return
    sizes, masks = small_sizes(judge.formula, space.supported), len(space.masks) > 1
    batch = (members(judge.formula, sizes),)
    for turn in range(3 if masks and graded and not judge.partial else 2):
        dtype = graded[0] if turn == 2 else dtypes[turn % len(dtypes)]
        made = realistic(
            judge.formula, sizes, dtype, seed + turn, masks and turn != 1, space.supported, batch
        )
        example = replace(_within(space, made), regime=f"a batch of {batch[0]}")
        yield with_cotangents(judge, example, seed) if turn and dtype in graded else example


def _within(space: Space, example: Example) -> Example:
    """The example, inside of the range that was declared."""
    within = space.supported.within
    return example if within is None else within.brought(example)


__all__ = ["Drawing", "large_batch", "large_examples"]

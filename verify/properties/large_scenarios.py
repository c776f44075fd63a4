"""Large sizes, one at a time, and a large batch: where blocks end in a part of one, and where an index wraps.

The statement is asked for little: all other sizes are small, and of a batch only some members are compared. Data and weights are
drawn as for real models, so that no softmax is saturated and no bound is wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spec.language.formula import Formula
from verify.faults import Fault, Unsupported
from verify.inputs.examples import Example, Space, rounded
from verify.inputs.large_sizes import (
    GRADIENTS,
    LONG_SLOPES,
    LOOKED_AT,
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
from verify.properties.gradients import (
    NO_GRADIENT,
    backward,
    compared,
    expected_batch,
    judge_gradient,
    unsaid,
    with_cotangents,
)
from verify.properties.values import Expected, Judge, Outcome, compare, explain, judge_value, worst
from verify.subject.caller import Caller
from verify.subject.returned import values

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


def one_large_size(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The value; of an example with cotangents the gradient."""
    return (judge_gradient if example.cotangents else judge_value)(judge, caller, example)


def of_a_large_batch(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Some members of a batch against what the statement says of each by itself.

    Gradients are those of cotangents that are 0 for all other members: their share of a parameter's gradient is exactly 0.
    """
    places = looked_at(example.batch)
    part = _members(judge, example, places)
    kind = example.dtype if judge.real else None
    try:
        passed = caller.arguments(
            example.inputs, example.dtype, bool(example.cotangents), example.generator_seed
        )
        outputs = caller.results(passed, example.sizes, example.batch, kind)
        dtype = kind or str(outputs[0].dtype).removeprefix("torch.")
        expected = [_spread(e, places, example) for e in judge.expect_batch(part, dtype=dtype)]
        outcome = worst([compare(e, values(g)) for e, g in zip(expected, outputs, strict=True)])
        if outcome.fails or not example.cotangents or unsaid(judge, part):
            return explain(judge, caller, outcome, example)
        if not any(out.requires_grad for out in outputs):
            raise Unsupported(f"{judge.formula.id}: {caller.name}: {NO_GRADIENT}")
        seeded = {name: _elsewhere_zero(value, places) for name, value in example.cotangents.items()}
        found = backward(caller, replace(example, cotangents=seeded), passed, outputs)
    except Fault as fault:
        return Outcome(ratio=math.inf, message=str(fault), violates=judge.formula.title)
    data = {tensor.name for tensor in judge.formula.tensors if tensor.role == "data"}
    slopes = expected_batch(judge, part, list(found))
    slopes |= {name: _spread(each, places, example) for name, each in slopes.items() if name in data}
    return outcome.worse(compared(judge, caller, example, found, slopes))


def looked_at(batch: tuple[int, ...]) -> list[int]:
    """Which members of a batch are compared: past each power of two, and the last."""
    return sorted({place for place in LOOKED_AT if place < batch[0]} | {batch[0] - 1})


def _members(judge: Judge, example: Example, places: list[int]) -> Example:
    """An example of some members of a batch."""
    inputs = dict(example.inputs)
    for item in judge.formula.tensors:
        value = inputs.get(item.name)
        if item.role in ("data", "mask") and isinstance(value, np.ndarray):
            inputs[item.name] = value[places]
    seeds = {name: value[places] for name, value in example.cotangents.items()}
    return replace(example, inputs=inputs, cotangents=seeds, batch=(len(places),))


def _elsewhere_zero(value: Any, places: list[int]) -> Any:
    made = np.zeros_like(value)
    made[places] = value[places]
    return made


def _spread(expected: Expected, places: list[int], example: Example) -> Expected:
    """What is expected of some members, as of the whole batch: nothing is said of the others."""
    shape = (*example.batch, *expected.value.shape[1:])
    value, bound = np.zeros(shape), np.full(shape, np.inf)
    value[places], bound[places] = expected.value, expected.bound
    return Expected(expected.name, value, bound)


__all__ = [
    "Drawing",
    "large_batch",
    "large_examples",
    "looked_at",
    "of_a_large_batch",
    "one_large_size",
]

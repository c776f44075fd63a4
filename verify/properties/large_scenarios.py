"""Large sizes, one at a time, and a large batch: where blocks end in a part of one, and where an index wraps.

The statement is asked for little: all other sizes are small, and of a batch only some members are compared. Data and weights are
drawn as for real models, so that no softmax is saturated and no bound is wide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from spec.language.arrays import Tensor
from spec.language.formula import Formula
from verify.faults import Fault, NoGradient
from verify.inputs.examples import UNUSUAL, Example, Space, realistic, round_to
from verify.inputs.sizes import (
    END_SLOPES,
    MEMBERS,
    SLOPING,
    Large,
    full_blocks,
    large_sizes,
    many_rows,
    members,
    several_layers,
    usual_widths,
)
from verify.properties.gradients import backward, compare_gradients, judge_gradient
from verify.properties.judge import Expected, Judge
from verify.properties.slopes import expect_batch_gradients, of_what_is_said, with_cotangents
from verify.properties.values import compare, explain, judge_value
from verify.search.outcome import Outcome, worst
from verify.subject.caller import Caller
from verify.subject.returned import values

OUTLIER, LARGER = 128.0, 3.0
"""An entry among others of about 1, and how much larger data are in the last block."""
TWICE = 1e5
"""Up to so many entries there are two examples of values alone."""
COMPARED_MEMBERS = tuple(sorted({0, *(2**power for power in range(5, 11)), *range(75, MEMBERS[0], 137)}))
"""The members of a batch that are compared with the statement, and the last: past each power of two, and one in every 137."""

Drawing = Callable[[Judge, Space, int, Sequence[str], Sequence[str]], Iterator[Example]]
"""Examples for a judge from a space and a seed, in these types, and in which of them with cotangents."""
Change = Callable[[Formula, Large, Example], Example]
"""Changes an example where it is large."""


def large_examples(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Draw examples of large sizes: each size in its turn, full blocks, usual widths, many rows and columns, several layers.

    Types and masks are taken by turns. Examples with cotangents are about gradients, the others about values.
    """
    if space.supported.few:
        return
    for draw in (_each_size, _full_blocks, _usual_widths, _many_rows, _several_layers):
        yield from draw(judge, space, seed, dtypes, graded)


def _draw_large(
    judge: Judge,
    space: Space,
    large: Large,
    seed: int,
    dtype: str,
    masked: bool,
    change: Change | None = None,
    number: int = 0,
    said: str = "",
) -> Example:
    """Draw an example of large sizes, with a mask if it is ``masked`` and there are any: with empty rows, if they are defined."""
    mask = (1 if judge.partial else 2) if len(space.masks) > 1 and masked else 0
    made = realistic(judge.formula, large.sizes, dtype, seed, mask, space.supported, number=number)
    made = change(judge.formula, large, made) if change else made
    return replace(space.restrict(made), regime=f"large sizes: {large}{said}")


def _each_size(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Draw each size large in its turn, twice where that is cheap; those whose gradients are cheap with cotangents, too."""
    far, slopes = large_sizes(space.sizing), large_sizes(space.sizing, True) if graded else ()
    for place, large in enumerate(far):
        for turn in range(1 if large.cost > TWICE or large in slopes else 2):
            dtype, masked = dtypes[(place + turn) % len(dtypes)], turn == place % 2
            yield _draw_large(judge, space, large, seed + place, dtype, masked, _enlarge_last_block)
    for place, large in enumerate(slopes):
        dtype, masked = graded[(place + 1) % len(graded)], place % 2 == 1
        example = _draw_large(judge, space, large, seed + place, dtype, masked, _enlarge_last_block)
        yield with_cotangents(judge, example, seed + place)


def _full_blocks(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Draw sizes of whole blocks, and again with an outlier where they are those of rows."""
    for place, large in enumerate(full_blocks(space.sizing)):
        dtype, masked = dtypes[place % len(dtypes)], place % 2 == 1
        yield _draw_large(judge, space, large, seed + place, dtype, masked)
        if _long_rows(judge.formula, large):
            said = ", with an outlier"
            yield _draw_large(judge, space, large, seed + place, dtype, masked, _add_outlier, said=said)


def _usual_widths(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Draw the widths of real models with an unusual number such as ε, and again with cotangents where that is cheap."""
    for place, large in enumerate(usual_widths(space.sizing)):
        dtype, masked = dtypes[place % len(dtypes)], place % 2 == 1
        example = _draw_large(judge, space, large, seed + place, dtype, masked, number=UNUSUAL)
        yield example
        if dtype in graded and large.cost <= END_SLOPES.cost and large.sizes[large.large[0]] in SLOPING:
            yield with_cotangents(judge, example, seed + place)


def _many_rows(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Draw many rows and columns in each type."""
    for place, large in enumerate(many_rows(space.sizing)):
        for turn, dtype in enumerate(dtypes):
            yield _draw_large(judge, space, large, seed + turn, dtype, turn == place)


def _several_layers(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Draw stacks of several layers, without and with a mask, in the first type, in which most can be said."""
    masks = len(space.masks) > 1
    for large in several_layers(space.sizing):
        for turn in range(1 + masks):
            young = space.young(large.sizes, seed + turn, masks and turn == 1, dtypes[0])
            example = replace(young, regime=f"large sizes: {large}")
            yield example
            if turn == 0 and dtypes[0] in graded:
                yield with_cotangents(judge, example, seed)


def _enlarge_last_block(formula: Formula, large: Large, example: Example) -> Example:
    """The example with larger data in the last block, which is a part of one: what decides stands there more often than not."""
    changed = {}
    for item in formula.tensors:
        if item.role == "data" and item.domain == "real" and large.large[0] in item.shape:
            axis = item.shape.index(large.large[0]) - len(item.shape)
            made = np.array(example.inputs[item.name])
            np.moveaxis(made, axis, 0)[-large.tail :] *= LARGER
            changed[item.name] = round_to(made, example.dtype)
    return example.replace_inputs(**changed)


def _long_rows(formula: Formula, large: Large) -> list[Tensor]:
    """The real data whose rows are as long as what is large."""
    real = (item for item in formula.tensors if item.role == "data" and item.domain == "real")
    return [item for item in real if item.shape[-1:] == large.large[:1]]


def _add_outlier(formula: Formula, large: Large, example: Example) -> Example:
    """The example with an outlier in each long row of an input: it stands out of a wide row by more deviations than of others."""
    for item in _long_rows(formula, large)[:1]:
        made = np.array(example.inputs[item.name])
        made[..., 0] = OUTLIER
        return example.replace_inputs(**{item.name: round_to(made, example.dtype)})
    return example


def large_batch(
    judge: Judge, space: Space, seed: int, dtypes: Sequence[str], graded: Sequence[str]
) -> Iterator[Example]:
    """Draw a batch of many members with a mask, and one without, in each type in its turn; the latter with gradients.

    Where there are masks, one more of both, if the statement says something under any: of a parameter's gradient all members are
    a part.
    """
    if space.supported.few:
        return
    sizes, masks = space.sizing.keep_small({}), len(space.masks) > 1
    batch = (members(judge.formula, sizes),)
    for turn in range(3 if masks and graded else 2):
        dtype = graded[0] if turn == 2 else dtypes[turn % len(dtypes)]
        mask = masks and turn != 1
        made = realistic(judge.formula, sizes, dtype, seed + turn, mask, space.supported, batch)
        example = replace(space.restrict(made), regime=f"a batch of {batch[0]}")
        yield with_cotangents(judge, example, seed) if turn and dtype in graded else example


def one_large_size(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """The value; of an example with cotangents the gradient."""
    return (judge_gradient if example.cotangents else judge_value)(judge, caller, example)


def of_a_large_batch(judge: Judge, caller: Caller, example: Example) -> Outcome:
    """Some members of a batch against what the statement says of each by itself.

    Gradients are those of cotangents that are 0 for all other members: their share of a parameter's gradient is exactly 0.
    """
    places = choose_members(example.batch)
    (part,) = of_what_is_said(judge, [_members(judge, example, places)])
    kind = example.dtype if judge.real else None
    try:
        passed = caller.arguments(
            example.inputs, example.dtype, bool(example.cotangents), example.generator_seed
        )
        outputs = caller.results(passed, example.sizes, example.batch, kind)
        dtype = kind or str(outputs[0].dtype).removeprefix("torch.")
        expected = [_expand_to_batch(e, places, example) for e in judge.expect_batch(part, dtype=dtype)]
        outcome = worst([compare(e, values(g)) for e, g in zip(expected, outputs, strict=True)])
        if outcome.fails or not example.cotangents:
            return explain(judge, caller, outcome, example)
        if not any(out.requires_grad for out in outputs):
            raise NoGradient(f"{judge.formula.id}: {caller.name}: the output carries no gradient")
        seeded = {name: _elsewhere_zero(example, value, places) for name, value in part.cotangents.items()}
        found = backward(caller, replace(example, cotangents=seeded), passed, outputs)
    except Fault as fault:
        return Outcome.of_fault(fault, judge.formula.title)
    data = {tensor.name for tensor in judge.formula.tensors if tensor.role == "data"}
    slopes = expect_batch_gradients(judge, part, list(found))
    slopes |= {name: _expand_to_batch(each, places, example) for name, each in slopes.items() if name in data}
    return outcome.worse(compare_gradients(judge, caller, example, found, slopes))


def choose_members(batch: tuple[int, ...]) -> list[int]:
    """Which members of a batch are compared: past each power of two, and the last."""
    return sorted({place for place in COMPARED_MEMBERS if place < batch[0]} | {batch[0] - 1})


def _members(judge: Judge, example: Example, places: list[int]) -> Example:
    """An example of some members of a batch."""
    inputs = dict(example.inputs)
    for item in judge.formula.tensors:
        value = inputs.get(item.name)
        if item.role in ("data", "mask") and isinstance(value, np.ndarray):
            inputs[item.name] = value[places]
    seeds = {name: value[places] for name, value in example.cotangents.items()}
    return replace(example, inputs=inputs, cotangents=seeds, batch=(len(places),))


def _elsewhere_zero(example: Example, value: Any, places: list[int]) -> Any:
    made = np.zeros((*example.batch, *value.shape[1:]))
    made[places] = value
    return made


def _expand_to_batch(expected: Expected, places: list[int], example: Example) -> Expected:
    """Expand the expected values of some members to the whole batch; nothing is expected of the others."""
    shape = (*example.batch, *expected.value.shape[1:])
    value, bound = np.zeros(shape), np.full(shape, np.inf)
    value[places], bound[places] = expected.value, expected.bound
    return Expected(expected.name, value, bound)


__all__ = ["Drawing", "large_batch", "large_examples", "choose_members", "of_a_large_batch", "one_large_size"]

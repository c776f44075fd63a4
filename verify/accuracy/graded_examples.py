"""The examples that are graded: at default sizes, as wide as real models, with no size small, and with one large."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from verify.inputs.examples import UNUSUAL, Example, realistic, round_to
from verify.inputs.ranges import REAL
from verify.inputs.sizes import (
    BLOCKS,
    GRADED,
    TALL,
    Sizes,
    Sizing,
    beside_one,
    entries,
    large_data,
    make_sizing,
    many_layers,
    many_steps,
    none_small,
    one_large,
    one_long_sum,
    one_query,
    repeats,
    usual_proportions,
    vast_sums,
    whole_blocks,
    wide_sums,
)
from verify.properties.setting import Setting

MANY, TURNS = 64, 4
"""Entries from which on a root mean square says something: a few may be several sigma off, or right, by chance. An output
of fewer is graded at several wide examples; all are, where that is cheap: one rounding may be that of a whole row."""
EXAMPLES = 2
"""Examples at default sizes; one of a costly statement."""
BACKWARD, ENTRIES = 0.02, 6e5
"""For gradients, and for the additional ones of few entries: the share of the budget for the widest values, as there are many
more lines; and the most entries that inputs have, for their gradients have as many in every sample."""
FEW, LONE = 0.25, 1.5e6
"""The share of these entries where there are several such examples; and how many there may be where one size alone is large."""
BROAD, SHORT, ALIGNED, WHOLE = {"float32": 3.2e7}, 3.2e6, 1e8, 1.3e8
"""What an example may cost of which no size is small; and in 16-bit types, as what is coarse shows more in float32. And one whose
sizes are whole blocks; and one whose data are large along each axis."""
SAMPLES, WIDE_SAMPLES = 24, {"value": 16, "gradient": 8}
"""Random evaluations for an example at default sizes, and for a wide one."""
OFFSETS, OFFSET = 3, 1.5 * 2.0**14
"""How many inputs are moved away from 0, and how far: a number that 16-bit types hold, of which float32 leaves ten bits; amid
two powers of two, so that numbers on both sides of it are rounded alike."""
MODEL = 9e5
"""What an example of a stack of layers or of a whole model costs at least (:mod:`verify.inputs.sizes`)."""
PATIENCE = 2.0
"""Seconds of processor time that a call may take: a callable of many small steps is graded at smaller sizes."""


Draw: TypeAlias = Callable[[Setting, str, str], Iterator[Example]]
"""Draws examples for a setting in a type, of values or gradients."""


def _space(setting: Setting) -> Sizing:
    return make_sizing(setting.judge.formula, setting.caller.sizes)


def _realistic(
    setting: Setting, dtype: str, sizes: Sizes, turn: int = 0, masks: int = 0, number: int = 0
) -> Example:
    supported, seed = setting.caller.sizes, setting.seed + turn
    return realistic(setting.judge.formula, sizes, dtype, seed, masks, supported, number=number)


def wide_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """Draw a wide example, as wide as the budget and the callable's own speed allow; several where outputs have few entries."""
    formula, space = setting.judge.formula, _space(setting)
    rungs = wide_sums(space) if kind == "value" else wide_sums(space, BACKWARD * GRADED, ENTRIES)
    spent, each, chosen = 0.0, 0.0, rungs[0]
    for before, sizes in zip((rungs[0], *rungs), rungs, strict=False):
        longer = spent * space.cost(sizes) / max(space.cost(before), 1.0)
        if longer > PATIENCE:
            break
        chosen, each = sizes, longer
        if sizes is not rungs[-1]:
            spent = setting.pace(dtype, sizes)
    many, turns = repeats(formula, chosen, MANY), 1
    share, most = (BACKWARD, max(many, TURNS)) if kind == "value" else (BACKWARD**2, TURNS)
    affordable = min(share * GRADED / space.cost(chosen), PATIENCE / each if each else math.inf)
    turns = max(1, min(most, int(affordable)))
    for turn in range(turns):
        yield _realistic(setting, dtype, chosen, turn)
    if kind == "value" and turns < many and rungs[0] is not chosen:  # so many are affordable less wide
        affordable = min(BACKWARD * GRADED / space.cost(rungs[0]), PATIENCE / max(spent, 1e-6))
        for turn in range(min(repeats(formula, rungs[0], MANY), int(affordable))):
            yield _realistic(setting, dtype, rungs[0], turn)


def draw_aligned(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """Draw examples of sizes that are equal and multiples of 64, which fast paths ask for, where that is cheap: with a mask and
    without one by turns, the latter with one sequence for several inputs, once also with several; and of those of usual models.
    """
    formula, space = setting.judge.formula, _space(setting)
    if space.supported.few:
        return
    maskable = setting.caller.takes_mask or all(tensor.role != "mask" for tensor in formula.tensors)
    equal = whole_blocks(space, ALIGNED)
    every = [*equal, *usual_proportions(space, ALIGNED)]
    for turn, sizes in enumerate(every if dtype in BROAD else every[:1]):
        costly = space.cost(sizes) > BACKWARD * GRADED or entries(formula, sizes) > FEW * ENTRIES
        if (kind == "gradient" and costly) or not _affordable(setting, dtype, sizes):
            continue
        number = turn if turn < len(equal) else UNUSUAL
        made = _realistic(setting, dtype, sizes, masks=turn % 2 == 0 and maskable, number=number)
        if turn % 2:
            yield made.share_values(formula)  # whose softmax is nearly that of each position itself
        if turn % 2 == 0 or turn == 1:
            yield made


def _at(
    plan: Callable[[Sizing, str, str], Iterable[Sizes]], coarse: bool = False, asked: bool = False
) -> Draw:
    """Draw an example at each of the planned sizes at which a call does not take long, in 16-bit types too where ``coarse``, or
    where these are ``asked`` for.

    Values with a mask, too, where one has a long axis, or there are many layers; some rows are empty, if all is said of these.
    """

    def draw(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
        space = _space(setting)
        judged = asked and any(check.name == f"value in {dtype}" for check in setting.report.checks)
        if space.supported.few or not (dtype in BROAD or coarse or judged):
            return
        axes = {s for t in space.formula.tensors if t.role == "mask" for s in t.shape}
        axes = axes if kind == "value" and setting.caller.takes_mask else set()
        for sizes in plan(space, dtype, kind):
            masked = any(sizes.get(axis, 0) >= BLOCKS[-1] for axis in axes)
            masked |= bool(axes) and any(sizes[size] >= TALL for size in space.layers)
            for masks in (0, 1 if setting.judge.partial else 2)[: 1 + masked]:
                if _affordable(setting, dtype, sizes):
                    yield _realistic(setting, dtype, sizes, masks=masks)

    return draw


def _no_small(space: Sizing, dtype: str, kind: str) -> Iterable[Sizes]:
    """No size small, if that is more than a wide one: a fast path may ask for several large ones."""
    found = none_small(space, BROAD.get(dtype, SHORT), kind == "gradient")
    few, coarse = wide_sums(space)[0], dtype not in BROAD
    if kind == "gradient":
        return () if coarse else found
    return [sizes for sizes in found if any(sizes[size] > few[size] for size in sizes)]


def _many(space: Sizing, dtype: str, kind: str) -> Iterable[Sizes]:
    """Many steps, most for values: gradients go back through all of them. And more layers than a wide example has."""
    steps = many_steps(space, kind == "gradient")
    if kind == "value":  # as many steps of a wider one are graded already
        wide = none_small(space, BROAD["float32"])
        steps = tuple(s for s in steps if not any(all(w[size] >= s[size] for size in s) for w in wide))
    return (*steps, *many_layers(space))


def _one(space: Sizing, dtype: str, kind: str) -> Iterable[Sizes]:
    """One size large at a time, for gradients: of these a kernel may take another way in each. For values one sum at a time, of
    those that are short in all other examples; and one position beside many.
    """
    if kind == "gradient":
        return one_large(space, BACKWARD * GRADED, LONE)
    return (*one_long_sum(space, ALIGNED), *beside_one(space, ALIGNED))


def _vast(space: Sizing, dtype: str, kind: str) -> Iterable[Sizes]:
    """One sum over thousands of terms at a time, and data that are large along each axis, for values."""
    return (*vast_sums(space), *large_data(space, ALIGNED, WHOLE)) if kind == "value" else ()


def _single(space: Sizing, dtype: str, kind: str) -> Iterable[Sizes]:
    """One query, one step, for values: everything that no sum runs over is one."""
    return one_query(space, BACKWARD * GRADED) if kind == "value" else ()


def _affordable(setting: Setting, dtype: str, sizes: Sizes) -> bool:
    """Whether a call at these sizes takes no longer than is waited for, going by one at few entries."""
    if setting.clock.over:
        return False
    space = _space(setting)
    few = wide_sums(space)[0]
    times = space.cost(sizes) / max(space.cost(few), 1.0)
    more = entries(space.formula, sizes) / max(entries(space.formula, few), 1)
    return setting.pace(dtype, few) * max(times, more) <= PATIENCE


def default_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """Planned examples with their sizes, masks and numbers, of ordinary data: how a row that cancels rounds is chance.

    For gradients weights keep data of unit size. Else scores are in the hundreds and a softmax is 1 and 0, without an error in
    careful arithmetic; fused kernels compute it anew going backward, from its logarithm, and are off by a share as large as it.
    """
    space = setting.space(moderate=True)
    for recipe in space.plan(1 if space.sizing.costly else EXAMPLES, setting.seed + 17):
        recipe = recipe._replace(regime=0, other=0)
        example = space.example(recipe, dtype)
        if kind == "gradient":
            example = space.example(recipe, dtype, example.batch, example.sizes, weights=setting.seed)
        yield example


def offset_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """Draw examples in which one input after the other is far from 0, each row as a whole, for values: where the digits of what
    all entries have in common are subtracted again, careful arithmetic does not lose the others to them.
    """
    formula, sizes = setting.judge.formula, wide_sums(_space(setting))[0]
    real = [t for t in formula.tensors if t.role == "data" and t.domain in REAL and t.shape]
    for turn, tensor in enumerate(real[:OFFSETS] if kind == "value" and dtype in BROAD else ()):
        made = _realistic(setting, dtype, sizes, turn)
        value = made.inputs[tensor.name]
        yield setting.space().restrict(made.replace_inputs(**{tensor.name: round_to(value + OFFSET, dtype)}))


DEFAULT, OFFSET_BY = "default", "offset"
GRADING: dict[str, Draw] = {
    "wide": wide_examples,
    DEFAULT: default_examples,
    OFFSET_BY: offset_examples,
    "no small": _at(_no_small, coarse=True),
    "aligned": draw_aligned,
    "single": _at(_single, coarse=True),
    "long": _at(_many),
    "one large": _at(_one),
    "vast": _at(_vast, asked=True),
}
"""Which examples are graded, by what is said of their sizes."""


def samples(setting: Setting, kind: str, wide: bool) -> tuple[int, ...]:
    """How many random evaluations tell what error is expected at an example; so many more where these do not settle it.

    The sigma of half of some samples is at most √2 times that of all; of others it was up to 1.7 times in all formulas.
    """
    many = WIDE_SAMPLES[kind] if wide else SAMPLES
    if setting.space().sizing.budget > MODEL:  # hundreds of lines, each of which is kept for every sample
        return (2 * many // 3 if kind == "value" else many // 2,)
    return (many // 2, many) if wide and kind == "value" else (many,)


__all__ = ["DEFAULT", "GRADING", "OFFSET_BY", "samples"]

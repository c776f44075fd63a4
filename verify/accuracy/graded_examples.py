"""The examples that are graded: at default sizes, as wide as real models, and with no size small."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from spec.language.evaluation.dimensions import Size
from verify.inputs.examples import Example
from verify.inputs.lone_sizes import beside_one, lone, lone_sums, vast, whole_data
from verify.inputs.realistic_examples import UNUSUAL, realistic, unit_weights
from verify.inputs.realistic_sizes import (
    BLOCKS,
    BUDGET,
    aligned,
    broad,
    broad_slopes,
    deep,
    ladder,
    long,
    repeats,
    single,
    usual,
)
from verify.inputs.sizes import entries, sizing
from verify.properties.setting import Setting

MANY, TURNS = 64, 4
"""Entries from which on a root mean square says something: a few may be several sigma off, or right, by chance. An output
of fewer is graded at several wide examples; all are, where that is cheap: one rounding may be that of a whole row."""
EXAMPLES = 2
"""Examples at default sizes; one of a dear statement."""
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
MODEL = 9e5
"""What an example of a stack of layers or of a whole model costs at least (:mod:`verify.inputs.sizes`)."""
PATIENCE = 2.0
"""Seconds of processor time that a call may take: a callable of many small steps is graded at smaller sizes."""


def wide_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """A wide example, as wide as the budget and the callable's own speed allow."""
    judge, caller = setting.judge, setting.caller
    limits = (BUDGET,) if kind == "value" else (BACKWARD * BUDGET, ENTRIES)
    rungs = ladder(judge.formula, caller.sizes, *limits)
    cost, spent, each = sizing(judge.formula, caller.sizes).cost, 0.0, 0.0
    chosen = rungs[0]
    for before, sizes in zip((rungs[0], *rungs), rungs, strict=False):
        longer = spent * cost(sizes) / max(cost(before), 1.0)
        if longer > PATIENCE:
            break
        chosen, each = sizes, longer
        if sizes is not rungs[-1]:
            spent = setting.pace(dtype, sizes)
    many, turns = repeats(judge.formula, chosen, MANY), 1
    share, most = (BACKWARD, max(many, TURNS)) if kind == "value" else (BACKWARD**2, TURNS)
    affordable = min(share * BUDGET / cost(chosen), PATIENCE / each if each else math.inf)
    turns = max(1, min(most, int(affordable)))
    for turn in range(turns):
        yield realistic(judge.formula, chosen, dtype, setting.seed + turn, False, caller.sizes)
    least = rungs[0]
    if kind == "value" and turns < many and least is not chosen:  # so many are affordable less wide
        affordable = min(BACKWARD * BUDGET / cost(least), PATIENCE / max(spent, 1e-6))
        for turn in range(min(repeats(judge.formula, least, MANY), int(affordable))):
            yield realistic(judge.formula, least, dtype, setting.seed + turn, False, caller.sizes)


def aligned_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """Examples of sizes that are equal and multiples of 64, which fast paths ask for, where that is cheap: with a mask and
    without one by turns, the latter with one sequence for several inputs, once also with several; and of those of usual models.
    """
    judge, caller = setting.judge, setting.caller
    if caller.sizes.few:
        return
    cost = sizing(judge.formula, caller.sizes).cost
    maskable = caller.takes_mask or all(tensor.role != "mask" for tensor in judge.formula.tensors)
    equal = aligned(judge.formula, caller.sizes, ALIGNED)
    every = [*equal, *usual(judge.formula, caller.sizes, ALIGNED)]
    for turn, sizes in enumerate(every if dtype in BROAD else every[:1]):
        dear = cost(sizes) > BACKWARD * BUDGET or entries(judge.formula, sizes) > FEW * ENTRIES
        if kind == "gradient" and dear:
            continue
        if _affordable(setting, dtype, sizes):
            masks = turn % 2 == 0 and maskable
            number = turn if turn < len(equal) else UNUSUAL
            made = realistic(judge.formula, sizes, dtype, setting.seed, masks, caller.sizes, number=number)
            if turn % 2:
                yield made.alike(judge.formula)  # whose softmax is nearly that of each position itself
            if turn % 2 == 0 or turn == 1:
                yield made


def long_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """Many steps, most for values: gradients go back through all of them. And more layers than a wide example has."""
    judge, caller = setting.judge, setting.caller
    if caller.sizes.few or dtype not in BROAD:
        return
    steps = long(judge.formula, caller.sizes, kind == "value")
    wide = broad(judge.formula, caller.sizes, BROAD[dtype]) if kind == "value" else None
    if steps is not None and wide is not None and all(wide[s] >= steps[s] for s in steps):
        steps = None  # as many steps of a wider one are graded already
    if steps is not None and _affordable(setting, dtype, steps):
        yield realistic(judge.formula, steps, dtype, setting.seed, False, caller.sizes)
    layers = deep(judge.formula, caller.sizes)
    if layers is None or not _affordable(setting, dtype, layers):
        return
    masked = kind == "value" and caller.takes_mask and any(t.role == "mask" for t in judge.formula.tensors)
    for masks in (False, True)[: 1 + masked]:
        yield realistic(judge.formula, layers, dtype, setting.seed, masks, caller.sizes)


def single_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """One query, one step: everything that no sum runs over is one."""
    judge, caller = setting.judge, setting.caller
    if caller.sizes.few or kind != "value":
        return
    sizes = single(judge.formula, caller.sizes, BACKWARD * BUDGET)
    if sizes is not None and _affordable(setting, dtype, sizes):
        yield realistic(judge.formula, sizes, dtype, setting.seed, False, caller.sizes)


def lone_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """One size large at a time, for gradients: of these a kernel may take another way in each. For values one sum at a time, of
    those that are short in all other examples, with a mask, too; and one position beside many.
    """
    judge, caller = setting.judge, setting.caller
    if caller.sizes.few or dtype not in BROAD:
        return
    if kind == "gradient":
        every = lone(judge.formula, caller.sizes, BACKWARD * BUDGET, LONE)
    else:
        every = (
            *lone_sums(judge.formula, caller.sizes, ALIGNED),
            *beside_one(judge.formula, caller.sizes, ALIGNED),
        )
    axes = {size for item in judge.formula.tensors if item.role == "mask" for size in item.shape}
    for sizes in every:
        masked = (
            kind == "value" and caller.takes_mask and any(sizes.get(size, 0) >= BLOCKS[-1] for size in axes)
        )
        for masks in (False, True)[: 1 + masked]:
            if _affordable(setting, dtype, sizes):
                yield realistic(judge.formula, sizes, dtype, setting.seed, masks, caller.sizes)


def vast_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """One sum over thousands of terms at a time, for values: what a call takes is judged by how many entries its inputs have. And
    data that are large along each axis.
    """
    judge, caller = setting.judge, setting.caller
    if caller.sizes.few or dtype not in BROAD or kind != "value":
        return
    few = ladder(judge.formula, caller.sizes)[0]
    for sizes in vast(judge.formula, caller.sizes):
        times = entries(judge.formula, sizes) / max(entries(judge.formula, few), 1)
        if not setting.clock.over and times * setting.pace(dtype, few) <= PATIENCE:
            yield realistic(judge.formula, sizes, dtype, setting.seed, False, caller.sizes)
    data = whole_data(judge.formula, caller.sizes, ALIGNED, WHOLE)
    if data is not None and _affordable(setting, dtype, data):
        yield realistic(judge.formula, data, dtype, setting.seed, False, caller.sizes)


def broad_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """An example of which no size is small, if that is more than a wide one: a fast path may ask for several large ones."""
    judge, caller = setting.judge, setting.caller
    if caller.sizes.few or (kind == "gradient" and dtype not in BROAD):
        return
    few = ladder(judge.formula, caller.sizes)[0]
    budget = BROAD.get(dtype, SHORT)
    sizes = (broad if kind == "value" else broad_slopes)(judge.formula, caller.sizes, budget)
    if sizes is None or (kind == "value" and all(sizes[size] <= few[size] for size in sizes)):
        return
    if _affordable(setting, dtype, sizes):
        yield realistic(judge.formula, sizes, dtype, setting.seed, False, caller.sizes)


def _affordable(setting: Setting, dtype: str, sizes: Mapping[Size, int]) -> bool:
    """Whether a call at these sizes takes no longer than is waited for, going by one at few entries."""
    judge, caller = setting.judge, setting.caller
    if setting.clock.over:
        return False
    few, cost = ladder(judge.formula, caller.sizes)[0], sizing(judge.formula, caller.sizes).cost
    return setting.pace(dtype, few) * cost(sizes) / max(cost(few), 1.0) <= PATIENCE


def default_examples(setting: Setting, dtype: str, kind: str) -> Iterator[Example]:
    """Planned examples with their sizes, masks and numbers, of ordinary data: how a row that cancels rounds is chance.

    For gradients weights keep data of unit size. Else scores are in the hundreds and a softmax is 1 and 0, without an error in
    careful arithmetic; fused kernels compute it anew going backward, from its logarithm, and are off by a share as large as it.
    """
    space, judge = setting.space(moderate=True), setting.judge
    for recipe in space.plan(1 if space.sizing.dear else EXAMPLES, setting.seed + 17):
        recipe = recipe._replace(regime=0, other=0)
        example = space.example(recipe, dtype)
        if kind == "gradient":
            made = unit_weights(judge.formula, example.sizes, dtype, setting.seed, space.fixed)
            example = space.example(recipe, dtype, example.batch, example.sizes, made)
        yield example


DEFAULT = "default"
GRADING: dict[str, Callable[[Setting, str, str], Iterator[Example]]] = {
    "wide": wide_examples,
    DEFAULT: default_examples,
    "no small": broad_examples,
    "aligned": aligned_examples,
    "single": single_examples,
    "long": long_examples,
    "one large": lone_examples,
    "vast": vast_examples,
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


__all__ = ["DEFAULT", "GRADING", "samples"]

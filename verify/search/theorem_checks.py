"""Theorems with the callable in the formula's place: the examples at which they are tried, and the check of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from spec.language.calls import Pullback
from spec.language.evaluation.dimensions import Size, symbols_in, whole
from spec.language.expr import Ref
from spec.language.theorem import Theorem
from spec.language.trees import walk
from verify.faults import Unsupported
from verify.inputs.examples import Example, Recipe, Space
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.properties.judge import Judge
from verify.properties.outcome import Outcome
from verify.properties.slopes import JUDGED
from verify.properties.substitutions import NotRunnable
from verify.properties.theorems import (
    assumed,
    draw_theorem,
    judge_all,
    judge_theorem,
    runnable,
    sizes_needed,
    sizes_of_inputs,
)
from verify.report import CheckResult
from verify.search.checks import VACUOUS, concluded
from verify.search.search import Found, windows
from verify.search.searches import LATER_OF_MANY
from verify.search.setting import Setting

SMALL = (2, 3, 5, 7)
TOGETHER = 4
"""Examples of a theorem that share their sizes."""


def theorem_examples(
    judge: Judge,
    theorem: Theorem,
    dtype: str,
    count: int,
    seed: int,
    masks: bool = True,
    supported: Supported = EVERY_SIZE,
    drawn: dict[Any, Example] | None = None,
) -> Iterator[Example]:
    """Examples for a theorem, small, in every regime in turn, at which its assumptions hold.

    The formula's inputs are those of its other theorems, as far as sizes and assumptions allow: they are made, and called, once.
    ``drawn`` keeps them.
    """
    space = Space(judge.formula, masks, supported=supported)
    needed = sizes_needed(judge.formula, theorem)
    every = dict.fromkeys((*sizes_of_inputs(judge.formula), *needed))
    latest: dict[str, list[dict[Size, int]]] = {}
    for turn, recipe in enumerate(space.plan(count, seed)):
        for attempt in range(6):
            random = np.random.default_rng([seed, 11, turn, attempt])
            kind = "equal" if turn % 7 == 5 else "one" if turn % 4 == 2 and needed else "primes"
            values = [int(x) for x in random.permutation(SMALL)[: len(every)]]
            values += [int(random.integers(1, 5)) for _ in range(len(every) - len(values))]
            sizes = dict(zip(every, values, strict=True))
            if supported.few:  # those of all other checks
                usual = space.sizing.drawn(0, 0)
                kind, sizes = "primes", {size: usual.get(size, SMALL[0]) for size in every}
            if kind == "one":
                sizes[needed[int(random.integers(len(needed)))]] = 1
            if kind == "equal":
                sizes = dict.fromkeys(every, 1 if attempt == 0 else int(random.integers(1, 5)))
            elif attempt == 0:  # examples of equal sizes are evaluated together
                uses = latest.setdefault(kind, [])
                sizes = uses[-1] if len(uses) % TOGETHER else sizes
                uses.append(sizes)
            redrawn = recipe._replace(seed=recipe.seed + attempt)
            chosen = space.sizing.affordable({size: sizes[size] for size in needed})
            if supported and theorem.sizes:
                known = {**chosen, **{size: whole(expr, chosen) for size, expr in theorem.sizes.items()}}
                chosen = {size: value for size, value in supported.settled(known).items() if size in chosen}
            made = partial(_made, space, {} if drawn is None else drawn)
            example = draw_theorem(judge.formula, theorem, made, redrawn, chosen, dtype)
            if supported.fits(example.sizes) and assumed(judge.formula, theorem, example):
                yield example
                break


def _made(
    space: Space, drawn: dict[Any, Example], recipe: Recipe, dtype: str, sizes: Mapping[Size, int]
) -> Example:
    """The example that a recipe describes at these sizes; drawn once."""
    key = (recipe, dtype, *((size, sizes[size]) for size in sizes_of_inputs(space.formula)))
    if key not in drawn:
        drawn[key] = space.example(recipe, dtype, sizes=sizes)
    return replace(drawn[key], inputs=dict(drawn[key].inputs), sizes=dict(sizes))


def _masked(theorem: Theorem) -> bool:
    """Whether some claim speaks of a mask."""
    sides = (side for claim in theorem.claims for side in (claim.left, claim.right, claim.where))
    return any(isinstance(part, Ref) and part.tensor.role == "mask" for side in sides for part in walk(side))


def theorem_check(setting: Setting, theorem: Theorem, dtypes: list[str]) -> CheckResult | str:
    """A theorem with the callable in the formula's place; a string says why it was not run."""
    judge, caller = setting.judge, setting.caller
    why = runnable(theorem, judge)
    if why:
        return why

    def probe(example: Example) -> Outcome:
        if not assumed(judge.formula, theorem, example):
            return Outcome()
        try:
            return judge_theorem(judge, caller, theorem, example)
        except NotRunnable:  # here, if not before: what a callable keeps may decide it
            return Outcome()

    if any(
        isinstance(part, Pullback)
        for c in theorem.claims
        for side in (c.left, c.right)
        for part in walk(side)
    ):
        dtypes = [dtype for dtype in dtypes if dtype in JUDGED]
        if not dtypes:
            return "it is about gradients, which are judged in float64 and float32 only"
    found = Found()
    share = 10 if setting.space().sizing.dear else 5
    count = max(4, setting.max_examples // (share * len(dtypes)))
    counts = [count, *(-(-count // LATER_OF_MANY) for _ in dtypes[1:])]
    try:
        drawn = (
            example
            for dtype, few in zip(dtypes, counts, strict=True)
            for example in theorem_examples(
                judge, theorem, dtype, few, setting.seed + 2, caller.takes_mask, caller.sizes, setting.drawn
            )
        )
        for window in windows(drawn, setting.searched):
            if found.over or setting.clock.over:
                break
            found.see_all(zip(window, judge_all(judge, caller, theorem, window, setting.kept), strict=True))
    except NotRunnable as said:
        return str(said)
    except Unsupported as said:
        found.unsupported = str(said)
    if caller.sizes and not found.examples and not found.unsupported and not setting.clock.over:
        return f"not where {caller.sizes}"
    fixed = set[Size]().union(*(symbols_in(expr) for expr in theorem.sizes.values()))
    fixed |= set(theorem.sizes)
    for tensor in theorem.given:
        if tensor.domain == "permutation":
            fixed = fixed.union(*(symbols_in(size) for size in tensor.shape))
    dtype = found.example.dtype if found.example else dtypes[0]
    name = f"theorem {theorem.name}"
    result = concluded(setting, name, "theorem", dtype, found, probe, theorem.given, fixed)
    if result.message == VACUOUS and not caller.takes_mask and _masked(theorem):
        return "the callable takes no mask"
    result.dtype = None if found.example is None else dtype
    result.details["title"] = theorem.title
    return result


__all__ = ["theorem_check", "theorem_examples"]

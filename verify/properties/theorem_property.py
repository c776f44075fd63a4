"""Theorems with the callable in the formula's place: the examples at which they are tried, and the check of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from spec.language.calls import Pullback
from spec.language.evaluation.dimensions import Size, symbols_in, whole
from spec.language.expr import Ref
from spec.language.theorem import Theorem
from spec.language.trees import walk
from verify.inputs.examples import Example, Recipe, Space
from verify.inputs.simplest import Plain
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.properties.judge import Judge
from verify.properties.plain_calls import LATER_OF_MANY, ExampleProperty, usable_types
from verify.properties.setting import Setting
from verify.properties.slopes import JUDGED
from verify.properties.theorems import (
    draw_theorem,
    judge_all,
    meets_assumptions,
    runnable,
    sizes_needed,
    sizes_of_inputs,
)
from verify.report import CheckResult, Inconclusive
from verify.search.outcome import Outcome
from verify.search.property import NotRunnable, group_items
from verify.search.record import SearchRecord

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
                usual = space.sizing.draw_sizes(0, 0)
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
                chosen = {
                    size: value for size, value in supported.adjust_sizes(known).items() if size in chosen
                }
            made = partial(_make_example, space, {} if drawn is None else drawn)
            example = draw_theorem(judge.formula, theorem, made, redrawn, chosen, dtype)
            if supported.fits(example.sizes) and meets_assumptions(judge.formula, theorem, example):
                yield example
                break


def _make_example(
    space: Space, drawn: dict[Any, Example], recipe: Recipe, dtype: str, sizes: Mapping[Size, int]
) -> Example:
    """The example that a recipe describes at these sizes; drawn once."""
    key = (recipe, dtype, *((size, sizes[size]) for size in sizes_of_inputs(space.formula)))
    if key not in drawn:
        drawn[key] = space.example(recipe, dtype, sizes=sizes)
    return replace(drawn[key], inputs=dict(drawn[key].inputs), sizes=dict(sizes))


def _speaks_of_mask(theorem: Theorem) -> bool:
    """Whether some claim speaks of a mask."""
    sides = (side for claim in theorem.claims for side in (claim.left, claim.right, claim.where))
    return any(isinstance(part, Ref) and part.tensor.role == "mask" for side in sides for part in walk(side))


class TheoremProperty(ExampleProperty):
    """A theorem with the callable in the formula's place."""

    kind = "theorem"

    def __init__(self, setting: Setting, theorem: Theorem, kinds: Sequence[str]) -> None:
        super().__init__(setting)
        self.theorem, self.kinds = theorem, kinds
        self.name = f"theorem {theorem.name}"

    @cached_property
    def types(self) -> list[str]:
        """The types in which it is tried: of gradients those that are judged."""
        usable = usable_types(self.setting, self.kinds)
        return [kind for kind in usable if kind in JUDGED] if self.about_gradients else usable

    @property
    def about_gradients(self) -> bool:
        """Whether some claim speaks of a derivative."""
        sides = (side for claim in self.theorem.claims for side in (claim.left, claim.right))
        return any(isinstance(part, Pullback) for side in sides for part in walk(side))

    def reason_against(self) -> str:
        """Not where it is no property of a callable, or its conventions are others."""
        why = runnable(self.theorem, self.setting.judge)
        if why or self.types:
            return why
        return "it is about gradients, which are judged in float64 and float32 only"

    @property
    def plain(self) -> Plain:
        """With what the theorem quantifies over, its sizes and what it fixes."""
        theorem, formula = self.theorem, self.setting.judge.formula
        symbols = dict.fromkeys((*sizes_of_inputs(formula), *sizes_needed(formula, theorem)))
        return replace(
            super().plain,
            given=tuple(theorem.given),
            symbols=tuple(size for size in symbols if size not in theorem.sizes),
            derived=dict(theorem.sizes),
            constants=dict(theorem.at),
        )

    @property
    def fixed_sizes(self) -> frozenset[Size]:
        """The sizes that the theorem relates to others, and those of permutations."""
        fixed = set[Size]().union(*(symbols_in(expr) for expr in self.theorem.sizes.values()))
        fixed |= set(self.theorem.sizes)
        for tensor in self.theorem.given:
            if tensor.domain == "permutation":
                fixed = fixed.union(*(symbols_in(size) for size in tensor.shape))
        return frozenset(fixed)

    def groups(self) -> Iterator[Sequence[Example]]:
        """Small examples in every regime in turn, fewer in later types."""
        setting, caller = self.setting, self.setting.caller
        share = 10 if setting.space().sizing.costly else 5
        count = max(4, setting.max_examples // (share * len(self.types)))
        counts = [count, *(-(-count // LATER_OF_MANY) for _ in self.types[1:])]
        drawn = (
            example
            for dtype, few in zip(self.types, counts, strict=True)
            for example in theorem_examples(
                setting.judge,
                self.theorem,
                dtype,
                few,
                setting.seed + 2,
                caller.takes_mask,
                caller.sizes,
                setting.drawn,
            )
        )
        yield from group_items(drawn, setting.searched)

    def judge(self, case: Example) -> Outcome:
        """Its claims at one example, if what it assumes holds there."""
        return next(self.judge_group([case]))

    def judge_group(self, cases: Sequence[Example]) -> Iterator[Outcome]:
        """Those of equal sizes together; what the callable returned is kept from one theorem to the next."""
        setting = self.setting
        if len(cases) == 1 and not meets_assumptions(setting.judge.formula, self.theorem, cases[0]):
            return iter([Outcome(idle=True)])
        return judge_all(setting.judge, setting.caller, self.theorem, cases, setting.kept)

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """Conclude, unless the theorem could not be tried.

        Raises:
            NotRunnable: it could not.
        """
        caller = self.setting.caller
        if caller.sizes and not found.examples and not found.unsupported and not self.setting.clock.over:
            raise NotRunnable(f"not where {caller.sizes}")
        if result.reason is Inconclusive.VACUOUS and not caller.takes_mask and _speaks_of_mask(self.theorem):
            raise NotRunnable("the callable takes no mask")
        result.dtype = None if found.case is None else found.case.dtype
        result.details["title"] = self.theorem.title
        return [result]


__all__ = ["TheoremProperty", "theorem_examples"]

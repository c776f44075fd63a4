"""Sizes at which a statement says nothing of ordinary inputs: a callable need not be defined there, and is not called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from spec.language.evaluation.dimensions import Size
from verify.inputs.examples import Recipe, Space
from verify.inputs.size_rules import SizeRule, Supported
from verify.oracle import PLAIN
from verify.properties.judge import Judge

LARGEST = 4
"""Up to here sizes are tried: a mean over the others needs two of them, so does a variance; two waves take four."""
OTHERS = 5
"""What the other sizes are meanwhile."""
ORDINARY = (0, 1)
"""Of the kinds of masks and labels the first hides nothing, and the second leaves none out."""


def restrict_to_stated(judge: Judge, supported: Supported) -> Supported:
    """What is supported, without the sizes at which no entry of any output is stated, where nothing is hidden."""
    if not judge.partial or judge.formula.law is not None:
        return supported
    space = Space(judge.formula, moderate=True, supported=supported)
    rules = list[SizeRule]()
    ruled = {rule.size for rule in supported.rules}
    for size in space.symbols:
        if size in ruled:
            continue
        least = 1
        while least <= LARGEST and _is_unstated(
            judge, space, {**dict.fromkeys(space.symbols, OTHERS), size: least}
        ):
            least += 1
        if 1 < least <= LARGEST:
            rules.append(SizeRule(size, f"{least}..", bounds=(least, None)))
    return replace(supported, rules=(*rules, *supported.rules))


def _is_unstated(judge: Judge, space: Space, sizes: Mapping[Size, int]) -> bool:
    settled = space.supported.adjust_sizes(sizes)
    every = [
        space.example(Recipe(0, 0, 0, turn, turn, turn), "float64", sizes=settled).inputs for turn in ORDINARY
    ]
    answers = judge.oracle.ask(judge.flat, every, PLAIN, "float64")
    return all(bool(np.isnan(value).all()) for answer in answers for value, _ in answer)


__all__ = ["restrict_to_stated"]

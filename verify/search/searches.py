"""The searches of values and of gradients: at which examples they are tried."""

from __future__ import annotations

from functools import partial

from verify.inputs.examples import Example, Recipe
from verify.properties.slopes import announce, with_cotangents
from verify.search.drawing import Drawing
from verify.search.search import Found, Probe, search

FAR = 6
"""Examples of a type behind the first that are about what types differ in: their range."""
LATER, LATER_OF_MANY = 2, 4
"""The share of the examples that values and gradients are tried at in a second type; and those of a statement of many lines, and
theorems: what is wrong in both was seen in the first, and how far rounding goes is for the grades to tell."""
SCALED = 2.0**12
"""By how much the cotangents of some examples are larger, as losses are scaled in training: what is clipped on its way shows."""


def value_search(setting: Drawing, dtype: str, probe: Probe) -> Found:
    """Values in a type: fewer and others where values were tried before in some type."""
    judge, space = setting.judge, setting.space()
    batches = any(t.role == "data" for t in judge.formula.tensors)

    def make(recipe: Recipe) -> Example:
        return space.example(recipe, dtype, (2,) if batches and recipe.seed % 8 == 0 else ())

    examples, at_once, far = setting.max_examples, setting.searched, 0
    if setting.valued:
        far = min(FAR, examples)
        examples = max(1, examples // (LATER_OF_MANY if space.sizing.extensive else LATER))
    found = search(space, make, probe, examples, setting.seed, setting.clock, judge.ahead, at_once, far)
    setting.searched, setting.valued = True, setting.valued or found.through
    return found


def gradient_search(setting: Drawing, dtype: str, probe: Probe) -> Found:
    """Gradients in a type, at moderate numbers; fewer where gradients were tried before in some type."""
    judge, space = setting.judge, setting.space(moderate=True)

    def make(recipe: Recipe) -> Example:
        scale = SCALED if recipe.seed % 8 == 3 else 1.0
        return with_cotangents(judge, space.example(recipe, dtype), recipe.seed, scale)

    count = max(1, setting.max_examples // (4 if space.sizing.dear else 2))
    if setting.sloped:
        count = max(1, count // (LATER_OF_MANY if space.sizing.extensive else LATER))
    told = partial(announce, judge)
    found = search(space, make, probe, count, setting.seed + 1, setting.clock, told, setting.searched)
    setting.sloped |= found.through
    return found


__all__ = ["LATER", "LATER_OF_MANY", "gradient_search", "value_search"]

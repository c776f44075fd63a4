"""Hypothesis strategies that follow from a statement: inputs of a formula, in every regime, at sizes of every kind.

They serve the checks of :func:`verify.check`, and any ``@given`` of one's own::

    @given(verify.strategies.inputs("attention.softmax", dtype="float32"))
    def test_rows_sum_to_one(inputs):
        s, mask = inputs
        ...

An example is drawn as a :class:`~verify.inputs.examples.Recipe`, a few whole numbers from which its arrays follow, so that
thousands of entries cost no more draws than ten; or entry by entry, of plain numbers at small sizes. The second are what a
counterexample shrinks to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from spec.language.formula import Formula
from verify.faults import Unusable
from verify.inputs.examples import Example, Recipe, Space
from verify.inputs.layouts import LAYOUTS
from verify.inputs.ranges import Ranges
from verify.inputs.regimes import MASKS, POSITIVE_NUMBERS
from verify.inputs.simplest import Plain, plain_examples
from verify.subject.arguments import Passing
from verify.subject.callables import find_supported
from verify.subject.options import choices, find_formula, types, usable_device, whole_number

SEEDS = 2**31


def recipes(space: Space, together: int = 1) -> SearchStrategy[list[Recipe]]:
    """Recipes of examples that share their sizes, ``together`` at most, so that the statement is evaluated for all at once."""
    leads, data = st.integers(0, len(space.leads) - 1), st.integers(0, len(space.data_regimes) - 1)
    masks, numbers = st.integers(0, len(MASKS) - 1), st.integers(0, len(POSITIVE_NUMBERS) - 1)
    seeds, kinds = st.integers(0, SEEDS - 1), st.sampled_from(space.sizing.kinds)
    ordinary = st.tuples(st.just(0), st.just(0), masks, numbers, seeds)  # at which most can be said
    unusual = st.tuples(leads, data, masks, numbers, seeds)

    def make_recipes(drawn: tuple[int, int, list[tuple[int, int, int, int, int]]]) -> list[Recipe]:
        kind, variant, traits = drawn
        return [Recipe(kind, a, b, c, d, e, variant) for a, b, c, d, e in traits]

    some = [st.lists(each, min_size=together, max_size=together) for each in (ordinary, unusual)]
    return st.tuples(kinds, seeds, st.one_of(some)).map(make_recipes)


def inputs(
    formula: str | Formula,
    *,
    dtype: str = "float64",
    device: str = "cpu",
    conventions: Mapping[str, str] | None = None,
    sizes: Mapping[str, str | int] | None = None,
    fixed: Mapping[str, float] | None = None,
    ranges: Mapping[str, float] | None = None,
    masks: bool = True,
    batch: Sequence[int] = (),
    layouts: bool = True,
    members: int | None = None,
) -> SearchStrategy[Any]:
    """Inputs of a formula as a callable takes them: a tuple in declared order, real tensors in ``dtype``.

    Args:
        formula: its ID, or the formula.
        dtype: the type of real tensors.
        device: where tensors are.
        conventions: under which ``ranges`` of lines are meant.
        sizes: rules for sizes, as :func:`verify.check` takes them, such as ``{"d_v": "d_k", "d": "even"}``.
        fixed: numbers that are always the same, such as ``{"eps": 1e-5}``.
        ranges: how large entries are at most, such as ``{"q": 1e3}``.
        masks: whether masks are drawn where the formula has one; else it is None.
        batch: leading dimensions of data, such as ``(2,)``.
        layouts: whether tensors are also stored with gaps, transposed, or further on in their storage.
        members: so many tuples of equal sizes as one draw, in a list, where that is given.

    Raises:
        Unusable: an argument that cannot be used; one line.
    """
    stated = find_formula(formula)
    (kind,) = types([dtype])
    where, leading = usable_device(device), tuple(whole_number("batch", each, 1) for each in batch)
    many = 1 if members is None else whole_number("members", members, 1)
    try:
        chosen = stated.choose(choices(stated, conventions))
    except ValueError as error:
        raise Unusable(str(error)) from None
    supported = find_supported(None, stated, sizes, fixed, None)
    supported = replace(supported, within=Ranges.of(stated, ranges, chosen))
    space = Space(stated, masks, supported=supported)
    passing, plain = (
        Passing(stated, where),
        Plain(stated, kind, supported, "any" if masks else "none", leading, fewer=False),
    )

    @st.composite
    def draw_inputs(draw: st.DrawFn) -> Any:
        every: list[Example] = []
        if many == 1:  # drawn even where another takes its place, so that a failure can shrink to it
            every.append(draw(plain_examples(plain)))
        if not every or draw(st.booleans()):
            every = [space.example(recipe, kind, leading) for recipe in draw(recipes(space, many))]
        layout = draw(st.sampled_from(LAYOUTS if layouts else LAYOUTS[:1]))
        found = [
            tuple(map(layout, passing.arguments(each.inputs, kind, generator_seed=each.generator_seed)))
            for each in every
        ]
        return found[0] if members is None else found

    return draw_inputs()


__all__ = ["inputs", "recipes"]

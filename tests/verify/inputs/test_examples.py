"""Examples: every regime on purpose, sizes that tell axes apart, values of the type."""

from collections import Counter

import numpy as np
import pytest
import torch

from spec.language.evaluation.evaluate import bound
from spec.language.registry import formulas
from verify.inputs import regimes
from verify.inputs.dtypes import DTYPES
from verify.inputs.examples import Recipe, Space, round_to, sizes_of
from verify.inputs.leads import ALL_DATA
from verify.inputs.size_rules import Supported

VALUES = {k: f for k, f in formulas().items() if f.law is None}


@pytest.mark.parametrize("formula_id", VALUES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_examples_fit_the_declaration(formula_id, dtype):
    """Every planned example can be evaluated, and its values are values of the type."""
    formula = VALUES[formula_id]
    space = Space(formula)
    for recipe in space.plan(20, 0):
        example = space.example(recipe, dtype)
        bound(formula, example.inputs, None, dtype)
        assert sizes_of(formula, example.inputs).items() <= example.sizes.items()
        for value in example.inputs.values():
            if isinstance(value, np.ndarray) and value.dtype == np.float64:
                kept = torch.tensor(value).to(DTYPES[dtype]).double().numpy()
                assert np.array_equal(kept, value)


@pytest.mark.parametrize("formula_id", VALUES)
def test_every_regime_and_mask_occurs_early(formula_id):
    """Each data regime and each mask occurs among the first examples of a default check."""
    space = Space(VALUES[formula_id])
    seen = Counter(regime.name for r in space.plan(70, 0) for regime in space.leads[r.regime].draws.values())
    masks = Counter(r.mask for r in space.plan(70, 0))
    if any(ALL_DATA in lead.draws for lead in space.leads):
        assert {r.name for r in regimes.DATA} <= set(seen)
    assert set(masks) == set(range(len(regimes.MASKS)))


def test_sizes_tell_axes_apart():
    """Most examples have distinct sizes; sizes of one, equal sizes, wide ones, n > m and n < m all occur."""
    space = Space(VALUES["attention.scaled_dot_product"])
    found = [space.example(r, "float64").sizes for r in space.plan(100, 1)]
    values = [tuple(s.values()) for s in found]
    assert sum(len(set(v)) == len(v) for v in values) > 50
    assert any(set(v) == {1} for v in values)
    assert any(len(set(v)) == 1 and v[0] > 1 for v in values)
    assert any(max(v) > 16 for v in values)
    n, m = (next(x for x in found[0] if str(x) == name) for name in "nm")
    assert any(s[n] > s[m] for s in found)
    assert any(s[n] < s[m] for s in found)


def test_a_recipe_determines_its_example():
    """Equal recipes give equal arrays, batches too."""
    space = Space(VALUES["attention.softmax"])
    recipe = Recipe(0, 3, 1, 2, 0, 99)
    a, b = (space.example(recipe, "float32", (2, 3)) for _ in range(2))
    assert np.array_equal(a.inputs["s"], b.inputs["s"])
    assert a.inputs["s"].shape[:2] == (2, 3)
    assert a.single(space.formula, (1, 2))["s"].shape == a.inputs["s"].shape[2:]


def test_without_masks_there_are_none():
    """A space without masks never draws one."""
    space = Space(VALUES["attention.softmax"], masks=False)
    assert all(space.example(r, "float64").inputs["mask"] is None for r in space.plan(20, 0))


def test_rounding_keeps_narrow_types_finite():
    """float16 inputs are cut to its range, float64 is left alone."""
    assert np.isfinite(round_to(np.array([1e10, -1e10]), "float16")).all()
    assert round_to(np.array([0.1]), "float64")[0] == 0.1


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_values_are_rounded_as_torch_rounds_them(dtype):
    """Numbers of all sizes, halfway between two, at the ends of the range, and those that are none."""
    random = np.random.default_rng(0)
    bits = random.integers(2**63, size=20_000, dtype=np.int64).view(np.float64)
    bits[np.isnan(bits)] = np.nan  # not of the kind that complains
    usual = np.ldexp(random.standard_normal(20_000), random.integers(-30, 15, size=20_000))
    half = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, -1 - 2.0**-11, 2.0**-25, 2.0**-133, 3.3895e38, 0.0, -0.0])
    every = np.concatenate([bits, usual, half, [np.inf, -np.inf, np.nan]])
    if dtype == "float16":
        every = np.clip(every, -6e4, 6e4)
    expected = torch.as_tensor(every).to(getattr(torch, dtype)).double().numpy()
    assert np.array_equal(round_to(every, dtype), expected, equal_nan=True)
    assert round_to(np.float64(0.1), dtype).shape == ()
    assert round_to(every.reshape(1, -1)[:, ::2], dtype).tolist()[0][:9] == expected[::2][:9].tolist()


@pytest.mark.parametrize("below", [2, 300, 70_000])
def test_the_largest_id_is_drawn(below):
    """In every kind but "all the same", so that an id held in a narrow type shows."""
    random = np.random.default_rng(0)
    for kind in (0, 1, 3):
        found = regimes.identifiers(random, (11,), below, kind)
        assert found.min() >= 0
        assert found.max() == below - 1


@pytest.mark.parametrize("below", [1, 2, 3, 47])
def test_whole_numbers_are_small_every_other_time(below):
    """A window or a cut that takes all there is tells nothing; the largest, and any, come too."""
    random = np.random.default_rng(0)
    drawn = [[regimes.whole_number(random, below, kind) for _ in range(300)] for kind in range(4)]
    assert all(0 <= found < below for kind in drawn for found in kind)
    assert all(set(drawn[kind]) == set(range(min(below, 3))) for kind in (0, 2))
    assert set(drawn[1]) == {below - 1}
    assert len(set(drawn[3])) == below


NORM, RECIPE = formulas()["normalization.layer_norm"], Recipe(0, 0, 0, 0, 0, 7)


def test_an_example_that_was_drawn_is_remembered_and_nobody_changes_it():
    """By another space of the same formula, too; its arrays are read-only, and another input instead of one is one's own."""
    first, again = Space(NORM).example(RECIPE, "float32"), Space(NORM).example(RECIPE, "float32")
    assert all(first.inputs[name] is value for name, value in again.inputs.items())
    with pytest.raises(ValueError, match="read-only"):
        first.inputs["x"][...] = 0
    first.inputs["x"] = first.inputs["x"] + 1
    first.sizes.clear()
    last = Space(NORM).example(RECIPE, "float32")
    assert last.inputs["x"] is again.inputs["x"]
    assert last.sizes == again.sizes


@pytest.mark.parametrize(
    "other",
    [
        (Space(NORM), RECIPE._replace(seed=8), "float32"),
        (Space(NORM), RECIPE, "bfloat16"),
        (Space(NORM), RECIPE, "float32", (3,)),
        (Space(NORM), RECIPE, "float32", (), {NORM.tensors[0].shape[0]: 11}),
        (Space(NORM), RECIPE, "float32", (), None, 5),
        (Space(NORM, supported=Supported(fixed=(("eps", 0.5),))), RECIPE, "float32"),
    ],
)
def test_what_is_asked_for_otherwise_is_another_example(other):
    """Another recipe, type, batch, size, other weights, another number."""
    space, *given = other
    first, found = Space(NORM).example(RECIPE, "float32"), space.example(*given)
    assert not all(np.array_equal(value, found.inputs[name]) for name, value in first.inputs.items())

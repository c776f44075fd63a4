"""Sizes of examples: what they cost, and that some are larger than any block."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import impl.recurrent
from spec.language.registry import find, formulas
from verify import check
from verify.inputs.examples import Space
from verify.inputs.size_rules import EVERY_SIZE, Supported
from verify.inputs.sizes import BUDGET, LARGE, LONGEST, SIZE_KINDS, make_sizing

VALUES = [k for k, f in formulas().items() if f.law is None]


@pytest.mark.parametrize("formula_id", VALUES)
def test_every_kind_of_sizes_is_affordable(formula_id):
    """No example costs more than the budget, one of many steps no more than its multiple; all sizes are at least 1."""
    formula = find(formula_id)
    sizes = make_sizing(formula, EVERY_SIZE)
    random = np.random.default_rng(0)
    for kind in range(SIZE_KINDS + len(sizes.large)):
        drawn = sizes.draw(kind, random)
        assert set(drawn) == set(sizes.symbols)
        assert min(drawn.values(), default=1) >= 1
        long = SIZE_KINDS <= kind < SIZE_KINDS + len(sizes.long)
        assert sizes.cost(drawn) <= (LONGEST if long else sizes.budget)
        assert sizes.budget <= 12 * BUDGET  # whole Transformers are the largest


@pytest.mark.parametrize("formula_id", VALUES)
def test_sizes_beyond_usual_blocks_are_drawn(formula_id):
    """In a default check some size is above 64, for most formulas above 256, and where it is cheap above 1024."""
    formula = find(formula_id)
    space = Space(formula)
    if not space.symbols:
        return
    drawn = [space.example(r, "float64").sizes for r in space.plan(70, 0, large=True)]
    widest = max(max(sizes.values()) for sizes in drawn)
    assert widest > 64
    if len(space.symbols) <= 2 and not any(group.step for group in formula.flat(None).groups):
        assert widest in LARGE
        assert widest > 256


@pytest.mark.parametrize(
    ("formula_id", "name"), [("attention.multi_head", "W_o"), ("scores.additive", "W")], ids=str
)
def test_a_matrix_with_a_composite_side_is_square_at_times(formula_id, name):
    """So a transposed one cannot pass because its shape never fitted; it is larger than 1 × 1, and mostly it is not square."""
    space = Space(find(formula_id))
    shapes = [space.example(recipe, "float64").inputs[name].shape for recipe in space.plan(100, 0)]
    square = [shape for shape in shapes if shape[0] == shape[1] > 1]
    assert 3 <= len(square) <= 30


def test_each_size_is_large_in_turn():
    """Every axis of scaled dot-product attention is long once among the planned examples, under rules, too."""
    formula = find("attention.scaled_dot_product")
    for supported in (EVERY_SIZE, Supported.of(formula, {"d_v": "d_k"})):
        space = Space(formula, supported=supported)
        long = set()
        for recipe in space.plan(70, 3, large=True):
            long |= {s for s, v in space.example(recipe, "float32").sizes.items() if v >= 257}
        assert long == set(space.symbols)


@pytest.mark.parametrize("block", [64, 256])
def test_a_mistake_beyond_a_block_is_found_and_shrunk_to_its_edge(block):
    """A kernel that forgets what lies beyond one block is falsified; the counterexample is one entry longer than the block."""

    def one_block(q, k):
        return q[..., :block] @ k[..., :block].mT

    report = check(one_block, "scores.dot", dtypes=["float64"])
    found = report.falsified[0].counterexample
    assert found.inputs["q"].shape[-1] >= block + 1
    assert check(lambda q, k: torch.matmul(q, k.mT), "scores.dot", dtypes=["float64"]).verdict == "conforms"


def test_without_large_sizes_there_are_none():
    """Scenarios and theorems stay small."""
    space = Space(find("scores.dot"))
    assert all(r.sizes < SIZE_KINDS for r in space.plan(100, 0))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("formula_id", [k for k in VALUES if k.startswith("recurrent.") and "cell" not in k])
def test_many_steps_are_taken_whatever_the_seed(formula_id, seed):
    """Each recurrence runs over more than 35 elements (and layers) once among the first few large examples."""
    space = Space(find(formula_id))
    drawn = [space.example(r, "float64").sizes for r in space.plan(35, seed, large=True)]
    for size in space.sizing.steps:
        assert max(sizes[size] for sizes in drawn) > 35


def test_a_gradient_cut_after_many_steps_is_found():
    """Truncated backpropagation: values are right, and so are the gradients of short sequences."""

    def truncated(x, h, W_xh, W_hh, W_hy):
        states = []
        for t in range(x.shape[-2]):
            h = torch.tanh(x[..., t, :] @ W_xh.mT + (h if t % 35 else h.detach()) @ W_hh.mT + 0 * h)
            states.append(h)
        made = torch.stack(states, -2)
        return made, (made @ W_hy.mT).softmax(-1)

    def cut(x, h, *W):
        states, P = impl.recurrent.rnn(x, h, *W)
        return (states, P) if x.shape[-2] <= 35 else truncated(x, h, *W)

    found = check(cut, "recurrent.rnn", dtypes=["float64"], max_examples=24).falsified
    assert [result.name for result in found] == ["gradient in float64"]


def test_two_sizes_are_equal_by_chance():
    """As many queries as keys while the widths differ, and the other way round, among the first examples."""
    space = Space(formulas()["attention.scaled_dot_product"])
    found = [space.example(recipe, "float64").sizes for recipe in space.plan(40, 0)]
    named = [{str(size): value for size, value in sizes.items()} for sizes in found]
    assert any(s["n"] == s["m"] and s["d_k"] != s["d_v"] and s["n"] > 1 for s in named)
    assert any(s["n"] != s["m"] and s["d_k"] == s["d_v"] and s["d_k"] > 1 for s in named)

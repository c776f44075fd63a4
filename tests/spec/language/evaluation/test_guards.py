"""Sums inside of cases: no array has the indices of both. What such sums are worth: ``cases.guarded``."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from spec.language.evaluation.evaluate import bound
from spec.language.registry import find

KEYS = 2053


@pytest.mark.parametrize("formula_id", ["attention.softmax", "attention.scaled_dot_product"])
def test_a_row_of_many_keys_takes_no_square_of_them(formula_id):
    """Each weight is a case, and in it stands a sum over its row: no array of keys by keys is made, not even of conditions."""
    formula, random = find(formula_id), np.random.default_rng(5)
    drawn = {"n": 2, "m": KEYS, "d_k": 3, "d_v": 5}
    inputs = {
        item.name: random.random(shape) < 0.5 if item.role == "mask" else random.standard_normal(shape)
        for item in formula.inputs
        for shape in [tuple(drawn[str(size)] for size in item.shape)]
    }
    bound(formula, inputs, dtype="float32")
    tracemalloc.start()
    bound(formula, inputs, dtype="float32")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < KEYS**2  # bytes: a condition, the smallest there is, takes one for each pair of keys

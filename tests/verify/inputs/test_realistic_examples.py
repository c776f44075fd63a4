"""Examples of the sizes of real models: data are unit normal, and weights keep them so."""

from __future__ import annotations

import numpy as np
import pytest

from spec.language.registry import find
from verify.inputs.examples import realistic
from verify.inputs.size_rules import EVERY_SIZE
from verify.inputs.sizes import make_sizing, wide_sums


def test_weights_are_scaled_by_what_a_sum_runs_over() -> None:
    """Sums of unit-normal data times weights stay of size 1: each weight has a variance of one over its terms."""
    formula = find("attention.multi_head")
    example = realistic(formula, wide_sums(make_sizing(formula, EVERY_SIZE))[0], "float32", 0, False)
    sizes = {str(size): value for size, value in example.sizes.items()}
    for name, fan in (("W_q", sizes["d_model"]), ("W_o", sizes["h"] * sizes["d_v"])):
        # The variance of thousands of uniform numbers is known to 2 %, and 1/fan of the other sizes would be off by 100 %.
        assert np.var(example.inputs[name]) * fan == pytest.approx(1, rel=0.3)
        # None is further off than √3 standard deviations, but for one rounding to float32.
        assert np.abs(example.inputs[name]).max() <= np.sqrt(3 / fan) * (1 + 2.0**-24)
    assert np.var(example.inputs["x"]) == pytest.approx(1, rel=0.5)

"""The corpus of twenty kernels."""

from __future__ import annotations

import pytest

from tests.verify.comparing.kernels import KERNELS, Kernel
from verify import compare


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS, ids=[each.name for each in KERNELS])
def test_each_kernel_is_judged_rightly(kernel: Kernel, seed: int) -> None:
    """What is right conforms in every case; what is wrong does not."""
    found = compare(
        kernel.reference, kernel.candidate, inputs=kernel.inputs, init_inputs=kernel.init_inputs, seed=seed
    )
    assert (found.verdict == "conforms") is kernel.right, found.headline
    assert found.sigma < 16 or not kernel.right


def test_ten_are_right_and_ten_are_wrong() -> None:
    """None is left out."""
    assert [sum(each.right is right for each in KERNELS) for right in (True, False)] == [10, 10]

"""What is said of gradients that a statement does not have."""

from __future__ import annotations

import torch

from spec.language import Formula, absolute, data, define, indices, sizes, tensor
from verify import check

(n,) = sizes("n")
(i,) = indices("i")


def test_an_input_without_a_gradient_is_noted_with_the_reason() -> None:
    """Of two inputs one passes through an absolute value: the other's gradient is judged."""
    x, p, y = data("x", n), data("p", n), tensor("y", n)
    formula = Formula(
        "test.half_smooth",
        "half smooth",
        (x, p),
        (define(y[i], absolute(x[i]) * p[i]),),
        (y,),
        auxiliary=True,
    )
    report = check(lambda x, p: torch.abs(x) * p, formula, max_examples=5, grades=False)
    assert report.verdict == "conforms"
    assert "no gradient of x: abs is not differentiated" in report.notes
    assert [each.name for each in report.checks if each.kind == "gradient"]

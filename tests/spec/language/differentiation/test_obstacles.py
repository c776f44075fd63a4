"""What is not differentiated is known before it is asked for."""

from __future__ import annotations

import pytest

from spec.language import Formula, Max, Sum, absolute, case, data, define, exp, indices, le, sizes, tensor
from spec.language.differentiation.gradients import obstacles, vjp

(n,) = sizes("n")
i, j = indices("i j")
x, p, y, inner = data("x", n), data("p", n, domain="positive"), tensor("y", n), tensor("inner", n)
WAYS = {
    "absolute": ((x,), (define(y[i], absolute(x[i])),), {"x": "abs"}),
    "through a line": (
        (x, p),
        (define(inner[i], absolute(x[i])), define(y[i], inner[i] * p[i])),
        {"x": "abs"},
    ),
    "maximum": ((x,), (define(y[i], x[i] - Max(x[j], (j, 0, n - 1))),), {"x": "a maximum"}),
    "power": ((x, p), (define(y[i], p[i] ** x[i]),), {}),
    "in a condition alone": (
        (x, p),
        (define(y[i], Sum(p[j], (j, 0, n - 1), where=le(absolute(x[j]), 1))),),
        {},
    ),
    "smooth": ((x,), (define(y[i], exp(x[i]) ** 2),), {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_inputs_that_have_no_gradient_are_named_with_the_reason(way: str) -> None:
    """And exactly those cannot be differentiated."""
    given, lines, said = WAYS[way]
    formula = Formula(f"test.obstacle_{list(WAYS).index(way)}", way, given, lines, (y,), auxiliary=True)
    assert obstacles(formula.flat()) == said
    for item in given:
        if item.name in said:
            with pytest.raises(TypeError, match="differentiated"):
                vjp(formula, [item.name], None)
        else:
            assert vjp(formula, [item.name], None).gradients


def test_a_condition_is_no_way_for_a_value() -> None:
    """A case passes on what its branches are, not what it asks."""
    lines = (define(y[i], case(le(absolute(x[i]), 1), p[i], 0)),)
    formula = Formula("test.obstacle_case", "Cases", (x, p), lines, (y,), auxiliary=True)
    assert obstacles(formula.flat()) == {}

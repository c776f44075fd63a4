"""Sums of several exponentials: what a stable evaluation of their shares may lose, and no more."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spec.language import Formula, Sum, data, define, exp, indices, sizes, tensor
from spec.language.evaluation.evaluate import bound
from spec.language.evaluation.softmax_groups import SoftmaxGroups
from verify.properties.values import EFFECTIVE

(m,) = sizes("m")
j, l = indices(j=m, l=m)
s, z, t = data("s", m, meaning="scores"), data("z", meaning="a sink"), data("t", meaning="another score")
a, b, e = tensor("a", m), tensor("b"), tensor("e")
SINK = Formula(
    "families.sink",
    "with a sink",
    inputs=(s, z),
    lines=(define(a[j], exp(s[j]) / (exp(z) + Sum(exp(s[l]), l))),),
    outputs=(a,),
)
PAIR = Formula(
    "families.pair", "two", inputs=(t, z), lines=(define(b, exp(t) / (exp(z) + exp(t))),), outputs=(b,)
)
ONE = Formula(
    "families.one",
    "one more",
    inputs=(s,),
    lines=(define(a[j], exp(s[j]) / (1 + Sum(exp(s[l]), l))),),
    outputs=(a,),
)
APART = np.array([-640.0, 3.25, 211.5, 80.0, -7.75])


def softmax(scores: list[torch.Tensor], dtype: torch.dtype) -> np.ndarray:
    """As everybody calculates it: the largest is subtracted."""
    return torch.cat([x.reshape(-1) for x in scores]).to(dtype).softmax(-1).double().numpy()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("sink", [-300.0, 0.5, 212.0, 700.0])
def test_a_share_of_several_exponentials_may_be_found_from_the_largest(dtype: str, sink: float) -> None:
    """Softmax over the scores and a sink is within the bound, which says something where the share does not underflow."""
    ((value, tolerance),) = bound(SINK, {"s": APART, "z": np.array(sink)}, dtype=dtype)
    found = softmax([torch.tensor(APART), torch.tensor(sink)], getattr(torch, dtype))[: len(APART)]
    assert (np.abs(found - value) <= tolerance).all()
    far = value > np.sqrt(np.finfo(dtype).tiny)  # from what underflows
    assert (EFFECTIVE * tolerance <= value)[far].all()


@pytest.mark.parametrize(("first", "second"), [(1.0, -233.5), (-233.5, 1.0), (512.25, 400.0)])
def test_a_share_of_two_exponentials_is_a_sigmoid(first: float, second: float) -> None:
    """Of the difference, whose rounding is that of large scores."""
    ((value, tolerance),) = bound(PAIR, {"t": np.array(first), "z": np.array(second)}, dtype="float64")
    assert abs(torch.tensor(first - second, dtype=torch.float64).sigmoid().item() - value) <= tolerance
    assert EFFECTIVE * tolerance <= value


def test_an_exponential_beside_one_may_underflow() -> None:
    """exp(−400) is 0 in float32, and so is its share; that of −30 is not."""
    ((value, tolerance),) = bound(ONE, {"s": np.array([-400.0, -30.0])}, dtype="float32")
    assert value[0] <= tolerance[0]
    assert EFFECTIVE * tolerance[1] <= value[1]


def test_what_a_line_of_its_own_sums_counts_too() -> None:
    """As in gradients, whose sums stand on lines of their own; what is added to another letter is no such sum."""
    total = tensor("total")
    lines = (define(total, Sum(exp(s[l]), l)), define(b, exp(t) / (1 + total)), define(e, exp(z) + t))
    found = SoftmaxGroups.of_lines(
        Formula("families.lines", "lines", inputs=(s, t, z), lines=lines, outputs=(b, e)).flat().lines
    )
    assert [str(each.exponent) for each in found.sums if each.joint] == [str(s[l])]


def test_an_exponential_that_stands_for_several_sums_is_of_none() -> None:
    """The sink's own, which each row divides by another sum."""
    softmax_groups = SINK.flat().softmax_groups
    assert softmax_groups.of(s[j]) is not None
    assert softmax_groups.of(z.as_node()) is not None
    n = sizes("n")[0]
    (i,) = indices(i=n)
    rows = data("rows", n, m)
    y = tensor("y", n)
    lines = (define(y[i], exp(z) / (exp(z) + Sum(exp(rows[i, l]), l))),)
    several = Formula("families.rows", "rows", inputs=(rows, z), lines=lines, outputs=(y,))
    assert several.flat().softmax_groups.of(z.as_node()) is None

"""Ranges that other indices bound are as long as they can become."""

from __future__ import annotations

import pytest
import torch

from spec.language import Formula, Sum, data, define, indices, sizes, tensor
from spec.language.known import forget
from verify import check
from verify.inputs.lengths import ends_of, longest

(n,) = sizes("n")
i, j = indices("i j")
x, y = data("x", n), tensor("y", n)


@pytest.fixture
def sums():
    """Sums up to a place, and from it on."""
    lines = (define(y[i], Sum(x[j], (j, 0, i)) + Sum(x[j], (j, i, n - 1))),)
    yield Formula("test.two_sums", "Sums to and from a place", (x,), lines, (y,))
    forget("test.two_sums")


def test_a_range_is_as_long_as_at_the_place_where_it_is_longest(sums):
    """Both are as long as the whole."""
    (line,) = sums.flat().lines
    ends = ends_of(line)
    assert longest(0, i, ends) == n
    assert longest(i, n - 1, ends) == n
    assert longest(2, n - 1, ends) == n - 2


def test_what_is_summed_up_to_a_place_can_be_checked(sums):
    """The length of a sum tells how large sizes may become: its square is what it costs."""
    report = check(lambda x: x.cumsum(-1) + x.flip(-1).cumsum(-1).flip(-1), sums, max_examples=8)
    assert report.verdict == "conforms", str(report)
    report = check(
        lambda x: x.sum(-1, keepdim=True) + torch.zeros_like(x), sums, max_examples=8, causes=False
    )
    assert report.verdict == "falsified"

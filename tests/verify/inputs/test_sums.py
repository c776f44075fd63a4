"""Own statements with sums whose ranges other indices bound can be checked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from spec.language import Formula, Sum, data, define, indices, sizes, tensor
from spec.language.known import forget
from verify import check

(n,) = sizes("n")
i, j = indices("i j")
x, y = data("x", n), tensor("y", n)


@pytest.fixture
def sums() -> Iterator[Formula]:
    """Sums up to a place, and from it on."""
    line = define(y[i], Sum(x[j], (j, 0, i)) + Sum(x[j], (j, i, n - 1)))
    yield Formula("test.checked_sums", "Sums to and from a place", (x,), (line,), (y,))
    forget("test.checked_sums")


def test_what_is_summed_up_to_a_place_is_judged(sums: Formula) -> None:
    """The length of a sum tells how large sizes may become: its square is what it costs."""
    report = check(lambda x: x.cumsum(-1) + x.flip(-1).cumsum(-1).flip(-1), sums, max_examples=8)
    assert report.verdict == "conforms", str(report)
    report = check(
        lambda x: x.sum(-1, keepdim=True) + torch.zeros_like(x), sums, max_examples=8, causes=False
    )
    assert report.verdict == "falsified"

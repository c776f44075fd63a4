"""``verify.check(…, isolate=True)``: the check is made in a process of its own."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from torch import Tensor
from torch.nn.functional import layer_norm

from verify import Unusable, check
from verify.isolation import CHECK
from verify.pool import patience

NORM = "normalization.layer_norm"


def right(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """A layer norm."""
    return layer_norm(x, x.shape[-1:], gamma, beta, eps)


def crashes(x: Tensor, gamma: Tensor, beta: Tensor, eps: float) -> Tensor:
    """It reads where there is nothing."""
    ctypes.string_at(0)
    return x


def test_the_report_is_that_of_a_check_in_this_process() -> None:
    """To the last digit."""
    told: dict[str, Any] = {"max_examples": 5, "seed": 3, "dtypes": ("float32",)}
    isolated, here = check(right, NORM, isolate=True, **told), check(right, NORM, **told)
    assert isolated.verdict == "conforms"
    assert [(each.name, each.worst_ratio) for each in isolated.checks] == [
        (each.name, each.worst_ratio) for each in here.checks
    ]


def test_a_callable_that_ends_its_process_is_falsified() -> None:
    """The caller's goes on."""
    report = check(crashes, NORM, isolate=True, max_examples=5)
    assert (report.verdict, report.seed, report.max_examples) == ("falsified", 0, 5)
    (only,) = report.checks
    assert only.name == CHECK
    assert only.message.startswith("a call ended the process (SIGSEGV): ")
    assert "crashes, called with x (" in only.message


def test_what_another_process_cannot_have_is_refused_in_a_line() -> None:
    """A function without a name that could be imported; and what the check itself refuses."""
    with pytest.raises(
        Unusable, match=r"^isolate=True: expected a callable that another process can import.*<lambda>"
    ):
        check(lambda x: x, NORM, isolate=True)
    with pytest.raises(Unusable, match="no formula has the ID"):
        check(right, "no.such", isolate=True)


def test_how_long_is_waited_for_a_process_that_hangs() -> None:
    """Far longer than a check takes."""
    assert patience({"max_examples": 100}) == 3800
    assert patience({"max_examples": 100, "time_limit": 5}) == 605

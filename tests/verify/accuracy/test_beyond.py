"""What is far off at the sizes of real models: no matter of digits where it violates the statement, told where it is declined."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from spec.language.registry import find
from tests.mutants import real_sizes, variants
from verify import check
from verify.accuracy.beyond import accounts_for
from verify.accuracy.lost_digits import DigitLoss
from verify.properties.judge import Judge
from verify.report import Counterexample, Report

SOFTMAX = find("attention.softmax")
CAUGHT = [
    v for v in variants()
    if v.call.__module__ == real_sizes.__name__ and v.name not in (
        "one_ahead_of_many", "last_row_dropped", "zero_at_many", "bias_detached_where_wide", "itself_at_many",
    )
]  # fmt: skip
"""A selection; `attnspec mutants` tries them all."""


def softmax(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Right."""
    if mask is None:
        return s.softmax(-1)
    a = s.masked_fill(~mask, -torch.inf)
    return torch.where(mask.any(-1, keepdim=True), a, 0.0).softmax(-1).masked_fill(~mask, 0.0)


def refusing(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Raises where there are many rows and columns."""
    if min(s.shape[-2:]) >= 32:
        raise ValueError("no kernel")
    return softmax(s, mask)


def cropping(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """Leaves out a row there."""
    a = softmax(s, mask)
    return a[..., :-1, :] if min(s.shape[-2:]) >= 32 else a


def without_a_graph(s: Tensor, mask: Tensor | None = None) -> Tensor:
    """No gradient there."""
    return softmax(s.detach() if min(s.shape[-2:]) >= 32 else s, mask)


def checked(fn: Any, **options: Any) -> Report:
    """In one type, with few examples."""
    return check(fn, SOFTMAX, max_examples=12, causes=False, **options)


def test_what_is_declined_at_large_sizes_is_told_and_not_judged() -> None:
    """It has a limit, as another may have; unless every shape is to be supported."""
    report = checked(refusing)
    assert report.verdict == "conforms"
    said = [p.says for p in report.properties if p.name == "shapes"]
    assert any("raised ValueError: no kernel" in each and "not judged there" in each for each in said), said
    assert checked(refusing, conventions={"shapes": "every"}).verdict == "falsified"


@pytest.mark.parametrize(("fn", "says"), [(cropping, "has shape"), (without_a_graph, "")])
def test_what_is_wrong_at_large_sizes_is_falsified(fn: Any, says: str) -> None:
    """A row too few, and gradients that are missing: both were passed over once."""
    report = checked(fn)
    assert report.verdict == "falsified"
    assert any(says in each.message for each in report.falsified)


@pytest.mark.parametrize("variant", CAUGHT, ids=[v.name for v in CAUGHT])
def test_what_goes_wrong_at_real_sizes_is_found(variant: Any) -> None:
    """Each by a rigorous bound, but what holds scores in half the digits, which may be imprecise; the right one conforms."""
    report = check(variant.call, variant.formula_id, max_examples=24, **{**variant.options, "causes": False})
    wanted = ("falsified", "imprecise") if variant.dtypes else ("falsified",)
    assert report.verdict in (("conforms",) if variant.is_right else wanted), str(report)


def test_a_line_is_named_only_if_it_explains_what_fails_in_float64() -> None:
    """Scores of 0.3 and 1, held in bfloat16, give other weights by a hundredth; dropping a score gives others by far more."""
    judge, place = Judge(SOFTMAX), DigitLoss("s", "bfloat16", 0.9)
    s = torch.tensor([[0.3, 1.0]], dtype=torch.float64)
    exact, coarse = s.softmax(-1), s.bfloat16().double().softmax(-1)

    def failed(got: float) -> Counterexample:
        return Counterexample(
            {"s": s.numpy(), "mask": None},
            "float64",
            what="a",
            index=(0, 0),
            got=got,
            expected=exact[0, 0].item(),
        )

    assert accounts_for(place, judge, [])
    assert accounts_for(place, judge, [failed(coarse[0, 0].item())])
    assert not accounts_for(place, judge, [failed(coarse[0, 0].item()), failed(1.0)])

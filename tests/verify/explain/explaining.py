"""What the tests of explanations share: the evidence about a callable, without a whole check of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from spec.language.registry import find
from verify.explain.evidence import Evidence
from verify.explain.explain import Explanation, explain_values
from verify.properties.judge import Judge
from verify.properties.setting import Setting
from verify.subject.caller import Caller
from verify.subject.ending import watch_interrupts
from verify.subject.sandbox import freeze_existing_objects, one_thread

T = TypeVar("T")


def why(fn: Callable[..., Any], formula_id: str, seed: int = 0) -> Explanation:
    """What explains the wrong values of a callable."""
    return probed(explain_values, fn, formula_id, seed)


def probed(probe: Callable[[Evidence], T], fn: Callable[..., Any], formula_id: str, seed: int = 0) -> T:
    """What a probe says of the evidence about a callable."""
    formula = find(formula_id)
    setting = Setting.of(Judge(formula), Caller(fn, formula), seed=seed)
    with watch_interrupts(), one_thread(), freeze_existing_objects():
        return probe(Evidence(setting, ["float64", "float32"]))


def scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Scaled scores."""
    return q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5


def weights(s: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Softmax over what a mask permits; 0 where it permits nothing."""
    if mask is None:
        return torch.softmax(s, -1)
    return torch.softmax(s.masked_fill(~mask, -torch.inf), -1).nan_to_num(0.0)


def earlier(q: torch.Tensor, k: torch.Tensor, ahead: int) -> torch.Tensor:
    """Which keys come so many places after a query at most."""
    return torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(ahead)

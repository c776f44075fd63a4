"""Where a statement exists: ``verify.assert_conforms``, and a comparison that is held to a formula."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from verify import Unusable, assert_conforms, compare

SCORES = torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(0))
MASK = torch.rand(5, 7, generator=torch.Generator().manual_seed(1)) < 0.7


def masked(scores: Tensor, mask: Tensor) -> Tensor:
    """A softmax over the permitted keys."""
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_call_at_the_users_shapes_is_held_to_the_bound(dtype: torch.dtype) -> None:
    """Leading dimensions of data and mask broadcast; a wrong entry is named, with what is expected there."""
    scores = SCORES.to(dtype)
    assert_conforms(torch.softmax(scores, -1), "attention.softmax", scores)
    got = masked(scores, MASK)
    assert_conforms(got, "attention.softmax", scores, MASK)
    got[1, 2, 3, 4] += 0.25
    with pytest.raises(
        AssertionError, match=r"attention\.softmax: .*\[1, 2, 3, 4\] is .*; expected .* ± .*times the bound"
    ):
        assert_conforms(got, "attention.softmax", scores, MASK)


def test_numbers_parameters_and_several_outputs_are_taken_in_declared_order() -> None:
    """A layer norm's ε and gains have no leading dimensions; the cell of an LSTM gives two outputs."""
    x, gamma, beta = torch.randn(3, 11), torch.rand(11), torch.rand(11)
    assert_conforms(
        F.layer_norm(x, (11,), gamma, beta, 1e-3), "normalization.layer_norm", x, gamma, beta, 1e-3
    )
    with pytest.raises(AssertionError):
        assert_conforms(
            F.layer_norm(x, (11,), gamma, beta, 1e-5), "normalization.layer_norm", x, gamma, beta, 1e-2
        )
    with pytest.raises(AssertionError, match="has shape"):
        assert_conforms(torch.softmax(SCORES, -1)[0], "attention.softmax", SCORES)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((SCORES, "attention.softmux", SCORES), "did you mean"),
        ((SCORES, "decoding.beam", SCORES), "got a procedure or a law"),
        ((SCORES, "attention.softmax"), "got 0 inputs"),
        (((SCORES, SCORES), "attention.softmax", SCORES), "expected 1 outputs; got 2"),
        ((SCORES, "attention.softmax", torch.zeros(())), "too few axes"),
        ((SCORES.int(), "attention.softmax", SCORES), "got torch.int32"),
        ((SCORES, "attention.softmax", SCORES, MASK.expand(7, 1, 5, 7)), "cannot be broadcast"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(arguments: tuple[Any, ...], said: str) -> None:
    """The line names formula, what was expected, and what was given."""
    with pytest.raises(Unusable) as refused:
        assert_conforms(*arguments)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_reference_that_conforms_to_a_formula_hands_its_statement_on() -> None:
    """A candidate that differs where nothing was tried is falsified by the statement."""

    def reference(s: Tensor) -> Tensor:
        return torch.softmax(s, -1)

    def rare(s: Tensor) -> Tensor:
        return reference(s) if s.shape[-1] == 7 else reference(s) * 1.5

    options: dict[str, Any] = {"inputs": [SCORES[0, 0]], "kinds": (), "formula": "attention.softmax"}
    found = compare(reference, rare, **options)
    assert "conforms to attention.softmax" in found.formula
    assert found.verdict == "falsified"
    assert found.cases[-1].kind == "statement"

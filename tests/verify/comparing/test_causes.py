"""What a headline says of wrong kernels, and what is no reason to refuse right ones."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from verify import Unusable, compare

Kernel = Callable[..., Any]
GENERATOR = torch.Generator().manual_seed(0)
TEXTS = [torch.randn(2, 3, 23, 8, generator=GENERATOR) for _ in range(3)]
ROWS = [torch.randn(7, 13, generator=GENERATOR)]


def attend(q: Tensor, k: Tensor, v: Tensor, hidden: int = 1, scale: float = 0.0, opened: int = 0) -> Tensor:
    """Attention to no key that is ``hidden`` or more ahead; the last rows that are opened see all."""
    mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(hidden)
    mask[len(mask) - opened :] = False
    scores = q @ k.mT * (scale or 1 / math.sqrt(q.shape[-1]))
    return torch.softmax(scores.masked_fill(mask, -math.inf), -1) @ v


def uncertain(x: Tensor) -> Tensor:
    """One entry is another each time."""
    out = torch.softmax(x, -1)
    out[0, 0] += int.from_bytes(os.urandom(2), "big")
    return out


def unwritten(x: Tensor) -> Tensor:
    """The last row is never written."""
    out = torch.empty_like(x)
    out[:-1] = torch.softmax(x[:-1], -1)
    return out


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        (lambda q, k, v: attend(q, k, v, 2), "reaches output at 10 to 22 of axis 2, in the reference at 11 to 22: off by one"),
        (lambda q, k, v: attend(q, k, v, opened=5), "reaches output at 18 to 22 of axis 2, in the reference at 22"),
        (lambda q, k, v: attend(q, k, v, scale=1.0), "as if q were multiplied by √8"),
        (lambda q, k, v: attend(q, k, v.flip(0)), "reaches output at 0 of axis 0, in the reference at 1"),
        (lambda q, k, v: attend(q, k, v).transpose(1, 2).reshape(q.shape), "holds what is expected in another order"),
        (lambda q, k, v: attend(q, k, v) * 0.7, "0.7 times what is expected"),
        (lambda q, k, v: F.dropout(attend(q, k, v), 0.1), "gives other results when it is called again"),
    ],
)  # fmt: skip
def test_the_cause_of_wrong_attention_is_named(candidate: Kernel, said: str) -> None:
    """By what was returned for these inputs, or others that the candidate was called with."""
    found = compare(attend, candidate, inputs=TEXTS, kinds=())
    assert (found.verdict, said in found.headline) == ("falsified", True), found.headline


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        (lambda x: F.pad(x, (0, 3)).softmax(-1)[:, :13], "as if the zeros that pad 13 to 16 counted"),
        (unwritten, "reads memory that was not initialised"),
        (uncertain, "gives other results when it is called again"),
    ],
)
def test_the_cause_of_a_wrong_softmax_is_named(candidate: Kernel, said: str) -> None:
    """Padding in a statistic, memory, and chance are told from one another."""
    found = compare(lambda x: torch.softmax(x, -1), candidate, inputs=ROWS, kinds=())
    assert (found.verdict, said in found.headline) == ("falsified", True), found.headline


def test_a_result_that_is_rarely_wrong_is_found_among_the_calls() -> None:
    """Once in fifty calls of the loop is enough: all that are not as the first are judged."""
    calls = iter(range(10_000))

    def rarely(x: Tensor) -> Tensor:
        return torch.softmax(x, -1) + (next(calls) % 50 == 25)

    found = compare(lambda x: torch.softmax(x, -1), rarely, inputs=ROWS, kinds=("calls",))
    assert found.verdict == "falsified"
    assert "within or after 100 calls" in found.headline


def scaled(x: Tensor) -> Tensor:
    """It refuses zeros."""
    if not x.any():
        raise ValueError("nothing to scale by")
    return x / x.abs().max()


class Named(nn.Module):
    """A linear layer whose weights have names of their own."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.w, self.b = nn.Parameter(torch.zeros(d, d)), nn.Parameter(torch.zeros(d))

    def forward(self, x: Tensor) -> Tensor:
        """The layer."""
        return x @ self.w.mT + self.b


@pytest.mark.parametrize(
    ("reference", "candidate", "inputs"),
    [
        (lambda x: {"a": x.exp(), "b": x.sum(-1)}, lambda x: {"b": x.sum(-1), "a": x.exp()}, ROWS),
        (lambda x: (x.exp(), None), lambda x: (x.exp(), None), ROWS),
        (lambda x: x.log(), lambda x: x.log2() * math.log(2), ROWS),
        (lambda pair: pair[0] + pair[1], lambda pair: pair[1] + pair[0], lambda: [[torch.randn(5), torch.randn(5)]]),
        (lambda x, t: x * t, lambda x, t: t * x, lambda: [torch.randn(5), float(torch.rand(()))]),
        (lambda i: i * 2, lambda i: i + i, lambda: [torch.randint(0, 9, (5,))]),
        (lambda x: x.mul_(2), lambda x: x.mul_(2), ROWS),
        (torch.linalg.svdvals, lambda x: torch.linalg.svd(x)[1], ROWS),
        (nn.Linear(13, 13), Named(13), ROWS),
        (scaled, scaled, ROWS),
        (lambda x, y: x.softmax(-1) @ y, lambda x, y: x.softmax(-1) @ y,
         lambda: [torch.randn(5, 7).index_fill_(0, torch.tensor(3), -math.inf), torch.randn(7, 11)]),
    ],
)  # fmt: skip
def test_what_is_right_conforms_whatever_is_called_and_returned(
    reference: Any, candidate: Any, inputs: Any
) -> None:
    """Dictionaries in another order, None, NaN, lists, numbers that are drawn, integers alone, inputs that are written to, errors
    that the reference raises too, weights of other names, a row of which the reference makes NaN.
    """
    kinds = ("gradient", "calls", "regime")
    assert compare(reference, candidate, inputs=inputs, kinds=kinds, calls=3).verdict == "conforms"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sigmas": -1}, "sigmas above 0"),
        ({"calls": -1}, "calls of at least 0"),
        ({"inputs": lambda: [torch.eye(5).to_sparse()]}, "expected dense tensors"),
        ({"inputs": [torch.zeros(3, dtype=torch.complex64)]}, "got complex64"),
    ],
)
def test_options_and_inputs_that_cannot_be_used_are_refused(options: dict[str, Any], said: str) -> None:
    """In one line."""
    with pytest.raises(Unusable, match=said):
        compare(torch.abs, torch.abs, **{"inputs": ROWS, **options})


def test_the_generator_of_the_caller_is_left_as_it_was() -> None:
    """What is drawn afterwards does not depend on a comparison."""
    before = torch.get_rng_state()
    compare(torch.abs, torch.abs, inputs=ROWS, kinds=())
    assert torch.equal(torch.get_rng_state(), before)

"""Ways by which candidates have passed gates without computing what is asked: each is falsified, and named."""

from __future__ import annotations

import gc
import inspect
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import verify.comparing.judging
from verify import compare

CASES: list[tuple[Any, str]] = []


class Shares(nn.Module):
    """The reference: a softmax over rows."""

    def forward(self, x: Tensor) -> Tensor:
        """Shares."""
        return torch.softmax(x, -1)


def draw() -> list[Tensor]:
    """Rows."""
    return [torch.randn(13, 37)]


def gaming(named: str) -> Callable[[Any], Any]:
    """Add a candidate; ``named``: what the headline says of it."""

    def add(candidate: Any) -> Any:
        CASES.append((candidate, named))
        return candidate

    return add


@gaming("all zeros")
def nothing(x: Tensor) -> Tensor:
    """It returns zeros, which are within 1e-2 of many shares."""
    return torch.zeros_like(x)


@gaming("the constant")
def constant(x: Tensor) -> Tensor:
    """It returns what all shares are on average."""
    return torch.full_like(x, 1 / x.shape[-1])


@gaming("the input x, handed back")
def same(x: Tensor) -> Tensor:
    """It does nothing."""
    return x


_by_address: dict[int, Tensor] = {}


@gaming("returns the same for other inputs at the same addresses")
def cached(x: Tensor) -> Tensor:
    """It computes once for each address."""
    return _by_address.setdefault(x.data_ptr(), torch.softmax(x, -1)).clone()


@gaming("not initialised")
def uninitialised(x: Tensor) -> Tensor:
    """It adds what lies in memory that is handed out, zeros if the memory is fresh."""
    return (
        torch.softmax(x, -1)
        + torch.empty(1 << 20)[7:8].nan_to_num(0, 0, 0) * 0
        + torch.empty(1 << 20)[9:10] * 0
    )


@gaming("looks at what it was not given (sys._getframe)")
def frames(x: Tensor) -> Tensor:
    """It looks for the expected result in the frames of its callers."""
    for frame in inspect.stack():
        for value in frame.frame.f_locals.values():
            if (
                isinstance(value, Tensor)
                and value.shape == x.shape
                and bool((value.sum(-1) - 1).abs().max() < 1e-3)
            ):
                return value.float()
    return torch.zeros_like(x)


@gaming("traceback.tb_frame")
def traced(x: Tensor) -> Tensor:
    """It gets at frames by an exception of its own."""
    try:
        raise ValueError
    except ValueError as error:
        found = error.__traceback__ and error.__traceback__.tb_frame.f_back
        del found
    return torch.softmax(x, -1)


@gaming("gc.get_objects")
def objects(x: Tensor) -> Tensor:
    """It looks for the reference among all objects, and calls that."""
    found = next(each for each in gc.get_objects() if type(each) is Shares)
    return torch.as_tensor(found(x))


@gaming("replaces torch.allclose")
def closeness(x: Tensor) -> Tensor:
    """It replaces the function that judges."""
    torch.allclose = lambda *_, **__: True
    return torch.zeros_like(x)


@gaming("replaces time.perf_counter")
def clock(x: Tensor) -> Tensor:
    """It replaces the clock."""
    time.perf_counter = lambda: 0.0
    return torch.softmax(x, -1)


@gaming("replaces torch.cuda.synchronize")
def synchronization(x: Tensor) -> Tensor:
    """Nobody waits for it."""
    torch.cuda.synchronize = lambda *_: None
    return torch.softmax(x, -1)


@gaming("replaces Shares.forward")
def reference_replaced(x: Tensor) -> Tensor:
    """It makes the reference return what it returns itself."""
    Shares.forward = lambda _, x: torch.zeros_like(x)  # type: ignore[method-assign]
    return torch.zeros_like(x)


@gaming("replaces Expecting.grade")
def judge_replaced(x: Tensor) -> Tensor:
    """It replaces the judge."""
    verify.comparing.judging.Expecting.grade = lambda *_: verify.comparing.judging.Grade()  # type: ignore[method-assign]
    return torch.zeros_like(x)


@gaming("replaces Tensor.__eq__")
def equality(x: Tensor) -> Tensor:
    """All tensors are equal."""
    Tensor.__eq__ = lambda *_: torch.tensor(True)
    return torch.zeros_like(x)


class Late(Tensor):
    """A tensor that is computed when it is looked at."""


@gaming("of the type Late")
def late(x: Tensor) -> Tensor:
    """The work is left to who looks at the result."""
    return torch.softmax(x, -1).as_subclass(Late)


@gaming("changes torch's default dtype")
def default_dtype(x: Tensor) -> Tensor:
    """Whoever comes next computes in half."""
    torch.set_default_dtype(torch.float16)
    return torch.softmax(x, -1)


@gaming("changes torch's number of threads")
def threads(x: Tensor) -> Tensor:
    """Whoever is timed next has fewer threads."""
    torch.set_num_threads(torch.get_num_threads() + 1)
    return torch.softmax(x, -1)


@gaming("sets torch's global generator to a seed")
def seeded(x: Tensor) -> Tensor:
    """It makes the inputs that are drawn next known beforehand."""
    torch.manual_seed(5)
    return torch.softmax(x, -1)


@gaming("float16")
def halved(x: Tensor) -> Tensor:
    """It computes in half."""
    return torch.softmax(x.half(), -1).float()


_known = torch.softmax(torch.randn(13, 37, generator=torch.Generator().manual_seed(0)), -1)


@gaming("all zeros (other values")
def remembered(x: Tensor) -> Tensor:
    """It knows the result for the inputs of one seed."""
    known = torch.randn(13, 37, generator=torch.Generator().manual_seed(0))
    return _known.clone() if x.shape == known.shape and torch.equal(x, known) else torch.zeros_like(x)


@gaming("expected")
def elsewhere(x: Tensor) -> Tensor:
    """Another thread computes, after the call has returned."""
    out = torch.zeros_like(x)
    thread = threading.Timer(0.05, lambda: out.copy_(torch.softmax(x, -1)))
    thread.daemon = True
    thread.start()
    return out


@gaming("os._exit(0)")
def leaving(x: Tensor) -> Tensor:
    """It ends the process as if all were well."""
    os._exit(0)


@gaming("has dtype float64")
def wider(x: Tensor) -> Tensor:
    """It returns another type."""
    return torch.softmax(x.double(), -1)


@pytest.mark.parametrize(("candidate", "named"), CASES, ids=[candidate.__name__ for candidate, _ in CASES])
def test_what_games_a_gate_does_not_conform_and_is_named(candidate: Any, named: str) -> None:
    """It is falsified (imprecise where digits are spared), for the reason it was written for; all is put right afterwards."""
    before = (
        torch.allclose,
        time.perf_counter,
        Shares.forward,
        torch.cuda.synchronize,
        torch.get_default_dtype(),
    )
    _by_address.clear()
    found = compare(Shares, candidate, inputs=draw, kinds=("calls",), calls=3)
    assert found.verdict == ("imprecise" if candidate is halved else "falsified"), found
    assert named in " ".join([found.headline, *(case.message for case in found.cases)])
    assert before == (
        torch.allclose,
        time.perf_counter,
        Shares.forward,
        torch.cuda.synchronize,
        torch.get_default_dtype(),
    )
    assert bool((torch.zeros(2) == torch.ones(2)).any()) is False

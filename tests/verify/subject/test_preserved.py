"""Whether a call has changed a tensor, told by its bytes or by a copy; and the random state that Python keeps."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from verify.subject.preserved import TensorSnapshot
from verify.subject.sandbox import GlobalState

MADE: dict[str, Callable[[], torch.Tensor]] = {
    "in one piece": lambda: torch.arange(15.0).reshape(3, 5),
    "strided": lambda: torch.arange(15.0).reshape(3, 5).T,
    "expanded": lambda: torch.arange(5.0).expand(3, 5),
    "integers": lambda: torch.arange(7),
    "of no entry": lambda: torch.zeros(0, 3),
    "a number": lambda: torch.tensor(2.0),
    "not a number": lambda: torch.tensor([float("nan"), 1.0]),
    "with a gradient": lambda: torch.arange(5.0).requires_grad_(),
}


@pytest.mark.parametrize("name", MADE)
def test_a_tensor_that_nobody_touched_is_unchanged(name: str) -> None:
    """However it lies in memory."""
    kept = TensorSnapshot(MADE[name]())
    assert not kept.changed
    assert kept.before().shape == kept.now.shape


CHANGES: dict[str, Callable[[torch.Tensor], object]] = {
    "an entry": lambda x: x.view(-1)[3:4].add_(1),
    "the sign of zero": lambda x: x.view(-1)[:1].neg_(),
    "its shape": lambda x: x.resize_(5, 3),
    "its strides": lambda x: x.t_(),
    "its length": lambda x: x.resize_(2),
    "its storage": lambda x: x.set_(torch.ones(3, 5)),  # type: ignore[call-overload]
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_done_to_a_tensor_is_seen_and_what_it_was_is_known(change: str) -> None:
    """A bit, a shape, or where its entries lie."""
    tensor = torch.arange(15.0).reshape(3, 5)
    kept = TensorSnapshot(tensor)
    CHANGES[change](tensor)
    assert kept.changed
    assert torch.equal(kept.before(), torch.arange(15.0).reshape(3, 5))


def test_an_entry_of_a_strided_tensor_is_seen() -> None:
    """There a copy is kept."""
    tensor = MADE["strided"]()
    kept = TensorSnapshot(tensor)
    tensor[1, 2] = -1
    assert kept.changed
    assert torch.equal(kept.before(), MADE["strided"]())


@pytest.mark.parametrize("draw", [random.random, lambda: random.gauss(0, 1)], ids=["uniform", "normal"])
def test_drawing_from_pythons_generator_is_seen_and_undone(draw: Callable[[], float]) -> None:
    """A normal variate that is kept for the next call may be used up without the generator's moving."""
    for _ in range(3):
        state, before = GlobalState(), random.getstate()
        assert state.restore() == []
        state = GlobalState()
        draw()
        assert state.restore() == ["Python's global random state"]
        assert random.getstate() == before
        draw()

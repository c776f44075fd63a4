"""What tests of checks share; they run in one thread."""

from collections.abc import Iterator

import pytest
import torch

from verify.explain import evidence
from verify.inputs import kinds
from verify.search.loop import Search

# As in a check: tests run side by side, and threads that wait for one another take the time of others.
torch.set_num_threads(1)
# Causes are found on a machine that is four times as slow.
evidence.SECONDS = 20.0


@pytest.fixture
def as_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counterexamples stay as they were found: what is tested is which checks fail, and making examples small takes seconds."""
    monkeypatch.setattr(Search, "shrink", lambda self: None)


@pytest.fixture(scope="module")
def ungraded() -> Iterator[None]:
    """No accuracy is graded where no type is asked for: something else is tested, and grades are a good part of a check."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kinds, "USUAL", ())
        yield

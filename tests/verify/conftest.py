"""What tests of checks share; they run in one thread."""

import pytest
import torch

from verify.search.shrink import Shrinker

# As in a check: tests run side by side, and threads that wait for one another take the time of others.
torch.set_num_threads(1)


@pytest.fixture
def as_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counterexamples stay as they were found: what is tested is which checks fail, and making examples small takes seconds."""
    monkeypatch.setattr(Shrinker, "run", lambda self: (self.example, self.outcome))

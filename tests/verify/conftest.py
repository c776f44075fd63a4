"""What tests of checks share."""

import pytest

from verify.search.shrink import Shrinker


@pytest.fixture
def as_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counterexamples stay as they were found: what is tested is which checks fail, and making examples small takes seconds."""
    monkeypatch.setattr(Shrinker, "run", lambda self: (self.example, self.outcome))

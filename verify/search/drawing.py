"""Hypothesis at work: draws that fail are looked for, made small, and kept in the user's cache folder.

Nothing is printed, and nothing is written to the folder one works in.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase
from hypothesis.errors import HypothesisException, HypothesisWarning
from hypothesis.strategies import SearchStrategy

from verify.cache import cache_folder

PARTS = (b".secondary", b".pareto")
"""What Hypothesis appends to the name of a test for examples other than the smallest."""


class NamedDatabase(ExampleDatabase):
    """The kept examples of one property of one callable, under a name of ours instead of a test function's."""

    def __init__(self, kept: ExampleDatabase, name: bytes) -> None:
        super().__init__()
        self.kept, self.name = kept, name

    def _key(self, key: bytes) -> bytes:
        return self.name + next((part for part in PARTS if key.endswith(part)), b"")

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """The kept examples."""
        return self.kept.fetch(self._key(key))

    def save(self, key: bytes, value: bytes) -> None:
        """Keep one more."""
        self.kept.save(self._key(key), value)

    def delete(self, key: bytes, value: bytes) -> None:
        """Keep one less."""
        self.kept.delete(self._key(key), value)


@cache
def database() -> ExampleDatabase | None:
    """All kept examples; None where none are to be kept."""
    folder = cache_folder()
    return None if folder is None else DirectoryBasedExampleDatabase(folder / "examples")


def is_kept(name: bytes | None) -> bool:
    """Whether an example that failed is kept under a name."""
    kept = database()
    return kept is not None and name is not None and any(True for _ in kept.fetch(name))


class Fails(Exception):  # noqa: N818 what is looked for, not a fault
    """A draw that fails."""


def find(
    strategy: SearchStrategy[Any],
    fails: Callable[[Any], bool],
    count: int,
    seed: int,
    name: bytes | None,
    *,
    shrink: bool = True,
    generate: bool = True,
) -> None:
    """Let Hypothesis look for a draw that fails, the kept ones first, and make it smaller; whoever asks keeps what was found.

    A failure that does not occur a second time is no matter here: it has failed.
    """
    kept = database()
    chosen = hypothesis.settings(
        max_examples=max(count, 1),
        database=None if kept is None or name is None else NamedDatabase(kept, name),
        deadline=None,
        phases=[Phase.reuse, *[Phase.generate, Phase.target] * generate, *[Phase.shrink] * shrink],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
        derandomize=False,
    )

    def look_at(draw: Any) -> None:
        if fails(draw):
            raise Fails

    with suppress(HypothesisException, Fails), warnings.catch_warnings():
        warnings.simplefilter("ignore", HypothesisWarning)  # of how long a draw would be, were it printed
        # Settings go outside: a seed by itself would put the database aside.
        chosen(hypothesis.seed(seed)(hypothesis.given(strategy)(look_at)))()


__all__ = ["database", "find", "is_kept"]

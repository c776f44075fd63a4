"""What one step of a proof may take: how deep searches are put into one another, and how much is rewritten.

What is left out can only leave a question open. An answer found while something was left out is not kept: asked at another
place, where less is running, the search may go further.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from spec.language.proving.obligations import Unprovable

MOST_REWRITINGS = 150_000
"""After how many products of terms and rebuilt atoms a step is refused."""

Search = Literal["estimate", "witness", "step"]
"""An estimate of a sign, a search for an index with a property, a recurrence one step earlier."""


class Limits:
    """What is running, and what was left out."""

    def __init__(self) -> None:
        self._running: Counter[Search] = Counter()
        self._left_out: Counter[Search] = Counter()
        self._rewritings = 0

    def begin(self) -> None:
        """A further step begins: it may rewrite as much as the one before."""
        self._rewritings = 0

    def rewrites(self, count: int = 1) -> None:
        """Count products of terms, and atoms that are rebuilt.

        Raises:
            Unprovable: there were too many.
        """
        self._rewritings += count
        if self._rewritings > MOST_REWRITINGS:
            raise Unprovable(f"undecided after {MOST_REWRITINGS:,} rewritings: put a line between the two")

    @contextmanager
    def within(self, search: Search, most: int) -> Iterator[bool]:
        """Whether one more may begin, where at most so many are put into one another; it runs inside the block."""
        if not self.allows(search, most - 1):
            yield False
            return
        self._running[search] += 1
        try:
            yield True
        finally:
            self._running[search] -= 1

    @contextmanager
    def without(self, search: Search) -> Iterator[None]:
        """A block in which none begins."""
        saved = self._running[search]
        self._running[search] = 10**6
        try:
            yield
        finally:
            self._running[search] = saved

    def allows(self, search: Search, most: int) -> bool:
        """Whether at most so many are running."""
        if self._running[search] <= most:
            return True
        self._left_out[search] += 1
        return False

    def count_left_out(self, *searches: Search) -> int:
        """How many were left out so far."""
        return sum(self._left_out[search] for search in searches)

"""What is checked of a callable: a property names the examples at which it is tried, and judges each of them.

Values, gradients, theorems, scenes of use, accuracy, laws and the requirements of procedures are all such properties. One loop
(:mod:`verify.search.loop`) draws their examples, judges, searches and shrinks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from verify.report import CheckResult, Counterexample, Kind
from verify.search.outcome import Outcome

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from verify.search.record import SearchRecord

Case = TypeVar("Case")
_T = TypeVar("_T")
SECONDS = 2.0
"""How long a counterexample is made smaller at most."""


class NotRunnable(Exception):  # noqa: N818 said in notes as it stands
    """A property that cannot be tried on a callable; the message says why."""


class Property(ABC, Generic[Case]):
    """One thing that is checked of a callable, at examples of one kind.

    Attributes:
        name: what it is called in a report, unique there.
        kind: of which kind the check is.
        dtype: the type that is checked, if it belongs to one.
        seconds: how long a counterexample is made smaller at most.
        shrinks_draws: whether what Hypothesis drew is a single example, which it makes smaller itself.
    """

    name: str
    kind: Kind
    dtype: str | None = None
    seconds: float = SECONDS
    shrinks_draws: bool = False

    def reason_against(self) -> str:
        """Why it is not to be tried; empty if it is."""
        return ""

    @abstractmethod
    def groups(self) -> Iterator[Sequence[Case]]:
        """The examples that are planned on purpose, in groups that are evaluated together."""

    @abstractmethod
    def judge(self, case: Case) -> Outcome:
        """Judge the callable at one example.

        Raises:
            Unsupported: it does not support what is asked there.
            NotRunnable: the property cannot be tried on it.
        """

    def judge_group(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Judge the callable at each of several examples, in order."""
        return map(self.judge, cases)

    def sought(self) -> Iterable[tuple[int, SearchStrategy[Any]]]:
        """What Hypothesis searches beyond the planned examples: how many draws of which strategy; see :meth:`make_cases`."""
        return ()

    def make_cases(self, drawn: Any) -> Sequence[Case]:
        """The examples that a draw of Hypothesis stands for."""
        return drawn  # type: ignore[no-any-return]

    def last_groups(self, found: SearchRecord) -> Iterator[Sequence[Case]]:
        """More planned examples, chosen by what was found so far."""
        return iter(())

    def simpler(self, case: Case | None) -> Iterator[SearchStrategy[Case]]:
        """Strategies of plain examples among which a counterexample is sought, the plainest first; those behind the first may be
        near a failing ``case``, which is None where an earlier run's counterexample is tried again.
        """
        return iter(())

    def fails_alike(self, first: Outcome, other: Outcome) -> bool:
        """Whether a simpler example fails as clearly as the first, and in the same way: by a value, or by an error."""
        clear = other.ratio >= min(CLEAR, first.ratio)
        return other.fails and clear and (other.got is None) == (first.got is None)

    @abstractmethod
    def counterexample(self, case: Case, outcome: Outcome) -> Counterexample | None:
        """A failing example as it is reported."""

    def key(self) -> Hashable:
        """What tells the property from others of its name, such as the callable and the formula."""
        return ()

    def conclude(self, found: SearchRecord, result: CheckResult) -> Iterable[CheckResult]:
        """What is reported, given what the loop found."""
        return [result]


CLEAR = 10.0
"""A simpler example must still fail by this factor, if the first one did: no borderline cases."""


def group_items(items: Iterable[_T], at_once: bool = False) -> Iterator[list[_T]]:
    """Items in groups, in order: one, three, then all that are left. The first must not wait for the others to be drawn.

    ``at_once``: in one group, since a violation that no search before has seen is not likely to be in the first.
    """
    left = iter(items)
    for count in (None,) if at_once else (1, 3, None):
        part = list(islice(left, count))
        if part:
            yield part


def announce_cases(cases: Sequence[_T], announce: Callable[[Sequence[_T]], None]) -> Sequence[_T]:
    """The examples, announced to the oracle where there are several: those of equal sizes are evaluated together."""
    if len(cases) > 1:
        announce(cases)
    return cases


__all__ = ["CLEAR", "SECONDS", "NotRunnable", "Property", "announce_cases", "group_items"]

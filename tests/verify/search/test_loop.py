"""The loop of all checks, with properties that are a line each."""

from dataclasses import dataclass

import pytest
from hypothesis import strategies as st

from verify.cache import CACHE
from verify.faults import NoGradient, Unsupported
from verify.report import Counterexample, Inconclusive
from verify.search import drawing
from verify.search.loop import Search
from verify.search.outcome import Outcome
from verify.search.property import Property, group_items
from verify.search.record import Budget, Clock


@dataclass
class Below(Property[int]):
    """Whole numbers are below a limit."""

    limit: int
    planned: tuple[int, ...] = ()
    count: int = 0
    known: str = ""
    kind = "value"
    name = "below"

    def __post_init__(self):
        self.judged = []

    def groups(self):
        return group_items(self.planned)

    def sought(self):
        return [(self.count, st.lists(st.integers(0, 10**6), min_size=3, max_size=3))] if self.count else []

    def simpler(self, case):
        yield st.integers(0, 10**6)

    def judge(self, case):
        self.judged.append(case)
        return Outcome(2.0 * (case >= self.limit), effective=True, what=str(case), got=float(case))

    def fails_alike(self, first, other):
        return other.fails

    def counterexample(self, case, outcome):
        return Counterexample({"n": case}, "float64", got=outcome.got)

    def key(self):
        return self.known


def run(prop, seconds=None, **options):
    """What one property comes to."""
    (result,) = Search(prop, Budget(Clock(seconds), **options)).run()
    return result


@pytest.fixture(autouse=True)
def _kept(monkeypatch, tmp_path):
    """Failing examples are kept in a folder of the test's own."""
    monkeypatch.setenv(CACHE, str(tmp_path))
    drawing.database.cache_clear()
    yield
    drawing.database.cache_clear()


def test_a_planned_failure_is_found_first_and_made_small():
    """Nothing behind it is judged, and the counterexample is the smallest that fails."""
    prop = Below(100, planned=(1, 2, 3, 5000, 7, 100))
    result = run(prop)
    assert result.verdict == "falsified"
    assert prop.judged[:4] == [1, 2, 3, 5000]
    assert result.counterexample.inputs == {"n": 100}


def test_hypothesis_searches_beyond_what_is_planned():
    """A failure that no planned example shows is found among those that are drawn."""
    result = run(Below(500_000, planned=(1,), count=20))
    assert result.verdict == "falsified"
    assert result.counterexample.inputs == {"n": 500_000}


def test_without_a_failure_all_are_counted():
    """Planned and drawn examples count alike."""
    result = run(Below(10**7, planned=(1, 2), count=5))
    assert (result.verdict, result.examples) == ("conforms", 2 + 3 * 5)


def test_a_failure_stays_as_it_was_found_where_that_is_asked_for():
    """No time is spent on making it small."""
    assert run(Below(100, planned=(5000,)), small=False).counterexample.inputs == {"n": 5000}


def test_a_failure_is_tried_first_the_next_time():
    """It is kept by what tells the callable from others; another callable starts afresh."""
    run(Below(100, planned=(1, 5000), known="mine"))
    again, other = Below(100, planned=(1, 5000), known="mine"), Below(100, planned=(1,), known="yours")
    run(again)
    run(other)
    assert again.judged[0] == 100
    assert other.judged[0] == 1


def test_nothing_is_kept_where_the_cache_is_switched_off(monkeypatch, tmp_path):
    """An empty variable says so."""
    monkeypatch.setenv(CACHE, "")
    drawing.database.cache_clear()
    run(Below(100, planned=(5000,), known="mine"))
    assert not list(tmp_path.iterdir())


def test_a_mended_callable_is_not_held_to_its_former_failure():
    """The kept example passes, and all others are judged as ever."""
    run(Below(100, planned=(5000,), known="mine"))
    assert run(Below(10**7, planned=(5000,), known="mine")).verdict == "conforms"


def test_time_that_runs_out_is_said():
    """Nothing is judged where there is none."""
    result = run(Below(100, planned=(1, 2)), seconds=0.0)
    assert result.verdict == "inconclusive"
    assert "time" in result.message


@pytest.mark.parametrize(
    ("error", "reason"), [(Unsupported, Inconclusive.UNSUPPORTED), (NoGradient, Inconclusive.NO_GRADIENT)]
)
def test_what_is_not_supported_is_inconclusive_with_its_reason(error, reason):
    """The reason is told apart by its type, not by its text."""

    class Refusing(Below):
        def judge(self, case):
            raise error("not so")

    result = run(Refusing(100, planned=(1,)))
    assert (result.verdict, result.message, result.reason) == ("inconclusive", "not so", reason)


def test_a_failure_that_does_not_occur_again_has_failed():
    """What is wrong now and then is falsified at the example where it was."""

    class Once(Below):
        def judge(self, case):
            self.judged.append(case)
            return Outcome(2.0 * (len(self.judged) == 3), effective=True)

    result = run(Once(0, planned=(4, 5, 6, 7)))
    assert result.verdict == "falsified"
    assert result.counterexample.inputs == {"n": 6}


def test_a_check_that_no_example_had_a_bearing_on_is_vacuous():
    """It does not conform."""

    class Mute(Below):
        def judge(self, case):
            return Outcome()

    assert run(Mute(0, planned=(1, 2))).reason is Inconclusive.VACUOUS

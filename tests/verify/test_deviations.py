"""The list of known deviations: what is expected, what is news, what should have failed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from verify.checking import check
from verify.deviations import Deviation, News, deviations, judge
from verify.report import CheckResult, Report
from verify.targets import TARGETS

LEAK = Deviation("torch F.x", "attention.x", "robustness: NaN*", "0·NaN", "torch 2.13", "pytorch#101967")


def report(**verdicts: str) -> Report:
    """A report of torch F.x whose checks have these verdicts."""
    checks = [
        CheckResult(name.replace("_", " "), "robustness", verdict) for name, verdict in verdicts.items()
    ]  # type: ignore[arg-type]
    for each in checks:
        each.name = f"robustness: {each.name}"
    return Report("attention.x", "torch F.x", {}, checks)


def test_a_listed_falsification_is_expected() -> None:
    """Listed and falsified: fine, and told with its reason."""
    found = judge([report(NaN_leak="falsified", value="conforms")], [LEAK])
    assert found.fine
    assert [d.reason for _, _, d in found.expected] == ["0·NaN"]


def test_a_new_falsification_is_news() -> None:
    """Not listed and falsified: fails the run, also beside a listed one."""
    found = judge([report(NaN_leak="falsified", other="falsified")], [LEAK])
    assert not found.fine
    assert [c.name for _, c in found.new] == ["robustness: other"]


def test_a_listed_one_that_conforms_fails_the_run() -> None:
    """Listed and conforming: an unexpected pass."""
    found = judge([report(NaN_leak="conforms")], [LEAK])
    assert not found.fine
    assert found.passed == [LEAK]


def test_one_of_several_checks_is_enough() -> None:
    """Which of them shows a deviation may hang on what is drawn; none is a pass."""
    either = replace(LEAK, check="robustness: NaN* | robustness: a large batch")
    for shown in ("NaN_leak", "a_large_batch"):
        verdicts = {"NaN_leak": "conforms", "a_large_batch": "conforms", shown: "falsified"}
        assert judge([report(**verdicts)], [either]).fine
    assert judge([report(NaN_leak="conforms", a_large_batch="conforms")], [either]).passed == [either]


def test_what_was_not_run_or_hardly_says_nothing() -> None:
    """A listed check that did not run, was inconclusive, had few examples, or belongs to a target left out, fails nothing."""
    few = report(NaN_leak="conforms")
    few.max_examples = 20
    assert judge([few], [LEAK]).unseen == [LEAK]
    assert judge([report(value="conforms")], [LEAK]).unseen == [LEAK]
    assert judge([report(NaN_leak="inconclusive")], [LEAK]).fine
    assert judge([], [LEAK]).fine


def test_a_deviation_excuses_its_own_target_only() -> None:
    """The same check of another target is news."""
    other = report(NaN_leak="falsified")
    other.target = "impl.attention.x"
    assert not judge([other], [LEAK]).fine


def test_what_is_listed_alone_is_not_explained_anew() -> None:
    """The reason stands in the list; a cause is looked for as soon as another check fails, or nothing of the target is listed."""

    def hint(pattern: str, formula: str = "scores.dot") -> str:
        listed = [Deviation("twice", formula, pattern, "twice as large", "")]
        news = News("twice", "scores.dot", listed)
        return check(lambda q, k: 2 * q @ k.mT, "scores.dot", max_examples=10, causes=news).hint

    assert hint("*") == ""
    assert hint("gradient in float*") == hint("*", "scores.general") != ""


def test_every_entry_names_a_target_and_says_why() -> None:
    """The list's entries name existing targets with their formulas, a reason and versions; ours deviate on no CPU."""
    known = {(t.label, t.formula_id): t for t in TARGETS}
    assert deviations()
    for entry in deviations():
        assert (entry.target, entry.formula) in known
        assert known[entry.target, entry.formula].peer != "impl" or entry.device == "cuda"
        assert len(entry.reason) > 20
        assert entry.versions


def test_nothing_that_is_only_a_property_is_listed() -> None:
    """Leaks of NaN from slots that nothing reads are reported with peers, and expected of none."""
    assert not any("NaN where nothing is read" in d.check for d in deviations())


def test_a_wrong_entry_is_named(tmp_path: Path) -> None:
    """An entry with an unknown or a missing field is refused by its number."""
    path = tmp_path / "known.toml"
    path.write_text('[[deviation]]\ntarget = "torch F.x"\nformular = "attention.x"\n')
    with pytest.raises(ValueError, match=r"known\.toml: entry 1"):
        deviations(path)


def test_a_deviation_of_one_device_is_expected_there_alone() -> None:
    """Elsewhere it is news if it occurs, and nothing to miss if it does not."""
    on_cuda = replace(LEAK, device="cuda")
    for device, fine in (("cuda", True), ("cuda:1", True), ("cpu", False)):
        assert judge([replace(report(NaN_leak="falsified"), device=device)], [on_cuda]).fine is fine
    gone = judge([report(NaN_leak="conforms")], [on_cuda])
    assert gone.fine
    assert not gone.unseen

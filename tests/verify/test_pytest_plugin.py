"""The plugin of pytest: a test for each kind of check, short failures, and nothing for those who do not use it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import verify.checking  # before a run inside this one, which forgets the modules that it imports

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
HEAD = """
import pytest
import torch.nn.functional as F

def right(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

def beside(x, gamma, beta, eps):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps) + beta

norm = pytest.mark.attnspec
"""


def run(pytester: pytest.Pytester, text: str, *arguments: str) -> pytest.RunResult:
    """The tests of a user's file, with no plugin but ours."""
    assert verify.checking
    pytester.makepyfile(test_mine=HEAD + text)
    return pytester.runpytest_inprocess("-p", "pytest_attnspec", "--strict-markers", "-rsx", *arguments)


def test_each_kind_is_a_test(pytester: pytest.Pytester) -> None:
    """A right callable passes in every kind that is asked of it, under fixtures and in classes, too."""
    found = run(
        pytester,
        """
@pytest.fixture
def normalised():
    return right

class TestNorms:
    @norm("normalization.layer_norm", max_examples=8, time_limit=60)
    def test_it(self, normalised):
        return normalised
""",
        "-v",
    )
    found.assert_outcomes(passed=5)
    for kind in ("value", "gradient", "theorem", "robustness", "accuracy"):
        found.stdout.fnmatch_lines([f"*TestNorms::test_it[[]{kind}[]] PASSED*"])


def test_a_failure_is_short(pytester: pytest.Pytester) -> None:
    """What fails says what, with the smallest inputs found and the hint, and no traceback; whatever the function is called."""
    found = run(
        pytester, '@norm("normalization.layer_norm", max_examples=8)\ndef my_norm():\n    return beside\n'
    )
    assert found.parseoutcomes()["failed"] >= 2
    text = found.stdout.str()
    assert re.search("^my_norm against normalization.layer_norm: falsified.*eps=outside", text, re.MULTILINE)
    assert "value in float64: " in text
    assert "violated: y[i] = " in text
    assert "Traceback" not in text
    assert "def _judge" not in text


def test_the_profile_of_the_command_comes_first(pytester: pytest.Pytester) -> None:
    """--attnspec-profile takes the place of what a mark says of examples and time."""
    found = run(
        pytester,
        '@norm("normalization.layer_norm", max_examples=5000)\ndef test_it():\n    return right\n',
        "--attnspec-profile=smoke",
    )
    assert "failed" not in found.parseoutcomes()
    assert found.parseoutcomes()["passed"] >= 2


def test_a_known_deviation_is_expected_with_its_reason(pytester: pytest.Pytester) -> None:
    """What is known fails as expected; what is known and conforms is an unexpected pass, and fails."""
    found = run(
        pytester,
        """
@norm("normalization.layer_norm", dtypes=["float64"], known={"[vgt]*": "beside"})
def test_known():
    return beside

@norm("normalization.layer_norm", dtypes=["float64"], known={"value*": "was wrong once"})
def test_mended():
    return right
""",
    )
    found.stdout.fnmatch_lines(["XFAIL *test_known[[]value[]]*beside*"])
    assert found.parseoutcomes()["xfailed"] == 3
    assert found.parseoutcomes()["failed"] == 1
    found.stdout.fnmatch_lines(["known as deviating, but conforming now: value[*]: remove it from the mark"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('@norm("normalization.layernorm")\ndef test_it():\n    return right', "*did you mean normalization.layer_norm*"),
        ("@norm()\ndef test_it():\n    return right", "*the mark attnspec names one formula*"),
        ('@norm("nowhere.py:f")\ndef test_it():\n    return right', "*there is no file nowhere.py*"),
        ('@norm("scores.dot", profil="smoke")\ndef test_it():\n    return right', "*no option 'profil'; did you mean profile?*"),
        ('@norm("scores.dot", profile="quick")\ndef test_it():\n    return right', "*profile is one of smoke, full, soak*"),
        ('@norm("scores.dot", known=["value"])\ndef test_it():\n    return right', "*known maps names of checks to reasons*"),
        ('@norm("scores.dot")\ndef test_it():\n    right', "*returned NoneType: a function marked attnspec returns*"),
        ('@norm("scores.dot")\ndef test_it():\n    return lambda q: q', "*called positionally with (q, k)*"),
        ('@norm("scores.dot", conventions={"eps": "in"})\ndef test_it():\n    return right', "*has no convention 'eps'*"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_once(pytester: pytest.Pytester, text: str, says: str) -> None:
    """A mark that cannot be used is one line, in one failure or error, without a traceback."""
    found = run(pytester, text + "\n")
    outcomes = found.parseoutcomes()
    assert outcomes["failed"] == 1
    assert "errors" not in outcomes
    assert "passed" not in outcomes
    found.stdout.fnmatch_lines([says])
    assert "Traceback" not in found.stdout.str()


def test_a_marked_function_that_raises_is_told_once(pytester: pytest.Pytester) -> None:
    """Its own error comes with its place, for one kind of check; the others are skipped, not made again."""
    raising = '@norm("scores.dot")\ndef test_it():\n    raise LookupError("no kernel")\n'
    found = run(pytester, raising)
    outcomes = found.parseoutcomes()
    assert (outcomes["failed"], "passed" in outcomes) == (1, False)
    found.stdout.fnmatch_lines(["E*LookupError: no kernel"])


def test_a_mark_without_a_formula_stops_no_other_test(pytester: pytest.Pytester) -> None:
    """What is collected beside it is run."""
    wrong = '@norm("normalization.layernorm")\ndef test_wrong():\n    return right\n'
    found = run(pytester, f"{wrong}\ndef test_other():\n    assert True\n")
    assert {name: count for name, count in found.parseoutcomes().items() if count} == {
        "failed": 1,
        "passed": 1,
    }


def test_it_stands_beside_the_packages_that_it_looks_for(tmp_path: Path) -> None:
    """Also where they are installed to be edited, and in a run from elsewhere: a copy of it would find ours in another place."""
    said = "import pytest_attnspec as plugin; plugin._find_ours()"
    done = subprocess.run([sys.executable, "-c", said], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_formula_lies_beside_the_test(pytester: pytest.Pytester) -> None:
    """The file of a formula counts from the folder of the test, wherever pytest is run."""
    inner = pytester.mkdir("inner")
    (inner / "half.py").write_text(
        'from spec.vocabulary import *\n(d,) = sizes("d")\n(i,) = indices(i=d)\nx = data("x", d)\ny = tensor("y", d)\n'
        'half = Formula("test.half", "Half", inputs=(x,), lines=(define(y[i], x[i] / 2),), outputs=(y,))\n'
    )
    (inner / "test_half.py").write_text(
        'import pytest\n@pytest.mark.attnspec("half.py:half", max_examples=5)\ndef test_half():\n    return lambda x: x / 2\n'
    )
    found = pytester.runpytest_inprocess("-p", "pytest_attnspec", "inner")
    assert set(found.parseoutcomes()) <= {"passed", "skipped"}


def run_alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A run in a process of its own, with no plugin but ours."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_attnspec", *arguments],
        cwd=folder,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{folder}:{ROOT}",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
    )


def test_who_does_not_use_it_does_not_notice(tmp_path: Path) -> None:
    """In a run without marked functions nothing of ours is imported, nor torch, and a project's own `spec` stays its own."""
    (tmp_path / "spec.py").write_text("mine = True\n")
    (tmp_path / "test_plain.py").write_text(
        "import sys\n\ndef test_plain():\n    import spec\n    assert spec.mine\n"
        "    assert not {'torch', 'sympy', 'hypothesis', 'verify', 'impl'} & set(sys.modules)\n"
    )
    done = run_alone(tmp_path, "-p", "no:hypothesispytest", "-p", "no:jaxtyping", "test_plain.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_package_of_the_same_name_is_named(tmp_path: Path) -> None:
    """Where a project's own `spec` stands in for ours, a marked function says so in one line."""
    (tmp_path / "spec.py").write_text("mine = True\n")
    (tmp_path / "test_mine.py").write_text(
        'import pytest\nimport spec\n\n@pytest.mark.attnspec("scores.dot")\ndef test_it():\n    return print\n'
    )
    done = run_alone(tmp_path, "test_mine.py")
    assert "another package named 'spec'" in done.stdout
    assert "was imported in place of attnspec's" in done.stdout


def test_it_is_installed_under_its_own_name() -> None:
    """The entry point has the module's name, so that ``-p pytest_attnspec`` loads it once, and the wheel holds it."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert declared["project"]["entry-points"]["pytest11"] == {"pytest_attnspec": "pytest_attnspec"}
    assert "pytest_attnspec.py" in declared["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]

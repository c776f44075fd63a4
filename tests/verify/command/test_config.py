"""A user's targets in pyproject.toml or attnspec.toml: found, run, and refused in one line that names file and key."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spec.language import known
from verify.command.cli import main
from verify.command.config import nearest, read_config
from verify.command.own_targets import own_tasks
from verify.command.parsing import parser
from verify.command.profiles import resolve_options
from verify.faults import Unusable

NORMS = """
def beside(x, gamma, beta, eps):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True, correction=0) + eps) + beta

def forgets(x, gamma, beta, eps):
    return beside(x, gamma, 0 * beta, eps)

def half(x):
    return x / 2
"""
HALF = """
from spec.vocabulary import *
(d,) = sizes("d")
(i,) = indices(i=d)
x = data("x", d)
y = tensor("y", d)
half = Formula("own.half", "Half of it", inputs=(x,), lines=(define(y[i], x[i] / 2),), outputs=(y,))
half.theorem("twice", "Twice the half is the whole", claim(2 * half(x)[i], "=", x[i]).by_definition("2/2 = 1"))
"""
TARGETS = """
[tool.attnspec]
pythonpath = ["src"]
max-examples = 10
types = ["float64"]

[[tool.attnspec.target]]
callable = "my_norms:beside"
formula = "normalization.layer_norm"
conventions = {eps = "outside"}

[[tool.attnspec.target]]
name = "half"
callable = "src/my_norms.py:half"
formula = "src/halves.py:half"
profile = "smoke"
"""
KNOWN = """
[[tool.attnspec.target]]
name = "forgetful"
callable = "my_norms:forgets"
formula = "normalization.layer_norm"
conventions = {eps = "outside"}
max-examples = 100
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's project; what is read from it is forgotten afterwards."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "my_norms.py").write_text(NORMS)
    (tmp_path / "src" / "halves.py").write_text(HALF)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    known.forget("own.half")


def test_named_targets_are_verified(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """verify runs the targets of the nearest file, from anywhere below it, with their conventions, formulas and options."""
    (here / "pyproject.toml").write_text(TARGETS)
    (here / "deeper").mkdir()
    import os

    os.chdir(here / "deeper")
    assert main(["verify", "--jobs", "1", "--json", "a.json"]) == 0
    assert "2 of 2 targets conform" in capsys.readouterr().out
    found = json.loads((here / "deeper" / "a.json").read_text())
    first, second = found["reports"]
    assert first["target"] == "my_norms:beside"
    assert first["conventions"]["eps"] == "outside"
    assert first["max_examples"] == found["max_examples"] == 10
    assert {c["dtype"] for c in first["checks"] if c["kind"] == "value"} == {"float64"}
    assert second["target"] == "half"
    assert second["formula_id"] == "own.half"
    assert second["max_examples"] == 8


def test_a_part_of_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """IDs, subjects and names choose among them; what is not among them is said with what is."""
    (here / "attnspec.toml").write_text(TARGETS.replace("tool.attnspec.", "").replace("[tool.attnspec]", ""))
    for name in ("own", "own.half", "src/halves.py:half"):
        assert main(["verify", name, "--jobs", "1", "--max-examples", "3"]) == 0
        assert "1 of 1 targets conform" in capsys.readouterr().out
    assert main(["verify", "--target", "half", "--jobs", "1", "--max-examples", "3"]) == 0
    assert main(["verify", "scores.dot"]) == 2
    said = capsys.readouterr().err
    assert (
        "attnspec.toml has no target of scores.dot; it has targets of normalization.layer_norm, own.half"
        in said
    )
    assert main(["verify", "--target", "halve"]) == 2
    assert "did you mean half?" in capsys.readouterr().err


def test_ours_are_verified_on_request(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--builtin means the targets that attnspec knows, even where others are named."""
    (here / "pyproject.toml").write_text(TARGETS)
    assert (
        main(["verify", "scores.dot", "--target", "impl", "--builtin", "--max-examples", "3", "--verbose"])
        == 0
    )
    assert "impl.scores.dot" in capsys.readouterr().out
    assert main(["verify", "--builtin", "--config", "pyproject.toml"]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_known_deviations(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is listed with a reason is expected; what else fails is news; what is listed and conforms is an unexpected pass."""
    file = here / "attnspec.toml"
    wrong = f'pythonpath = ["src"]\n{KNOWN.replace("tool.attnspec.", "")}types = ["float64"]\n'
    file.write_text(f'{wrong}known = [{{check = "*", reason = "the bias is not kept"}}]\n')
    assert main(["verify", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "all as listed in attnspec.toml" in out
    assert "the bias is not kept" in out
    file.write_text(f'{wrong}known = [{{check = "gradient*", reason = "the bias is not kept"}}]\n')
    assert main(["verify", "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    assert "forgetful" in out
    assert "violated: y[i] = " in out
    right = wrong.replace("forgets", "beside")
    file.write_text(f'{right}known = [{{check = "value*", reason = "was wrong once"}}]\n')
    assert main(["verify", "--jobs", "1"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "value* is listed as a deviation but conforms now: remove it from attnspec.toml" in said


def test_our_conventions_are_said_as_on_the_command_line(here: Path) -> None:
    """A target that is judged under ours, where those of the file are sought."""
    file = here / "attnspec.toml"
    file.write_text(f'conventions = "auto"\n{ONE}conventions = "ours"\n')
    config = read_config(file)
    assert config.options["conventions"] == "auto"
    assert resolve_options(config.options, config.targets[0].options, {})["conventions"] == {}


ONE = '[[target]]\ncallable = "my_norms:beside"\nformula = "normalization.layer_norm"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "attnspec.toml: there is no target; name one under [[target]]"),
        ("[tool.attnspec]\n" + ONE, "attnspec.toml: there is no target; name one under [[tool.attnspec.target]]"),
        ("target = 3", "attnspec.toml: target: expected tables, each headed [[target]]; got 3"),
        ("[[target]", "attnspec.toml is no TOML: "),
        ("targets = []\n" + ONE, "attnspec.toml: targets is no key of attnspec; did you mean target?"),
        ('[[target]]\nformula = "scores.dot"', "attnspec.toml: target[1] has no callable"),
        ('[[target]]\ncallable = "a:b"', "attnspec.toml: target[1] has no formula"),
        (ONE + "callabel = 1", "target[1].callabel is no key of attnspec; did you mean callable?"),
        (ONE + "max_examples = 1", "target[1].max_examples is no key of attnspec; did you mean max-examples?"),
        (ONE + "max-examples = 0", "target[1].max-examples: expected a whole number of at least 1; got 0"),
        (ONE + "max-examples = true", "target[1].max-examples: expected a whole number of at least 1; got True"),
        (ONE + 'types = ["float8"]', "target[1].types: expected a list of some of float64, float32, bfloat16, float16"),
        (ONE + 'profile = "quick"', "target[1].profile: expected one of smoke, full, soak; got 'quick'"),
        (ONE + "time-limit = -1", "target[1].time-limit: expected a positive number; got -1"),
        (ONE + 'conventions = "eps"', 'target[1].conventions: expected a table such as {eps = "outside"}; got \'eps\''),
        (ONE + "conventions = {eps = 1}", "target[1].conventions.eps: expected a value as in"),
        (ONE + 'conventions = {epz = "inside"}', "target[1].conventions: normalization.layer_norm has no convention 'epz'"),
        (ONE + 'conventions = {eps = "beside"}', "target[1].conventions: normalization.layer_norm: convention eps is one of"),
        (ONE + 'conventions = {shapes = "few"}', "target[1].conventions: convention shapes is one of every, some; 'few'"),
        ('conventions = {epz = "inside"}\n' + ONE, "attnspec.toml: conventions: normalization.layer_norm has no convention"),
        (ONE + "sizes = {q = 3}", "attnspec.toml: target[1].sizes: normalization.layer_norm has no size 'q'; it has: d"),
        (ONE + 'sizes = {d = "big"}', "target[1].sizes: normalization.layer_norm: d = big is no rule for a size"),
        (ONE + "set = {epsilon = 1}", "target[1].set: normalization.layer_norm has no number or parameter 'epsilon'"),
        (ONE + "ranges = {y = 3}", "target[1].ranges: normalization.layer_norm has no 'y' to be limited; it has: x,"),
        ("ranges = {y = 3}\n" + ONE, "attnspec.toml: ranges: normalization.layer_norm has no 'y' to be limited"),
        (ONE + 'ranges = {x = "big"}', "target[1].ranges.x: expected a value as in {q = 1e3}; got 'big'"),
        (ONE + 'few-shapes = "yes"', "target[1].few-shapes: expected true or false; got 'yes'"),
        (ONE + "adapter = 3", "target[1].adapter: expected no adapter, but a callable that takes nothing"),
        (ONE + "name = 3", "target[1].name: expected a text; got 3"),
        (ONE + 'known = [{check = "value*"}]', "target[1].known[1] has no reason"),
        (ONE + 'known = [{chek = "value*", reason = "x"}]', "target[1].known[1].chek is no key of attnspec"),
        (ONE + "known = 1", "target[1].known: expected tables such as"),
        (ONE + ONE, "two targets of one formula are called 'my_norms:beside': give each a name"),
        (ONE.replace("layer_norm", "layernorm"), "target[1].formula: no formula has the ID"),
        ('pythonpath = "src"\n' + ONE, "pythonpath: expected a list of texts; got 'src'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    """An unknown key and a wrong value are refused before anything runs, in one line with the file and the key."""
    (here / "attnspec.toml").write_text(text)
    assert main(["verify"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    assert captured.err.count("\n") == 1
    assert "attnspec.toml" in captured.err


MODULE = """
import torch

from verify import adapt

def norm():
    make = lambda d: torch.nn.LayerNorm(d, eps=1e-6)
    return adapt.module(make, lambda gamma, beta: {"weight": gamma, "bias": beta}, fixed={"eps": 1e-6})
"""


def test_modules_conventions_and_shapes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A module is described by a function; conventions may be sought, and shapes few."""
    (here / "my_module.py").write_text(MODULE)
    target = '[[target]]\ncallable = "my_module.py:norm"\nformula = "normalization.layer_norm"\n'
    (here / "attnspec.toml").write_text(
        'types = ["float64"]\nmax-examples = 8\nfew-shapes = true\n'
        + target
        + ONE.replace("my_norms", "src/my_norms.py")
        + 'conventions = "auto"\n'
        + ONE.replace("my_norms", "src/my_norms.py")
        + 'name = "named"\nconventions = {divisor = "biased", "*" = "auto"}\n'
    )
    assert main(["verify", "--jobs", "1", "--json", "a.json"]) == 0
    capsys.readouterr()
    reports = json.loads((here / "a.json").read_text())["reports"]
    assert [report["verdict"] for report in reports] == ["conforms"] * 3
    assert [report["conventions"]["eps"] for report in reports[1:]] == ["outside"] * 2


def test_a_known_deviation_of_no_check_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt name would be one that never fails, whatever becomes of what it was meant for."""
    target = ONE.replace("my_norms", "src/my_norms.py") + 'conventions = "auto"\n'
    (here / "attnspec.toml").write_text(
        f'types = ["float64"]\nmax-examples = 8\n{target}known = [{{check = "valu in float64", reason = "x"}}]\n'
    )
    assert main(["verify"]) == 2
    assert "has no check 'valu in float64'; did you mean 'value in float64'?" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_known_deviation_may_be_of_a_check_that_is_not_made(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which checks are made, the command line may say otherwise: of other types, or without grades where values are wrong."""
    target = ONE.replace("my_norms", "src/my_norms.py") + 'conventions = "auto"\n'
    names = "value in float16", "theorem zero_mean", "accuracy in float32", "robustness: large sizes"
    known = ", ".join(f'{{check = "{name}", reason = "x"}}' for name in names)
    (here / "attnspec.toml").write_text(f'types = ["float64"]\nmax-examples = 8\n{target}known = [{known}]\n')
    assert main(["verify"]) == 0
    assert "has no check" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('profile = ["smoke"]', "profile: expected one of smoke, full, soak"),
        (f"max-examples = {10**30}", "max-examples: expected a whole number of 63 bits at most"),
        (f"accuracy = {10**400}", "accuracy: expected a positive number"),
        (f"set = {{eps = {10**400}}}", "set: normalization.layer_norm: eps is fixed at"),
        (f"sizes = {{d = {10**30}}}", "is too large for an example; expected at most 16,777,216"),
    ],
)
def test_what_no_check_can_take_is_refused(here: Path, said: str, expected: str) -> None:
    """Of the wrong kind, or too large."""
    (here / "attnspec.toml").write_text(ONE.replace("my_norms", "src/my_norms.py") + said + "\n")
    with pytest.raises(Unusable, match=re.escape(expected)):
        own_tasks(read_config(here / "attnspec.toml"), parser().parse_args(["verify"]), {})


@pytest.mark.parametrize("said", ["sizes = {d = 2}", "set = {a = 2}", "ranges = {x = 3}"])
def test_what_only_formulas_have_is_refused_of_a_procedure(here: Path, said: str) -> None:
    """Passed over, it would be taken for what was judged."""
    (here / "attnspec.toml").write_text(
        f'[[target]]\ncallable = "impl.decoding:beam"\nformula = "decoding.beam"\n{said}\n'
    )
    with pytest.raises(
        Unusable, match=r"attnspec\.toml: target\[1\]\.\w+: decoding\.beam is a procedure and has no "
    ):
        own_tasks(read_config(here / "attnspec.toml"), parser().parse_args(["verify"]), {})


def test_what_cannot_be_run_is_no_verdict(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A callable that is not there, and a formula whose theorem is refused, are named; exit 2, as for unusable input."""
    (here / "src" / "halves.py").write_text(HALF.replace("2 * half(x)[i]", "3 * half(x)[i]"))
    (here / "attnspec.toml").write_text(
        'pythonpath = ["src"]\n'
        + ONE.replace("beside", "besides")
        + '[[target]]\ncallable = "my_norms:half"\nformula = "src/halves.py:half"\n'
    )
    assert main(["verify", "--jobs", "1"]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert "could not be run: my_norms:besides: my_norms has no 'besides'" in out
    assert "could not be run: my_norms:half: own.half, twice, claim 1" in out


def test_files_are_found_upwards(here: Path) -> None:
    """The nearest file counts; a pyproject.toml without the table is passed over, and so is one that is no TOML."""
    (here / "pyproject.toml").write_text(TARGETS)
    inner = here / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[project]\nname = 'attnspec user'\n")
    found = nearest(inner)
    assert found == here / "pyproject.toml"
    (here / "pyproject.toml").write_text("[project]\n")
    assert nearest(inner) is None
    with pytest.raises(Unusable, match=r"there is no table \[tool.attnspec\]"):
        read_config(here / "pyproject.toml")
    with pytest.raises(Unusable, match=r"cannot read nowhere.toml: No such file"):
        read_config(Path("nowhere.toml"))


def test_what_stands_later_takes_the_place_of_what_stands_before() -> None:
    """A profile replaces what was said before it; what stands beside it replaces a part of the profile."""
    assert resolve_options({})["max_examples"] == 100
    smoke = resolve_options({"max_examples": 500}, {"profile": "smoke"})
    assert smoke["max_examples"] < 100
    assert smoke["grades"] is False
    soak = resolve_options({"profile": "smoke"}, {"profile": "soak", "seed": 3, "dtypes": None})
    assert soak["max_examples"] >= 1000
    assert "grades" not in soak
    assert soak["seed"] == 3
    assert resolve_options({"profile": "smoke", "max_examples": 50})["max_examples"] == 50

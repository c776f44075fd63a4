"""Formulas in files of a user's: found by where they are, and refused in one line for every way in which such a file is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import spec
from spec.language import known
from spec.language.own import address_of
from spec.language.registry import UnknownFormula
from verify.command.cli import main
from verify.subject.loading import callable_at

HEAD = """
from spec.vocabulary import *

(d,) = sizes("d")
i, j = indices(i=d, j=d)
x = data("x", d)
y = tensor("y", d)
"""
GATE = (
    HEAD
    + """
gate = Formula("{id}", "A gate", inputs=(x,), lines=(define(y[i], x[i] * sigmoid(x[i])),), outputs=(y,))
gate.theorem("origin", "0 stays 0", claim(gate(each(lift(0), i))[i], "=", 0).by_definition("0 times a share"))
"""
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's directory; what is read from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules, stated = set(sys.modules), set(known.list_registered())
    yield tmp_path
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    for formula_id in set(known.list_registered()) - stated:
        if f"spec.{formula_id}" not in sys.modules:
            known.forget(formula_id)


def test_a_formula_is_found_by_its_file(here: Path) -> None:
    """A file and a name, or the file alone where it states one formula, give the same formula, and then its ID does."""
    (here / "my_gate.py").write_text(GATE.format(id="mine.gate"))
    found = spec.find("my_gate.py:gate")
    assert spec.find("./my_gate.py") is found
    assert spec.find("my_gate:gate") is found
    assert spec.find("mine.gate") is found
    assert spec.evaluate("my_gate.py:gate", {"x": [0.0, 100.0]})[0].tolist() == [0.0, 100.0]
    assert str(spec.prove(found, "origin").assurance) == "proved"
    assert address_of("mine.gate") == f"{here / 'my_gate.py'}:gate"


def test_a_file_that_was_imported_is_not_run_again(here: Path) -> None:
    """An implementation may import the statement that stands beside it: the formula is stated once."""
    (here / "beside.py").write_text(GATE.format(id="mine.beside"))
    sys.path.insert(0, str(here))
    import beside  # type: ignore[import-not-found]

    assert spec.find("beside.py:gate") is beside.gate


def test_a_function_may_stand_beside_the_formula(here: Path) -> None:
    """A file that states a formula and holds the function to be checked is run once, though both are named by its path."""
    function = "\n\ndef gated(x):\n    return x * x.sigmoid()\n"
    (here / "both_here.py").write_text(GATE.format(id="mine.both") + function)
    spec.find("both_here.py:gate")
    assert callable_at("both_here.py:gated") is callable_at("./both_here.py:gated")


def test_a_formula_may_apply_ours(here: Path) -> None:
    """A file may import formulas of ours; the only one that it states itself is meant where none is named."""
    (here / "twice.py").write_text(
        HEAD + "from spec.similarity.dot import dot\n"
        'z = tensor("z")\n'
        'squared = Formula("mine.squared", "x·x", inputs=(x,), lines=(define(z, dot(x, x)),), outputs=(z,))\n'
    )
    assert float(spec.evaluate("twice.py", {"x": [3.0, 4.0]})[0]) == 25.0
    assert spec.find("twice.py:dot") is spec.find("similarity.dot")
    assert address_of("similarity.dot") is None


def test_a_mended_file_is_read_again(here: Path) -> None:
    """What a file stated before it failed does not stand in the way once it is mended."""
    file = here / "later.py"
    file.write_text(GATE.format(id="mine.later") + "\n1 / 0\n")
    with pytest.raises(UnknownFormula, match=r"^later.py, line 12: ZeroDivisionError: division by zero$"):
        spec.find("later.py:gate")
    file.write_text(GATE.format(id="mine.later"))
    assert spec.find("later.py:gate").id == "mine.later"


@pytest.mark.parametrize(
    ("text", "address", "says"),
    [
        (None, "nowhere.py:gate", "there is no file nowhere.py"),
        (None, "nowhere:gate", "there is no module 'nowhere'; for a file write nowhere.py"),
        ("", "empty.py", "empty.py: name the formula; it states none: a formula is made by Formula(...)"),
        ("", "empty.py:gate", "empty.py has no 'gate'; it states none"),
        ("gate = 3", "number.py:gate", "number.py: gate is no formula, but of type int; it states none"),
        ("import nothing_such", "needs.py:gate", "needs.py, line 1: ModuleNotFoundError: No module named"),
        ("def gate(:", "broken.py:gate", "broken.py, line 1: SyntaxError: invalid syntax"),
        ("\n\nraise SystemExit(2)", "leaves.py:gate", "leaves.py, line 3: SystemExit: 2"),
        (GATE.format(id="attention.softmax"), "taken.py", "attention.softmax"),
        (GATE.format(id="mine.spelled"), "spelled.py:gat", "spelled.py has no 'gat'; did you mean spelled.py:gate?"),
        (
            GATE.format(id="mine.one") + GATE.format(id="mine.two").replace("gate", "other"),
            "both.py",
            "both.py: name the formula, such as both.py:gate; it states gate, other",
        ),
        (GATE.format(id=""), "unnamed.py:gate", "a formula without an ID: 'A gate' needs one"),
        (GATE.format(id="mine.axis").replace("x[i] *", "x[j] *"), "axis.py:gate", "axis.py, line 9: mine.axis, line y[i]"),
        (GATE.format(id="mine.odd").replace('"=", 0', '"=", w[i]'), "odd.py:gate", "NameError: name 'w' is not defined"),
        (
            GATE.format(id="mine.same") + GATE.format(id="mine.same"),
            "same.py:gate",
            "mine.same: a formula with this ID is stated already",
        ),
        (
            GATE.format(id="mine.shown").replace("(y,))", "(y,), pitfalls=(pitfall('squared', mutant='squared'),))"),
            "shown.py:gate",
            "shown.py: mine.shown, pitfall 'squared' names the mutant 'squared'; mutants are of the formulas of attnspec alone",
        ),
        (
            GATE.format(id="mine.known").replace("(y,))", "(y,), pitfalls=(pitfall('squared', theorem='square'),))"),
            "known.py:gate",
            "known.py: mine.known, pitfall 'squared' names the theorem 'square'; the formula has: origin",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said_in_one_line(
    here: Path, text: str | None, address: str, says: str
) -> None:
    """Every way in which there is no formula at an address is one line that names the file and what is there."""
    if text is not None:
        (here / address.partition(":")[0]).write_text(text)
    with pytest.raises(UnknownFormula) as refused:
        spec.find(address)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


MISTAKES = {
    "an unknown source": ("sources=(paper('nobody2020'),),", "", "has no 'nobody2020'"),
    "an unknown deck": ("sources=(deck(9, 'slide 1'),),", "", "has no 'S9'"),
    "a source that is none": ("sources=('Vaswani',),", "", "'Vaswani' among its sources is no source"),
    "one source": ("sources=paper('vaswani2017'),", "", "its sources are a tuple"),
    "a pitfall that is none": ("pitfalls=('beware',),", "", "'beware' among its pitfalls is no pitfall"),
    "a wrong shape": (
        "",
        "gate.theorem('t', 'T', claim(gate(given('u'))[i], '=', 0).because('w'), given=given('u'))",
        "mine.gate, t, claim 1: mine.gate: x has shape (d), but an argument of shape () was given",
    ),
    "too many indices": (
        "",
        "gate.theorem('t', 'T', claim(x[i, j], '=', gate(x)[i]).because('w'))",
        "x has shape (d), but 2 indices were given",
    ),
    "a letter that nothing reads": (
        "",
        "gate.theorem('t', 'T', claim(gate(x)[i], '=', gate(x)[i]).because('w'), given=given('a', d))",
        "mine.gate, t: a is given, but no claim or assumption reads it",
    ),
    "no such keyword": (
        "",
        "gate.theorem('t', 'T', claim(gate(x)[i], '=', gate(x)[i]).because('w'), hints=3)",
        "mine.gate, t: a theorem has no hints",
    ),
    "a name that is no formula": (
        "",
        "gate.theorem('t', 'T', claim(gate(x)[i], '=', gate(x)[i]).keeping('foo').because('w'))",
        "keeping takes formulas; 'foo' is none",
    ),
}


@pytest.mark.parametrize(("declared", "claimed", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_a_statement_is_told_with_its_place(
    here: Path, declared: str, claimed: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The author is told in one line which file and line, and what is wrong there; the command calls it unusable input."""
    stated = f"gate = Formula('mine.gate', 'A gate', (x,), (define(y[i], x[i] * x[i]),), (y,), {declared})"
    (here / "wrong.py").write_text(f"{HEAD}{stated}\n{claimed}\n")
    with pytest.raises(UnknownFormula) as refused:
        spec.find("wrong.py:gate")
    assert said in str(refused.value)
    assert str(refused.value).startswith(f"wrong.py, line {8 if declared else 9}: ")
    assert main(["show", "wrong.py:gate"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attnspec: wrong.py, line ")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('paper("zhang2019"', 'paper("zhang2029"', "has no 'zhang2029'; did you mean 'zhang2019'?"),
        ("given=c,", "given=(c, given('u', d)),", "rms_norm, scale: u is given, but no claim or assumption reads it"),
        ("gamma, c**2 * eps", "c, c**2 * eps", "gamma has shape (d), but an argument of shape () was given"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_statement_of_ours_is_no_fault_of_the_machine(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    """Who adds a formula to the package is told in one line, too."""
    root = Path(spec.__file__).parents[1]
    for layer in ("spec", "verify", "impl"):
        shutil.copytree(root / layer, tmp_path / layer, ignore=shutil.ignore_patterns("__pycache__"))
    wrong = tmp_path / "spec" / "normalization" / "rms_norm.py"
    text = wrong.read_text(encoding="utf-8")
    assert old in text
    wrong.write_text(text.replace(old, new), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "verify", "show", "normalization.rms_norm"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert said in line
    assert "fault of attnspec" not in line

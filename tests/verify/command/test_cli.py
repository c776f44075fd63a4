"""The command: exit statuses, one clear line for unusable input, output formats, and the user's own files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from verify.command.cli import main
from verify.command.terminal import expand_subjects
from verify.faults import Unusable
from verify.targets import TARGETS

RIGHT = """
import torch.nn.functional as F

def my_layer_norm(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)

def annotated(x, gamma, beta, eps):
    return gamma * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps) + beta

def forgets_bias(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, None, eps)

def two_arguments(x, gamma):
    return x

def raises(x, gamma, beta, eps):
    raise RuntimeError("boom")

def both(x, gamma, beta, eps):
    return x, gamma

def nan(x, gamma, beta, eps):
    return x * float("nan")

def wrong_shape(x, gamma, beta, eps):
    return x.sum(-1)

def wrong_dtype(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps).half()

def unsupported(x, gamma, beta, eps):
    raise NotImplementedError("float64 and float32 are not supported")

class Norm:
    pass

number = 3
"""
FEW = ["--formula", "normalization.layer_norm", "--max-examples", "15"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's directory with a module of theirs, and the path as it was afterwards."""
    (tmp_path / "mymodule.py").write_text(RIGHT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("mymodule", "broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path
    for name in ("mymodule", "broken"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "the following arguments are required: command"),
        (["verfy"], "did you mean verify?"),
        (["verify", "attention.sofmax"], "did you mean attention.softmax"),
        (["verify", "atention"], "'atention'; did you mean the subject attention?"),
        (["verify", "--target", "jax"], "no target is called 'jax'"),
        (["verify", "--target", "F.layernorm"], "did you mean"),
        (["verify", "scores.dot", "--max-examples", "0"], "at least 1"),
        (["verify", "scores.dot", "--max-examples", "ten"], "at least 1, got ten"),
        (["verify", "scores.dot", "--seed", "-1"], "at least 0, got -1"),
        (["verify", "scores.dot", "--seed", "1.5"], "at least 0, got 1.5"),
        (["verify", "scores.dot", "--device", "meta"], "device 'meta' cannot be used"),
        (["check", "mymodule:my_layer_norm", *FEW, "--sizes", "e=d"], "no size 'e'; it has: d"),
        (["verify", "scores.dot", "--device", "quantum"], "device 'quantum' cannot be used"),
        (["verify", "scores.dot", "--dtype", "int8"], "invalid choice: 'int8'"),
        (["show", "layer_norm"], "did you mean normalization.layer_norm"),
        (["show", "mine.py:norm"], "there is no file mine.py"),
        (["show", "decoding.beam", "--page", "beam.html"], "only formulas have a page"),
        (["show", "scores.dot", "--page", "dot.pdf"], "a page is written as .html or .md; got .pdf"),
        (["show", "scores.dot", "--page", "nowhere/dot.md"], "cannot write nowhere/dot.md"),
        (["verify", "scores.dot", "--config", "none.toml"], "cannot read none.toml"),
        (
            ["verify", "scores.dot", "--json", "a.x", "--html", "a.x"],
            "argument --html: a.x would overwrite what --json writes",
        ),
        (
            ["check", "mymodule.py:my_layer_norm", *FEW, "--script", "mymodule.py"],
            "argument --script: mymodule.py would overwrite mymodule.py, which is checked",
        ),
        (
            ["check", "mymodule:my_layer_norm", *FEW, "--range", "x"],
            "expected a limit such as q=1e3; got 'x'",
        ),
        (
            ["check", "mymodule:my_layer_norm", "--formula", "decoding.beam", "--sizes", "d=2"],
            "decoding.beam is a procedure and has no sizes to be limited",
        ),
        (["verify", "scores.dot", "--time-limit", "0"], "expected a positive number, got 0"),
        (["verify", "scores.dot", "--profile", "quick"], "profile is one of smoke, full, soak; got 'quick'"),
        (["check", "mymodule:my_layer_norm", "--formula", "mine.py:norm"], "there is no file mine.py"),
        (["mutants", "nothing"], "no formula has the ID 'nothing'"),
        (["check", "mymodule:my_layer_norm"], "required: --formula"),
        (
            ["check", "mymodule:my_layer_norm", "--formula", "normalisation.layer_norm"],
            "did you mean normalization.layer_norm",
        ),
        (["check", "mymodule", *FEW], "expected MODULE:CALLABLE"),
        (["check", "nowhere:f", *FEW], "there is no module 'nowhere'"),
        (["check", "./nowhere.py:f", *FEW], "there is no file nowhere.py"),
        (["check", "mymodule:my_layernorm", *FEW], "mymodule has no 'my_layernorm'; it offers my_layer_norm"),
        (["check", "mymodule:number", *FEW], "is not callable: it is an int"),
        (["check", "mymodule:Norm", *FEW], "is a class"),
        (["check", "mymodule:two_arguments", *FEW], "is called positionally with (x, gamma, beta, eps)"),
        (
            ["check", "mymodule:my_layer_norm", *FEW, "--convention", "eps"],
            "expected --convention name=option",
        ),
        (
            ["check", "mymodule:my_layer_norm", *FEW, "--convention", "eps=middle"],
            "convention eps is one of inside, outside",
        ),
        (
            ["check", "mymodule:my_layer_norm", *FEW, "--convention", "epsilon=inside"],
            "has no convention 'epsilon'",
        ),
        (
            ["check", "mymodule:my_layer_norm", *FEW, "--sizes", "d=3", "n=5", "d=4"],
            "d is given twice: d=3 and d=4; expected one",
        ),
        (["check", "broken:f", *FEW], "broken does not import: ZeroDivisionError: division by zero"),
        (["check", "broken_syntax:f", *FEW], "SyntaxError"),
        (["check", "leaves:f", *FEW], "leaves does not import: SystemExit: 0"),
        (
            ["check", "needs:f", *FEW],
            "needs does not import: ModuleNotFoundError: No module named 'nothing_like_it'",
        ),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_unusable_input_is_one_clear_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """What cannot be used ends 2, with one line on stderr and no traceback."""
    (here / "broken.py").write_text("1 / 0\n")
    (here / "broken_syntax.py").write_text("def f(:\n")
    (here / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    (here / "needs.py").write_text("import nothing_like_it\n")
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.startswith("attnspec: ")
    assert error.count("\n") == 1


def test_a_right_function_conforms(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A right function in the current directory ends 0, by module and by path, and under its own conventions."""
    assert main(["check", "mymodule:my_layer_norm", *FEW]) == 0
    assert "conforms" in capsys.readouterr().out
    assert main(["check", "./mymodule.py:my_layer_norm", *FEW]) == 0
    assert main(["check", "mymodule:annotated", *FEW, "--convention", "eps=outside", "divisor=unbiased"]) == 0
    assert "eps=outside" in capsys.readouterr().out


def test_the_headline_alone_is_printed_where_nothing_else_is_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--quiet``: one line, and the exit status."""
    assert main(["check", "mymodule:forgets_bias", *FEW, "--quiet"]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "mymodule:forgets_bias against normalization.layer_norm: falsified: beta is ignored: as if it were 0"
    ]


def test_what_is_warned_of_stands_behind_the_headline(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings of a module that is loaded are told after the report, each once."""
    Path("warns.py").write_text("import warnings\nwarnings.warn('an old name')\n" + RIGHT)
    assert main(["check", "warns:my_layer_norm", *FEW]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("warns:my_layer_norm against normalization.layer_norm: conforms")
    assert captured.err.count("warned: UserWarning: an old name") == 1


def test_conventions_are_found_unless_ours_are_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first line says under which a function conforms; under ours alone it is falsified, and they are the cause."""
    assert main(["check", "mymodule:annotated", *FEW]) == 0
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith(": conforms under eps=outside, divisor=unbiased")
    assert main(["check", "mymodule:annotated", *FEW, "--conventions", "ours"]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith(": falsified: conforms under convention eps=outside, divisor=unbiased")


def test_conventions_that_are_not_named_are_sought_beside_those_that_are(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``auto`` beside a name seeks the others; what says two things at once is refused in a line."""
    assert (
        main(["check", "mymodule:annotated", *FEW, "--convention", "eps=outside", "--convention", "auto"])
        == 0
    )
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.endswith(": conforms under eps=outside, divisor=unbiased")
    for said, why in (
        (["ours", "auto"], "--convention ours stands alone"),
        (["eps=inside", "eps=outside"], "--convention eps is both inside and outside"),
        (["eps=above", "auto"], "convention eps is one of inside, outside; 'above' was given"),
        (["outside"], "expected --convention name=option, auto beside such, or ours alone; got 'outside'"),
    ):
        assert main(["check", "mymodule:annotated", *FEW, "--convention", *said]) == 2
        assert why in capsys.readouterr().err


def test_a_wrong_function_is_falsified_and_its_script_reproduces_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong function ends 1; the counterexample is shown, and the script fails on its own."""
    assert main(["check", "mymodule:forgets_bias", *FEW, "--script", "again.py"]) == 1
    out = capsys.readouterr().out
    assert "falsified" in out
    assert re.search(r"expected .* ± .*, got", out)
    done = subprocess.run([sys.executable, "again.py"], cwd=here, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_files_are_written_though_nobody_reads_on(here: Path) -> None:
    """A script and a document are written before the table is shown: `| head` loses neither."""
    command = [sys.executable, "-m", "verify", "check", "mymodule:forgets_bias", *FEW]
    files = ["--script", "again.py", "--json", "found.json"]
    running = subprocess.Popen(
        [*command, *files], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert running.stdout is not None
    running.stdout.close()
    running.wait()
    assert "forgets_bias" in (here / "again.py").read_text()
    assert json.loads((here / "found.json").read_text())["exit"] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
def test_a_full_disk_is_no_fault_of_attnspec() -> None:
    """Where what is shown cannot be written, one line says so."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "verify", "show", "similarity.dot"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.stderr == "attnspec: the output cannot be written: No space left on device\n"
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("nan", 1, "nan"),
        ("wrong_dtype", 1, "has dtype torch.float16"),
        ("unsupported", 3, "inconclusive"),
    ],
)
def test_faults_are_told(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, status: int, says: str
) -> None:
    """An exception, NaN, a wrong shape or dtype is the function's fault (1); a type it declines is inconclusive (3)."""
    assert main(["check", f"mymodule:{name}", *FEW]) == status
    captured = capsys.readouterr()
    assert says in captured.out
    assert "Traceback" not in captured.out + captured.err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("raises", "raised RuntimeError: boom for x (3,) float64"),
        ("wrong_shape", "returned y of shape (), expected (3,)"),
        ("both", "returned tuple of Tensor, Tensor, expected a tensor of shape (3,): pick an output"),
    ],
)
def test_what_cannot_be_called_so_is_no_verdict(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, says: str
) -> None:
    """Where no call gives a tensor of the right rank, one line says what to do (2)."""
    assert main(["check", f"mymodule:{name}", *FEW]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_json_and_html(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--json holds the documented fields; --html is one page without requests to others."""
    arguments = [
        "verify",
        "scores.dot",
        "--target",
        "impl",
        "--max-examples",
        "15",
        "--json",
        "a.json",
        "--html",
        "a.html",
    ]
    assert main(arguments) == 0
    found = json.loads((here / "a.json").read_text())
    assert found["exit"] == 0
    assert found["reports"][0]["target"] == "impl.scores.dot"
    assert found["reports"][0]["verdict"] == "conforms"
    assert {"name", "kind", "verdict", "examples", "worst_ratio", "message"} <= found["reports"][0]["checks"][
        0
    ].keys()
    page = (here / "a.html").read_text()
    assert "impl.scores.dot" in page
    assert not re.search(r"src=|href=\"[^#]|url\(|@import|https?://", page)
    assert main([*arguments[:-1], "missing/a.html"]) == 2
    assert "cannot write missing/a.html" in capsys.readouterr().err


def test_absent_peers_are_listed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A peer that is not installed is listed as absent, in verify and in list."""
    from verify.targets import PACKAGES

    monkeypatch.setitem(PACKAGES, "transformers", "surely_not_installed")
    assert main(["verify", "positional.sinusoidal", "--max-examples", "5"]) in (0, 3)
    assert "absent: transformers MarianSinusoidalPositionalEmbedding" in capsys.readouterr().out
    assert main(["list"]) == 0
    assert "transformers: absent" in capsys.readouterr().out


def test_what_an_installed_version_lacks_is_listed_as_absent(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list names the target and what its package does not have; a target that has all it needs is not named."""
    wanting = (
        replace(TARGETS[0], peer="torch", name="F.one", needs="nn.functional.surely_not_there"),
        replace(TARGETS[0], peer="torch", name="F.other", needs="nn.functional.softmax"),
    )
    monkeypatch.setattr("verify.command.listing.TARGETS", wanting)
    assert main(["list"]) == 0
    said = capsys.readouterr().out
    assert re.search(
        r"^absent: torch F\.one \(torch \S+ has no nn\.functional\.surely_not_there\)$", said, re.M
    )
    assert "absent: torch F.other" not in said


def test_a_formula_that_nothing_implements_is_stated(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is listed so; verify says so, and ends 3 where there is nothing else; what else was asked for is verified."""
    few = tuple(t for t in TARGETS if t.formula_id != "scores.cosine")
    for module in ("verify.command.commands", "verify.command.listing", "verify.targets"):
        monkeypatch.setattr(f"{module}.TARGETS", few)
    assert main(["list"]) == 0
    assert re.search(r"^scores.cosine .* stated *$", capsys.readouterr().out, re.MULTILINE)
    assert main(["verify", "scores.cosine"]) == 3
    assert "stated: scores.cosine" in capsys.readouterr().out
    assert main(["verify", "scores.cosine", "scores.dot", "--max-examples", "5", "--jobs", "1"]) == 0
    assert "stated: scores.cosine" in capsys.readouterr().out
    assert main(["verify", "scores.cosine", "--target", "impl"]) == 2
    assert "no target implements these formulas" in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """--help of every command has examples and the exit statuses."""
    for command in ([], ["verify"], ["check"], ["list"], ["show"], ["mutants"]):
        assert main([*command, "--help"]) == 0
        out = capsys.readouterr().out
        assert "examples:" in out
        assert "exit status: 0 conforms" in out


def test_a_subject_stands_for_all_its_formulas() -> None:
    """Each once, in the order of the registry, beside formulas named one by one."""
    assert expand_subjects(["similarity", "scores.dot", "similarity.dot"]) == [
        "similarity.dot",
        "similarity.cosine",
        "scores.dot",
    ]
    with pytest.raises(Unusable, match="no formula has the ID 'similar'; did you mean"):
        expand_subjects(["similar"])

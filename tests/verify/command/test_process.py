"""The command in a process of its own: what it imports, and what lies in the user's directory."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RIGHT = """
import torch.nn.functional as F

def my_layer_norm(x, gamma, beta, eps):
    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
"""
FEW = ["--formula", "normalization.layer_norm", "--max-examples", "15"]


def attnspec(
    *arguments: str, cwd: Path, code: str | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a directory, as a user would (from the source tree, without installing it)."""
    program = code or "import sys; from verify.command.cli import main; sys.exit(main(sys.argv[1:]))"
    # Like an installed command, it finds attnspec before the user's directory.
    begin = f"import sys; sys.path[0] = {str(ROOT)!r}; "
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **more}
    return subprocess.run(
        [sys.executable, "-c", begin + program, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("arguments", [["list"], ["--help"]])
def test_quick_commands_do_not_import_torch(tmp_path: Path, arguments: list[str]) -> None:
    """list and --help stay quick because they import neither torch nor the other heavy packages."""
    code = (
        "from verify.command.cli import main; status = main(sys.argv[1:]); "
        "print([m for m in ('torch', 'transformers', 'hypothesis') if m in sys.modules], file=sys.stderr); sys.exit(status)"
    )
    done = attnspec(*arguments, cwd=tmp_path, code=code)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("closed", [(1,), (1, 2)], ids=["output", "both"])
def test_an_output_that_the_shell_has_closed_is_nobodys_fault(
    tmp_path: Path, closed: tuple[int, ...]
) -> None:
    """``>&-``: what would be said there goes nowhere, the status says the rest."""
    begin = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv[0] = 'attnspec'; "
    program = begin + "from verify.command.cli import main; sys.exit(main())"
    shut = " ".join(f"{number}>&-" for number in closed)
    for arguments, status in ((["list"], 0), (["check", "impl.scores:dot", "--formula", "scores.dott"], 2)):
        command = ["sh", "-c", f'exec "$@" {shut}', "sh", sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        assert "fault" not in done.stderr


def test_a_users_own_folders_do_not_shadow_ours(tmp_path: Path) -> None:
    """With spec/, verify/ and impl.py of the user's in the current directory, ours are used, and theirs can be checked."""
    for name in ("spec", "verify", "spec/language"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the wrong package')\n")
    (tmp_path / "impl.py").write_text(RIGHT)
    (tmp_path / "mine.py").write_text(RIGHT)
    code = (
        "from verify.command.cli import main; names, more = sys.argv[1].split(), sys.argv[2:]; "
        "sys.exit(repr([main(['check', name, *more]) for name in names]))"
    )
    names = "mine:my_layer_norm impl:my_layer_norm ./impl.py:my_layer_norm"
    done = attnspec(names, *FEW, cwd=tmp_path, code=code)
    assert done.stderr.splitlines()[-1] == "[0, 2, 0]", done.stderr
    assert "for your file write ./impl.py:my_layer_norm" in done.stderr


def test_a_foreign_spec_is_one_clear_line(tmp_path: Path) -> None:
    """A package named spec that was imported first gives one line and exit 2."""
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec" / "__init__.py").write_text("")
    code = f"sys.path.insert(0, {str(tmp_path)!r}); import spec; from verify.command.cli import main; sys.exit(main(['list']))"
    done = attnspec(cwd=tmp_path, code=code)
    assert done.returncode == 2
    assert "another package named 'spec'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_pipe_that_ends_is_not_what_is_falsified():
    """Nobody knows what would have been said: the status is that of a pipe's end, not 1."""
    unread, written = os.pipe()
    os.close(unread)
    ran = subprocess.run(
        [sys.executable, "-m", "verify", "list"], cwd=ROOT, stdout=written, stderr=subprocess.PIPE, text=True
    )
    os.close(written)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_a_script_that_lies_elsewhere_finds_the_module(tmp_path: Path):
    """From wherever it is run, without attnspec."""
    (tmp_path / "mine.py").write_text(RIGHT.replace("gamma, beta, eps)\n", "gamma, beta, 2 * eps)\n"))
    (tmp_path / "scripts").mkdir()
    attnspec("check", "mine.py:my_layer_norm", *FEW, "--script", "scripts/again.py", cwd=tmp_path)
    ran = subprocess.run(
        [sys.executable, str(tmp_path / "scripts/again.py")], cwd="/", capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (1, "")


def test_a_terminal_is_told_what_is_proved_and_what_is_checked(tmp_path: Path):
    """Of a user's formula: each theorem, then each check, with how many there are."""
    theirs = ROOT / "examples" / "formulas"
    command = ["check", f"{theirs / 'biased.py'}:weights", "--formula", f"{theirs / 'alibi.py'}:alibi"]
    program = f"import sys; sys.path[0] = {str(ROOT)!r}; from verify.command.cli import main; sys.exit(main(sys.argv[1:]))"
    ours, terminal = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as shown:
        done = subprocess.Popen(
            [sys.executable, "-c", program, *command, "--max-examples", "20"],
            cwd=tmp_path,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
            stdout=subprocess.DEVNULL,
            stderr=terminal,
        )
        os.close(terminal)
        said = b""
        with suppress(OSError):  # it is closed at the other end
            while part := shown.read(4096):
                said += part
    assert done.wait() == 0
    assert re.search(rb"proving \S+: \w+ \(\d+ of \d+\)", said)
    assert re.search(rb"checking \S+: \w[\w: ]+ \(\d+ of \d+\)", said)

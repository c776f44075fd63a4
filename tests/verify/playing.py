"""Plays scripts where attnspec cannot be imported, as a user does who has torch and a module alone."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from subprocess import PIPE

OURS = ("verify", "spec", "impl")
PLAYER = """
import contextlib, io, json, os, runpy, sys
import torch
torch.set_num_threads(1)
for line in sys.stdin:
    folder, blocked, cases = json.loads(line)
    ended = []
    for file, first in cases:
        read, write = os.pipe()
        if not os.fork():
            os.chdir(folder)
            sys.path.insert(0, folder)
            sys.modules.update(dict.fromkeys(blocked))
            code, said = "no end", io.StringIO()
            try:
                exec(first)
                with contextlib.redirect_stdout(said):
                    runpy.run_path(file, run_name="__main__")
            except SystemExit as end:
                code = end.code
            except BaseException as error:
                code = f"{type(error).__name__}: {error}"
            with os.fdopen(write, "w") as there:
                json.dump([code, said.getvalue()], there)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as here:
            ended.append(json.load(here))
        os.wait()
    print(json.dumps(ended), flush=True)
"""
"""Plays each script in a process of its own; that from which they branch off has imported torch, and nothing of ours."""
SCALED = """
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self, width, *, eps=1e-3):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(width))
        self.eps = eps

    def forward(self, x):
        return self.gain * x / (x.square().mean(-1, keepdim=True).sqrt() + self.eps)
"""
"""A module of a user's, wrong as ``normalization.rms_norm``: its ε is added to the root."""
Ended = tuple[int | str, str]
"""The exit code of a script, or what it raised; and what it printed."""


def played(
    folder: Path, texts: Iterable[str | tuple[str, str]], blocked: Iterable[str] = OURS
) -> list[Ended]:
    """How each script ends beside the modules in ``folder``, where ``blocked`` cannot be imported; of a pair the first is run
    before the second, the script.
    """
    cases = []
    for place, text in enumerate(texts):
        first, script = ("", text) if isinstance(text, str) else text
        (folder / f"again_{place}.py").write_text(script, encoding="utf-8")
        cases.append((f"again_{place}.py", first))
    player = _player()
    assert player.stdin is not None
    assert player.stdout is not None
    player.stdin.write(json.dumps([str(folder), [*blocked], cases]) + "\n")
    player.stdin.flush()
    return [(code, said) for code, said in json.loads(player.stdout.readline())]


@cache
def _player() -> subprocess.Popen[str]:
    """One for all tests of a process; it ends with what it reads."""
    player = subprocess.Popen([sys.executable, "-c", PLAYER], stdin=PIPE, stdout=PIPE, text=True)
    atexit.register(player.communicate)
    return player


@contextmanager
def users(folder: Path, **modules: str) -> Iterator[None]:
    """Modules of a user's: of these names, with these texts, in ``folder``, from which they can be imported."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        sys.modules.pop(name, None)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in modules:
            sys.modules.pop(name, None)

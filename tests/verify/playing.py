"""Plays scripts where attnspec cannot be imported, as a user does who has torch and a module alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

OURS = ("verify", "spec", "impl")
PLAYER = """
import contextlib, io, json, os, runpy, sys
cases, blocked = json.load(open("cases.json"))
sys.modules.update(dict.fromkeys(blocked))
import torch
torch.set_num_threads(1)
ended = []
for file, first in cases:
    read, write = os.pipe()
    if not os.fork():
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
json.dump(ended, open("ended.json", "w"))
"""
"""Each script in a process of its own; torch is imported once."""
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
    (folder / "cases.json").write_text(json.dumps([cases, [*blocked]]))
    (folder / "player.py").write_text(PLAYER)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    subprocess.run(
        [sys.executable, "player.py"], cwd=folder, env={**os.environ, "PYTHONPATH": path}, check=True
    )
    return [(code, said) for code, said in json.loads((folder / "ended.json").read_text())]


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

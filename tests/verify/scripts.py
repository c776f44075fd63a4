"""Modules of a user's, and scripts run where attnspec cannot be imported, as by a user who has torch and a module alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ALONE = """
import runpy, sys
sys.modules.update(dict.fromkeys(("verify", "spec", "impl")))
sys.path.insert(0, "")
runpy.run_path("again.py", run_name="__main__")
"""


def run_alone(folder: Path, text: str) -> tuple[int, str]:
    """The exit status of a script beside the modules in a folder, and what it printed."""
    (folder / "again.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


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

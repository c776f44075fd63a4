"""The pages, built once for all tests (and for all worker processes), strictly and as a reader gets them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))  # as MkDocs does for its hooks: the package `generate` is found there


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages; the first worker to arrive builds, the others wait for it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / "site", shared / "site.done"
    try:
        (shared / "site.lock").mkdir()
    except FileExistsError:
        while not done.exists():
            time.sleep(0.2)
    else:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
        built = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        done.write_text("" if built.returncode == 0 else built.stdout + built.stderr, encoding="utf-8")
    failure = done.read_text(encoding="utf-8")
    assert not failure, failure
    return folder


@pytest.fixture(scope="session")
def section(site: Path) -> Callable[[str], str]:
    """The section about a theorem, ``formula.theorem``, as the build of the pages found or made it: not proved once more."""
    from generate import pages, theorems
    from generate.caching import Cache
    from generate.origins import Origins

    cache, origins = Cache(), Origins()

    def find(name: str) -> str:
        return (pages.find(cache, origins, ("theorem", name)) or theorems.make(name))["text"]

    return find

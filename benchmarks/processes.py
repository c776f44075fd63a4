"""Commands of Python in two trees, in turn, each in a process of its own: processor time, the clock, and memory at the peak."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENOUGH = 60.0  # seconds: no round of a work is begun after so many

# A process counts into its peak what the one that started it held, on Linux: a small one stands between.
BETWEEN = """
import json, os, sys, time
began = time.monotonic()
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
child = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
clock = time.monotonic() - began
print(json.dumps([os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, clock, usage.ru_maxrss]))
"""


@dataclass(frozen=True)
class Work:
    """A command of Python to run in both trees, and the ratio older/now wanted of its processor time without the imports."""

    name: str
    command: tuple[str, ...]
    wanted: float | None
    statuses: tuple[int, ...] = (0,)
    imports: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Spent:
    """What one process took: seconds of processor time and of the clock, bytes at its peak."""

    processor: float
    clock: float
    peak: int


@contextmanager
def worktree(commit: str, home: Path) -> Iterator[Path]:
    """A commit checked out, for as long as it is needed."""
    tree = home / "older"
    _git("worktree", "add", "--quiet", "--detach", str(tree), commit)
    try:
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def alternately(work: Work, older: Path, now: Path, rounds: int) -> tuple[list[Spent], list[Spent]]:
    """What a work takes in two trees, in turn: up to so many rounds, but none begun after a minute."""
    taken: tuple[list[Spent], list[Spent]] = ([], [])
    began = time.monotonic()
    while len(taken[0]) < rounds and (not taken[0] or time.monotonic() - began < ENOUGH):
        for tree, found in zip((older, now), taken, strict=True):
            found.append(spent(work, tree))
    return taken


def spent(work: Work, tree: Path) -> Spent:
    """Run a work in a tree; RuntimeError, with the end of what it said, where it fails."""
    ran = subprocess.run(
        [sys.executable, "-S", "-c", BETWEEN, *work.command],
        cwd=tree,
        env=_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    status, processor, clock, peak = json.loads(ran.stdout)
    if status not in work.statuses:
        said = ran.stderr[-2000:]
        raise RuntimeError(f"{shlex.join(work.command)} in {tree} exits {status}: {said}")
    return Spent(processor, clock, peak * (1 if sys.platform == "darwin" else 1024))


def _environment() -> dict[str, str]:
    """One thread, so that processor time is not spent on waiting, no look at the network, nothing kept from before; and modules
    are compiled once, as after an installation, whatever this process was told.
    """
    fixed = {"PYTHONPATH": ".", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "ATTNSPEC_CACHE": ""}
    fixed["PYTHONDONTWRITEBYTECODE"] = ""
    return {**os.environ, **fixed}


def output(tree: Path, *command: str) -> str:
    """What a command of Python prints in a tree."""
    ran = subprocess.run(
        [sys.executable, *command], cwd=tree, env=_environment(), check=True, stdout=subprocess.PIPE
    )
    return ran.stdout.decode()


def _git(*command: str) -> None:
    ran = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"git {shlex.join(command)}: {ran.stderr.strip()}")

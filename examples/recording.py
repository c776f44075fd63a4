"""What a run of an example found, written as JSON with what it was measured with: the pages show such records."""

from __future__ import annotations

import argparse
import json
import platform
import re
import tempfile
from collections.abc import Collection, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import torch


def seed(given: str) -> int:
    """What ``--seed`` may be: generators take no larger numbers once several are made of one. ArgumentTypeError otherwise."""
    try:
        number = int(given)
    except ValueError:
        number = -1
    if not 0 <= number < 2**32:
        raise argparse.ArgumentTypeError(f"expected a whole number in 0..{2**32 - 1}; got {given!r}")
    return number


def folder(path: Path, option: str = "--out") -> Path:
    """A folder that can be written to, made where there is none: before the work, so that nothing is lost after it. ValueError
    where there cannot be one.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise ValueError(
            f"{option}: expected a folder that can be written to; {path}: {error.strerror}"
        ) from error
    return path


def check_file(path: Path, option: str, kinds: Collection[str] | None = None) -> None:
    """ValueError unless a file can be written there, of one of these kinds; its folder is made where there is none."""
    if path.is_dir():
        raise ValueError(f"{option}: expected a file; {path} is a folder")
    if kinds is not None and path.suffix[1:] not in kinds:
        raise ValueError(f"{option}: expected a name that ends in {', '.join(sorted(kinds))}; got {path}")
    folder(path.parent, option)


def write(found: Mapping[str, Any], path: Path) -> None:
    """Write what was found, beside the day, the versions and the threads."""
    made = {
        "day": date.today().isoformat(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
    }
    text = json.dumps({"made": made, **found}, indent=1, ensure_ascii=False)
    # A list of numbers on one line.
    text = re.sub(r"\[[^\[\]{}]*\]", lambda m: re.sub(r"\s+", " ", m[0]), text)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """A record; ``made`` holds what it was measured with."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document

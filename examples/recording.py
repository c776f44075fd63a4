"""What a run of an example found, written as JSON with what it was measured with: the pages show such records."""

from __future__ import annotations

import argparse
import json
import platform
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
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


def add_outputs(parser: argparse.ArgumentParser, drawn: str = "") -> None:
    """Add ``--record``, and ``--draw`` if there is something to draw: what it is, in words."""
    if drawn:
        parser.add_argument("--draw", type=Path, metavar="PATH", help=f"draw {drawn} (svg, png, pdf)")
    parser.add_argument("--record", type=Path, metavar="PATH", help="write all figures as JSON")


def parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None, **least: int
) -> argparse.Namespace:
    """The options, of which numbers are at least so large and ``--record`` and ``--draw`` can be written: the parser says
    otherwise, before the work, so that nothing is lost after it.
    """
    given = parser.parse_args(arguments)
    for name, bound in least.items():
        if getattr(given, name) < bound:
            parser.error(f"expected {name} >= {bound}; got {getattr(given, name)}")
    try:
        if given.record:
            check_file(given.record, "--record")
        if getattr(given, "draw", None):
            from matplotlib.figure import Figure  # only who asks for a picture needs Matplotlib

            check_file(given.draw, "--draw", Figure().canvas.get_supported_filetypes())
    except ValueError as error:
        parser.error(str(error))
    return given


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

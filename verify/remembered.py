"""What statements were found to say, kept between runs: whoever works on a callable asks the same at every turn.

Examples depend on the formula, on what is asked for and on the seed, and hardly on the callable, so a second check asks its
statement what the first one did. Its answers lie in a file for each formula, in the folder that :mod:`verify.cache` names.

An answer is found by all that it depends on: the lines of the statement as they are evaluated, the arithmetic, every entry of
the inputs, the sources of what evaluates, and the versions of what that is built on. It is read as numbers and nothing else, and
not at all where it is not what was written.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

import spec.language
from spec.language.flatten import Flat
from verify.cache import CACHE

Reals: TypeAlias = npt.NDArray[np.float64]
Answer: TypeAlias = list[tuple[Reals, Reals]]
"""For each output its value, and how far from it."""
Held: TypeAlias = tuple[int, list[list[int]]]
"""A checksum of the numbers of an answer, and the shapes of its arrays."""

ROOM = 1 << 31
"""Bytes that the folder may hold: what was used longest ago is thrown away first. All formulas take half of it."""
MOST = 8_000_000
"""Numbers that the file of a formula holds, 64 megabytes: what a run has asked for, and of what others have, what has room."""
WORTH = 0.2
"""Seconds of new evaluation that are worth a file."""
SUFFIX = ".safetensors"
HELD = "held"
"""The name of what is said of all answers, beside their numbers."""


class Shelf:
    """The answers about one formula that former runs have left, and those that this one leaves."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.held: dict[str, Held] = {}
        self.numbers: Any = None
        self.seconds = 0.0
        """What was spent on answers that are not in the file."""
        self.used = 0
        """How many answers came from it."""
        from safetensors import SafetensorError, safe_open

        try:
            self.numbers = safe_open(file, framework="np")
            self.held = json.loads((self.numbers.metadata() or {}).get(HELD, "{}"))
            os.utime(file)
        except (OSError, ValueError, SafetensorError):
            self.held = {}  # there is none, it was cut short, or is somebody else's

    def get(self, flat: Flat, arithmetic: Any, digest: bytes) -> Answer | None:
        """The answer, if it is there."""
        name = _name(flat, arithmetic, digest) if self.held else ""
        if name not in self.held:
            return None
        (sum_, shapes), numbers = self.held[name], self.numbers.get_tensor(name)
        if crc32(numbers.data) != sum_:
            return None
        parts, first = list[Reals](), 0
        for shape in shapes:
            last = first + math.prod(shape)
            parts.append(numbers[first:last].reshape(shape))
            first = last
        self.used += 1
        return list(zip(parts[::2], parts[1::2], strict=True))

    def leave(self, answers: Iterable[tuple[tuple[Flat, Any, bytes], Answer]]) -> None:
        """Leave these to the next run, beside what is there, if it took long to find what is new. A folder that cannot be written
        to is left alone.
        """
        if self.seconds < WORTH:
            return
        self.seconds = 0.0
        numbers: dict[str, Reals] = {}
        held: dict[str, Held] = {}
        for key, answer in answers:
            name, parts = _name(*key), [part for pair in answer for part in pair]
            numbers[name] = np.concatenate([np.ravel(part) for part in parts])
            held[name] = crc32(numbers[name].data), [list(part.shape) for part in parts]
        room = MOST - sum(each.size for each in numbers.values())
        for name in (name for name in self.held if name not in numbers):
            before = self.numbers.get_tensor(name)
            if before.size <= room:
                numbers[name], held[name], room = before, self.held[name], room - before.size
        with suppress(OSError):
            self._write(numbers, held)

    def _write(self, numbers: dict[str, Reals], held: dict[str, Held]) -> None:
        """Write a file in the place of the one that is there, all of it or nothing."""
        from safetensors.numpy import save

        folder = self.file.parent
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder, prefix=".", suffix=".part", delete=False) as made:
            try:
                made.write(save(numbers, {HELD: json.dumps(held)}))
            except OSError:
                Path(made.name).unlink()
                raise
        Path(made.name).replace(self.file)
        _make_room(folder)


def shelf(formula_id: str) -> Shelf | None:
    """Where the answers about a formula are kept; None where none are."""
    folder = os.environ.get(CACHE)
    name = re.sub(r"[^\w.-]", "_", formula_id)
    return Shelf(Path(folder) / f"{name}-{evaluator()}{SUFFIX}") if folder else None


@lru_cache(maxsize=1)
def evaluator() -> str:
    """What evaluates, as a hash: its sources, and what it is built on."""
    made = sha256()
    for file in (
        *sorted(Path(spec.language.__path__[0]).rglob("*.py")),
        Path(__file__).with_name("oracle.py"),
    ):
        made.update(file.read_bytes())
    built_on = [version(name) for name in ("numpy", "python-flint", "sympy")]
    made.update(repr((built_on, platform.python_version(), platform.machine())).encode())
    return made.hexdigest()[:16]


def _name(flat: Flat, arithmetic: Any, digest: bytes) -> str:
    return sha256(f"{flat.fingerprint} {arithmetic!r} {digest.hex()}".encode()).hexdigest()


def _make_room(folder: Path) -> None:
    """Throw away what was used longest ago, until the rest has room."""
    held = sorted(
        ((file.stat().st_mtime, file.stat().st_size, file) for file in folder.glob(f"*{SUFFIX}")),
        reverse=True,
    )
    total = 0
    for place, (_, size, file) in enumerate(held):
        total += size
        if place and total > ROOM:
            file.unlink(missing_ok=True)


__all__ = ["Answer", "Reals", "Shelf", "evaluator", "shelf"]

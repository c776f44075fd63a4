"""What statements were found to say, kept between runs: whoever works on a callable asks the same at every turn.

Examples depend on the formula, on what is asked for and on the seed, and hardly on the callable, so a second check asks its
statement what the first one did. Its answers lie in a file for each formula, in the folder that :mod:`verify.cache` names.

An answer is found by all that it depends on: the lines of the statement as they are evaluated, the arithmetic, every entry of the
inputs, the sources of what evaluates, and the versions of what that is built on. A file is read whole or not at all: it begins
with a hash of the rest. Whatever goes wrong with it, the answers are worked out as if there were none.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import spec.language
from spec.language.flatten import Flat
from verify.cache import CACHE

Reals: TypeAlias = npt.NDArray[np.float64]
Answer: TypeAlias = list[tuple[Reals, Reals]]
"""For each output its value, and how far from it."""
Key: TypeAlias = tuple[Flat, Any, bytes]
"""A statement, the arithmetic, and what tells its inputs from others."""

ROOM = 1 << 31
"""Bytes that the files may take: what was used longest ago is thrown away first."""
MOST = 8_000_000
"""Numbers that the file of a formula holds, 64 megabytes: what a run has asked for, and of what others have, what has room."""
LARGEST = 1 << 27
"""Bytes of a file that is read."""
WORTH = 0.2
"""Seconds of new evaluation that are worth a file."""
SUFFIX, PART = ".answers", ".part"
NAME = re.compile(r".*-[0-9a-f]{16}\.answers|\..*\.part")
"""The names of files that are ours, in a folder of ours."""
LOST = 3600.0
"""Seconds after which a file that nobody has finished is thrown away."""
HASHED, LONG, KIND = 32, 8, np.dtype("<f8")
"""How a file begins: the hash of the rest, and how many bytes it takes to say which answers these are and of which shapes; then
their numbers lie one after another."""


class Shelf:
    """The answers about one formula that former runs have left, and those that this one leaves."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.found = _read(file)
        self.seconds = 0.0
        """What was spent on answers that are not in the file."""
        self.used = 0
        """How many answers came from it."""
        self.added: dict[str, Answer] = {}
        """Answers that another process has found for this run."""
        if self.found:
            with suppress(OSError):
                os.utime(file)

    def get(self, key: Key) -> Answer | None:
        """The answer, if it is there."""
        found = self.found.get(label(key)) if self.found else None
        self.used += found is not None
        return found

    def add(self, answers: Mapping[str, Answer], seconds: float, used: int) -> None:
        """Take over what another process has found for this run, by name, what that took, and how many came from the file."""
        self.added |= answers
        self.seconds += seconds
        self.used += used

    def leave(self, answers: Mapping[str, Answer]) -> None:
        """Leave these, by name, to the next run, beside what is there by now, if it took long to find what is new."""
        added, self.added = self.added, {}
        if self.seconds < WORTH:
            return
        self.seconds = 0.0
        with suppress(Exception):  # a folder that cannot be written to, no room: nothing is kept
            every: dict[str, Answer] = {}
            room = MOST
            own = sorted(answers.items(), key=lambda named: _numbers(named[1]))  # so that most have room
            for name, answer in (*own, *added.items(), *_read(self.file).items()):
                if name not in every and _numbers(answer) <= room:
                    every[name], room = answer, room - _numbers(answer)
            _write(self.file, every)
            _make_room(self.file.parent)


def shelf(formula_id: str) -> Shelf | None:
    """Where the answers about a formula are kept; None where none are."""
    folder = os.environ.get(CACHE)
    name = re.sub(r"[^\w.-]", "_", formula_id)[:100]
    return Shelf(Path(folder) / "answers" / f"{name}-{EVALUATOR}{SUFFIX}") if folder and EVALUATOR else None


def evaluator() -> str:
    """What evaluates, as a hash: its sources, and what it is built on. Empty where that cannot be said."""
    made, own = sha256(), Path(__file__)
    try:
        for file in (*sorted(Path(spec.language.__path__[0]).rglob("*.py")), own.with_name("oracle.py"), own):
            made.update(file.read_bytes())
        built_on = [version(name) for name in ("numpy", "python-flint", "sympy")]
    except (OSError, ImportError):
        return ""
    made.update(repr((built_on, platform.python_version(), platform.machine())).encode())
    return made.hexdigest()[:16]


EVALUATOR = evaluator()
"""That of what is imported: the sources may be edited meanwhile."""


def label(key: Key) -> str:
    """Under what an answer is kept."""
    flat, arithmetic, digest = key
    return sha256(f"{flat.fingerprint} {_said(arithmetic)} {digest.hex()}".encode()).hexdigest()


@lru_cache(maxsize=256)
def _said(arithmetic: Any) -> str:
    """What an arithmetic is in words, found once: there are a few, and thousands of answers."""
    return repr(arithmetic)


def _numbers(answer: Answer) -> int:
    return sum(value.size + far.size for value, far in answer)


def _read(file: Path) -> dict[str, Answer]:
    """The answers in a file, by name; none where there is none, or it is not what was written."""
    found: dict[str, Answer] = {}
    try:
        if not file.is_file() or file.stat().st_size > LARGEST:
            return {}
        content = memoryview(file.read_bytes())
        hashed, rest = bytes(content[:HASHED]), content[HASHED:]
        if sha256(rest).digest() != hashed:
            return {}
        begins = LONG + int.from_bytes(rest[:LONG], "little")
        shapes, numbers = json.loads(bytes(rest[LONG:begins])), np.frombuffer(rest, KIND, offset=begins)
        first = 0
        for name, every in shapes.items():
            parts = list[Reals]()
            for shape in every:
                last = first + math.prod(shape)
                parts.append(numbers[first:last].reshape(shape))
                first = last
            found[name] = list(zip(parts[::2], parts[1::2], strict=True))
    except Exception:
        return {}
    return found


def _write(file: Path, every: dict[str, Answer]) -> None:
    """Write a file in the place of the one that is there, all of it or nothing."""
    parts = {name: [part for pair in answer for part in pair] for name, answer in every.items()}
    said = json.dumps({name: [part.shape for part in own] for name, own in parts.items()}).encode()
    said += b" " * (-len(said) % KIND.itemsize)  # numbers lie where they are read quickest
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=file.parent, prefix=".", suffix=PART, delete=False) as made:
        try:
            hashed = sha256()
            made.write(bytes(HASHED))

            def put(content: Any) -> None:
                hashed.update(content)
                made.write(content)

            put(len(said).to_bytes(LONG, "little"))
            put(said)
            for own in parts.values():
                for part in own:
                    if part.size:  # as they are: a copy of all would take as long as all else
                        put(np.ascontiguousarray(part, KIND).data)
            made.seek(0)
            made.write(hashed.digest())
            made.close()
            Path(made.name).replace(file)
        except BaseException:
            made.close()
            Path(made.name).unlink()
            raise


def _make_room(folder: Path) -> None:
    """Throw away what nobody has finished, and what was used longest ago, until the rest has room; nothing that is not ours."""
    held, total = [], 0
    for file in folder.iterdir():
        if NAME.fullmatch(file.name) and file.is_file() and not file.is_symlink():
            seen = file.stat()
            if file.suffix == SUFFIX:
                held.append((seen.st_mtime, seen.st_size, file))
            elif time.time() - seen.st_mtime > LOST:
                file.unlink(missing_ok=True)
    for place, (_, size, file) in enumerate(sorted(held, reverse=True)):
        total += size
        if place and total > ROOM:
            file.unlink(missing_ok=True)


__all__ = ["EVALUATOR", "Answer", "Key", "Reals", "Shelf", "evaluator", "label", "shelf"]

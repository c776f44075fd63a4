"""What was made by an earlier build and is still right: one file for each piece, in ``.cache/pages`` at the root.

A piece is found again by a digest of everything it was made from (:mod:`generate.dependencies`), so it is never out of date. What
a build did not use is dropped at its end. The folder may be deleted at any time.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from .dependencies import ROOT

FOLDER = ROOT / ".cache" / "pages"


class Cache:
    """Pieces, each of JSON-ready values, by a name and the digest of what it was made from."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._used: set[str] = set()

    def get(self, name: str, digest: str) -> Any:
        """A piece; None where there is none."""
        path = self._path(name, digest)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def put(self, name: str, digest: str, piece: Any) -> None:
        """Keep a piece, if it can be kept: nothing depends on that."""
        path = self._path(name, digest)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(piece, ensure_ascii=False), encoding="utf-8")
            part.replace(path)

    def sweep(self) -> None:
        """Drop every piece that was neither asked for nor kept since this cache was opened."""
        with suppress(OSError):
            for path in list(self._folder.iterdir()):
                if path.name not in self._used:
                    path.unlink(missing_ok=True)

    def _path(self, name: str, digest: str) -> Path:
        path = self._folder / f"{name}-{digest[:32]}.json"
        self._used.add(path.name)
        return path

"""Theorems that were proved before: found only for what they were proved from, and never a reason to fail."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest
from generate import pages, shipped
from generate.caching import Cache
from generate.origins import Origins

PIECE = "theorem", "a.b.c"
MADE = {"text": "proved", "assurance": "PROVED"}


class Stated(Origins):
    """One theorem that was proved from what is said here."""

    def __init__(self, digest: str) -> None:
        self._digest = digest

    def digest(self, piece: object) -> str:
        """As if the theorem were stated in a word."""
        return self._digest


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file with one theorem."""
    path = tmp_path / "proofs.json.xz"
    path.write_bytes(lzma.compress(json.dumps({PIECE[1]: {"digest": "1", "made": MADE}}).encode()))
    monkeypatch.setattr(shipped, "FILE", path)
    shipped.read.cache_clear()
    yield path
    shipped.read.cache_clear()


def test_a_theorem_is_found_for_what_it_was_proved_from_and_nothing_else(file: Path) -> None:
    """Another statement or another prover is another digest; and only theorems are shipped."""
    cache = Cache(file.parent / "none")
    assert pages.find(cache, Stated("1"), PIECE) == MADE
    assert pages.find(cache, Stated("2"), PIECE) is None
    assert pages.find(cache, Stated("1"), ("page", "a.b.c")) is None


@pytest.mark.parametrize("held", [b"", b"{}", lzma.compress(b"{"), None])
def test_a_file_that_is_missing_or_broken_does_no_harm(file: Path, held: bytes | None) -> None:
    """All is proved then."""
    file.unlink() if held is None else file.write_bytes(held)
    shipped.read.cache_clear()
    assert pages.find(Cache(file.parent / "none"), Stated("1"), PIECE) is None

"""The pieces of pages: made once, kept, and made again when what they are made from has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from generate import pages
from generate.caching import Cache
from generate.origins import Piece

PIECES = [("theorem", "a.b.c"), ("page", "a.b"), ("page", "a.c")]


class Build:
    """A build in which nothing is really made: what each piece is made from, and what had to be made."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.holds = dict.fromkeys(PIECES, "1")
        self.touched: set[Piece] = set()
        self.made: list[Piece] = []
        monkeypatch.setattr(pages, "Origins", lambda: self)
        monkeypatch.setattr(pages, "_made", self.make)

    pieces = PIECES

    def digest(self, piece: Piece) -> str:
        """As if each piece were made from one word."""
        return self.holds[piece]

    def unchanged(self, piece: Piece) -> bool:
        """Unless somebody is said to have written while it was made."""
        return piece not in self.touched

    def make(self, missing: list[Piece]) -> Iterator[str]:
        """A text that tells what it was made from."""
        self.made = list(missing)
        yield from (f"{name} from {self.holds[kind, name]}" for kind, name in missing)

    def run(self) -> dict[Piece, Any]:
        """All pieces."""
        cache = Cache(self.folder)
        found = dict(pages.make_pieces(cache, PIECES))
        cache.sweep()
        return found


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """A build with an empty cache."""
    return Build(tmp_path / "pages", monkeypatch)


def test_what_nothing_has_changed_for_is_not_made_again(build: Build) -> None:
    """The second build makes nothing and gives the same."""
    first = build.run()
    assert build.made == PIECES
    assert build.run() == first
    assert build.made == []


def test_what_has_changed_is_made_again_and_the_old_is_dropped(build: Build) -> None:
    """One piece, and the folder does not grow."""
    build.run()
    build.holds[PIECES[1]] = "2"
    assert build.run()[PIECES[1]] == "a.b from 2"
    assert build.made == [PIECES[1]]
    assert len(list(build.folder.iterdir())) == len(PIECES)


def test_a_piece_whose_files_changed_while_it_was_made_is_not_kept(build: Build) -> None:
    """It is not known from which of the two it was made."""
    build.touched.add(PIECES[2])
    build.run()
    build.touched.clear()
    build.run()
    assert build.made == [PIECES[2]]


def test_the_folder_may_be_deleted_and_a_file_in_it_broken(build: Build) -> None:
    """What is missing or unreadable is made again."""
    first = build.run()
    broken, gone, *_ = sorted(build.folder.iterdir())
    broken.write_text('{"half', encoding="utf-8")
    gone.unlink()
    assert build.run() == first
    assert len(build.made) == 2


def test_a_folder_that_cannot_be_written_does_no_harm(build: Build) -> None:
    """The pieces are made each time."""
    build.folder.write_text("a file", encoding="utf-8")
    first = build.run()
    assert build.run() == first
    assert build.made == PIECES

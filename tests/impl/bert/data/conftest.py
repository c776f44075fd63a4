"""A corpus of documents whose ids say where they stand."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from impl.bert.data import Corpus

SPECIAL = {"cls": 2, "sep": 3}
MASK, V = 4, 10_007


def made(sizes: list[int], seed: int = 5) -> list[list[list[int]]]:
    """Documents of so many sentences, each of 1 to 7 ids; no id occurs twice."""
    draw, fresh = Random(seed), iter(range(11, V))
    return [[[next(fresh) for _ in range(draw.randint(1, 7))] for _ in range(size)] for size in sizes]


@pytest.fixture
def documents() -> list[list[list[int]]]:
    """Some long, some of one sentence."""
    return made([13, 1, 5, 2, 29, 3, 1, 17, 7])


@pytest.fixture
def corpus(documents: list[list[list[int]]], tmp_path: Path) -> Corpus:
    """In several chunks."""
    return Corpus.write(tmp_path / "corpus", documents, chunk=67)

"""A small text, and the settings of a tiny run on it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from examples.pretrain_bert.settings import Settings

TEXT = "the a river bank bird sings under over old green tree stone walks slowly and then sleeps"
WORDS = TEXT.split()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eleven files of sentences."""
    made, draw = tmp_path_factory.mktemp("text"), Random(7)
    for number in range(11):
        lines = [f"{' '.join(draw.choices(WORDS, k=draw.randint(3, 9))).capitalize()}." for _ in range(23)]
        (made / f"{number:02}.txt").write_text(" ".join(lines), encoding="utf-8")
    return made


@pytest.fixture(scope="session")
def tables(folder: Path) -> dict[str, Any]:
    """As they stand in a TOML file."""
    return {
        "text": {"source": str(folder), "held_out": 5, "chunk": 503},
        "vocabulary": {"size": 67},
        "model": {
            "d_model": 6,
            "layers": 2,
            "heads": 2,
            "d_ff": 7,
            "dropout": 0.0,
            "attention_dropout": 0.0,
            "std": 0.1,
        },
        "data": {"max_length": 23, "selection": "exact_count"},
        "training": {
            "steps": 7,
            "batch": 4,
            "rate": 0.01,
            "warmup": 2,
            "every": 2,
            "evaluated": 2,
            "threads": 1,
        },
    }


@pytest.fixture(scope="session")
def settings(tables: dict[str, Any]) -> Settings:
    """Of a tiny run."""
    return Settings.of(tables)


def toml(tables: dict[str, Any]) -> str:
    """The text of such a file."""

    def value(x: Any) -> str:
        return repr(x).lower() if isinstance(x, bool) else f'"{x}"' if isinstance(x, str) else repr(x)

    return "\n".join(
        f"[{table}]\n" + "".join(f"{name} = {value(x)}\n" for name, x in values.items())
        for table, values in tables.items()
    )

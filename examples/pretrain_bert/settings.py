"""What a run is: a TOML file, table by table."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from impl.bert import BertConfig
from impl.bert.data import PairLaw
from impl.masking.words import Selection

__all__ = ["SMALL", "Data", "Settings", "Text", "Training", "Vocabulary"]

SMALL = Path(__file__).with_name("small.toml")
"""The configuration that is shipped."""


@dataclass(frozen=True)
class Text:
    """What is read: Python's standard library or a folder; every ``held_out``-th file is for measuring."""

    source: str = "stdlib"
    kinds: list[str] = field(default_factory=lambda: ["docstrings", "source"])
    held_out: int = 20
    chunk: int = 2**18


@dataclass(frozen=True)
class Vocabulary:
    """Of pieces, which are learned from the text."""

    size: int = 2048


@dataclass(frozen=True)
class Data:
    """How rows are drawn: the choices of ``impl.bert.data``. ``copies`` 0 draws anew each time; ``all_masked`` has every
    selected word become [MASK], none a random word, and none stay.
    """

    max_length: int = 128
    task: Literal["next", "order", "none"] = "next"
    negatives: Literal["not_next", "other_document", "any"] = "not_next"
    filled: bool = True
    short: float = 0.1
    whole_words: bool = False
    selection: Selection = "bernoulli"
    all_masked: bool = False
    copies: int = 0
    workers: int = 0

    @property
    def law(self) -> PairLaw:
        """Of the pairs."""
        return PairLaw(self.max_length, self.task, self.negatives, self.filled, self.short)


@dataclass(frozen=True)
class Training:
    """AdamW, a rate that rises for ``warmup`` steps and falls to 0 at the last one, gradients no longer than ``clip``."""

    seed: int = 0
    steps: int = 1000
    batch: int = 32
    """Rows of a step, of all processes together."""
    rate: float = 1e-3
    warmup: int = 100
    decay: float = 0.01
    clip: float = 1.0
    every: int = 100
    evaluated: int = 16
    sharding: Literal["ddp", "fsdp2"] = "ddp"
    threads: int = 2


@dataclass(frozen=True)
class Settings:
    """All of it. ``model`` holds fields of ``BertConfig``, but for those that the text and the data decide."""

    text: Text = field(default_factory=Text)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    model: dict[str, Any] = field(default_factory=dict)
    data: Data = field(default_factory=Data)
    training: Training = field(default_factory=Training)

    @classmethod
    def read(cls, path: Path) -> Settings:
        """From a TOML file. ValueError, in one line, for what is not known there."""
        try:
            return cls.of(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValueError, TypeError) as error:
            raise ValueError(f"{path}: {str(error).splitlines()[0]}") from error

    @classmethod
    def of(cls, tables: dict[str, Any]) -> Settings:
        """From the tables of such a file."""
        known = {"text": Text, "vocabulary": Vocabulary, "data": Data, "training": Training}
        if strange := tables.keys() - known.keys() - {"model"}:
            raise ValueError(f"no table {', '.join(sorted(strange))} is known")
        made = {name: _made(kind, tables.get(name, {}), name) for name, kind in known.items()}
        found = cls(**made, model=tables.get("model", {}))
        found.check()
        return found

    def check(self) -> None:
        """ValueError for what no run can be of."""
        found = self.config(self.vocabulary.size)
        if found.max_length < self.data.max_length:
            raise ValueError(
                f"expected max_length {self.data.max_length} of the model or more; got {found.max_length}"
            )
        assert self.data.law
        s = self.training
        for name in ("steps", "batch", "every", "evaluated", "threads"):
            if getattr(s, name) < 1:
                raise ValueError(f"expected {name} >= 1; got {getattr(s, name)}")
        if s.sharding not in ("ddp", "fsdp2"):
            raise ValueError(f"expected sharding to be ddp or fsdp2; got {s.sharding!r}")
        if self.text.held_out < 2:
            raise ValueError(f"expected held_out >= 2; got {self.text.held_out}")
        if strange := set(self.text.kinds) - {"docstrings", "source"}:
            raise ValueError(f"expected kinds of docstrings and source; got {', '.join(sorted(strange))}")

    def config(self, vocabulary: int) -> BertConfig:
        """The model's."""
        return BertConfig(**{"max_length": self.data.max_length, **self.model, "vocabulary": vocabulary})

    def state(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def _made(kind: type[Any], table: dict[str, Any], name: str) -> Any:
    if strange := table.keys() - {each.name for each in fields(kind)}:
        raise ValueError(f"[{name}] knows no {', '.join(sorted(strange))}")
    return kind(**table)

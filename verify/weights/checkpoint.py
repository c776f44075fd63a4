"""What a checkpoint holds: weights by the letters of what states its model, and how a kind of models has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from verify.properties.judge import Reals

Shaping = Callable[[Reals, int], Reals]


class Step(NamedTuple):
    """One layer of a model as a statement: its formula and inputs, which lines are asked for, and which entry of them it is."""

    formula_id: str
    inputs: dict[str, Any]
    outputs: Sequence[str] = ()
    entry: int | EllipsisType = ...


@dataclass(frozen=True)
class Family:
    """Models of one kind. ``tables`` are what stands outside the layers, ``layer`` what each is made of: a letter's tensor, and
    how it becomes the letter. ``sizes`` are the settings that say how many heads and layers there are, how wide they are, and how
    wide the network inside; ``stated`` those that change what is computed, with the values with which it is what is stated.
    """

    kind: str
    stated_by: str
    prefix: str
    tables: Mapping[str, str]
    rows: Mapping[str, str]
    """The setting that says how many rows a table has."""
    within: str
    layer: Mapping[str, tuple[str, Shaping]]
    sizes: tuple[str, str, str, str]
    eps: tuple[str, float]
    activation: tuple[str, str]
    stated: Mapping[str, Any]
    conventions: Mapping[str, str]
    step: Callable[[Checkpoint, dict[str, Any], Reals, int], Step]
    whole: Callable[[Checkpoint, dict[str, Any]], dict[str, Any]]
    layers: Sequence[str]
    """The lines that hold what stands before the first layer and after each: of two, the second is instead of the last."""
    reads: Sequence[str]
    """What a text is given as."""


@dataclass(frozen=True)
class Checkpoint:
    """A model's weights by letter, in float64, and its configuration.

    ``embedding`` are those outside the layers, ``layers`` those of a layer with one axis more in front, the layer.
    """

    family: Family
    folder: Path
    settings: Mapping[str, Any]
    embedding: Mapping[str, Reals]
    layers: Mapping[str, Reals]
    eps: float
    conventions: Mapping[str, str]

    def round_to(self, dtype: str) -> Checkpoint:
        """The checkpoint as a model holds it that was loaded in this type: statements are asked at these weights."""
        if dtype == "float64":
            return self
        parts = (
            {name: round_values(value, dtype) for name, value in part.items()}
            for part in (self.embedding, self.layers)
        )
        embedding, layers = parts
        return replace(self, embedding=embedding, layers=layers)

    def layer(self, number: int) -> dict[str, Reals]:
        """The letters of one layer, counted from 0."""
        return {name: value[number] for name, value in self.layers.items()}

    @property
    def depth(self) -> int:
        """How many layers there are."""
        return len(next(iter(self.layers.values())))


def round_values(values: Reals, dtype: str) -> Reals:
    """The values as a type holds them."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(values)).to(getattr(torch, dtype)).double().numpy()

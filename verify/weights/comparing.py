"""An implementation beside the statement at the same weights: the error of every layer, in what is allowed or expected of it.

In float64 the measure is the rigorous bound, in the other types the spread of careful arithmetic (sigma). The statement is asked
for each text alone; implementations get all texts as one padded batch, so that padding is held to its theorem as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spec.language.evaluation.evaluate import bound
from spec.language.evaluation.noise import expected
from spec.language.evaluation.precision import Precision
from spec.language.flatten import Flat
from spec.language.registry import find
from verify.accuracy.grades import Grade
from verify.properties.values import Reals
from verify.weights.reading import Checkpoint
from verify.weights.subjects import Subject, layers_of

MOST = 8.0
"""Sigma that careful arithmetic stays below, whatever the layer: the largest error over all entries of a real model's layers is
2.5 to 5 of them."""
SAMPLES = 12
"""Random evaluations that sigma is estimated from, over thousands of entries."""


@dataclass(frozen=True)
class Sentence:
    """A text, or two, as ids; no padding."""

    text: str
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    segments: tuple[int, ...]

    def inputs(self) -> dict[str, Any]:
        """The letters of what is read: ids, segments and positions."""
        return {"ids": np.array(self.ids), "seg": np.array(self.segments), "pos": np.arange(len(self.ids))}


@dataclass(frozen=True)
class Expected:
    """What the statement says of a sentence: all layers (L+1 n d_model), and how far from it an implementation may be."""

    value: Reals
    tolerance: Reals


@dataclass
class Compared:
    """What a subject made of all sentences in one type: the largest error of each layer, in the measure of that type.

    ``seen`` are its layers for each sentence, for what explains a difference.
    """

    subject: str
    dtype: str
    ratios: list[float]
    seen: list[Reals] = field(repr=False)
    cause: str = ""

    @property
    def most(self) -> float:
        """Beyond this a layer differs."""
        return most(self.dtype)

    @property
    def first(self) -> int | None:
        """The first layer that differs; 0 is the embedding, None: none does."""
        return next((layer for layer, ratio in enumerate(self.ratios) if not ratio <= self.most), None)


def most(dtype: str) -> float:
    """Up to how much of its measure an error may be: once the bound, or :data:`MOST` sigma."""
    return 1.0 if dtype == "float64" else MOST


def flat_of(formula_id: str, checkpoint: Checkpoint, outputs: Sequence[str] = ()) -> Flat:
    """A statement under the checkpoint's conventions, asked for some of its lines."""
    formula = find(formula_id)
    known = {convention.name for convention in formula.conventions}
    flat = formula.flat({name: option for name, option in checkpoint.conventions.items() if name in known})
    if not outputs:
        return flat
    tensors = {line.name: line.left.args[0] for line in flat.lines}
    return replace(flat, outputs=tuple(tensors[name] for name in outputs))


def rows_in_use(ids: Reals, table: Reals) -> tuple[Reals, Reals]:
    """The same words in a vocabulary of those that occur: the statement looks at no other row."""
    rows, renamed = np.unique(ids, return_inverse=True)
    return renamed, table[rows]


def asked(checkpoint: Checkpoint, sentence: Sentence) -> dict[str, Any]:
    """The inputs of ``bert.encoder`` by letter."""
    inputs = {**sentence.inputs(), **checkpoint.embedding, **checkpoint.layers, "eps": checkpoint.eps}
    inputs["ids"], inputs["E"] = rows_in_use(inputs["ids"], inputs["E"])
    return inputs


def expectation(checkpoint: Checkpoint, sentence: Sentence, dtype: str, seed: int = 0) -> Expected:
    """What ``bert.encoder`` says of a sentence, with the bound in float64 and sigma in another type."""
    flat, inputs = flat_of("bert.encoder", checkpoint, ("H",)), asked(checkpoint.rounded(dtype), sentence)
    if dtype == "float64":
        ((value, tolerance),) = bound(flat, inputs, dtype=dtype)
    else:
        ((value, tolerance),) = expected(flat, inputs, Precision.of(dtype), SAMPLES, seed)
    return Expected(value, tolerance)


def compare(
    subject: Subject,
    checkpoint: Checkpoint,
    sentences: Sequence[Sentence],
    wanted: Sequence[Expected],
    dtype: str,
) -> Compared:
    """One subject in one type beside what is expected of each sentence."""
    import torch

    run = subject.build(checkpoint.folder, getattr(torch, dtype))
    longest, many = max(len(one.ids) for one in sentences), len(sentences)
    padding = int(checkpoint.settings.get("pad_token_id") or 0)
    ids = torch.full((many, longest), padding)
    segments, mask = torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
    for row, one in enumerate(sentences):
        n = len(one.ids)
        ids[row, :n], segments[row, :n] = torch.tensor(one.ids), torch.tensor(one.segments)
        mask[row, :n] = True
    with torch.no_grad():
        found = run(ids, segments, mask)
    found = layers_of(found, (checkpoint.depth + 1, many, longest, wanted[0].value.shape[-1]), subject.name)
    seen = [found[:, row, : len(one.ids)].double().numpy() for row, one in enumerate(sentences)]
    ratios = [0.0] * (checkpoint.depth + 1)
    for got, want in zip(seen, wanted, strict=True):
        for layer in range(checkpoint.depth + 1):
            ratio = _ratio(got[layer], want.value[layer], want.tolerance[layer], dtype)
            ratios[layer] = max(ratios[layer], ratio)
    return Compared(subject.name, dtype, ratios, seen)


def _ratio(got: Reals, value: Reals, tolerance: Reals, dtype: str) -> float:
    if not np.isfinite(got).all():
        return float("inf")
    if dtype == "float64":
        error = np.abs(got - value)
        return float(np.max(np.divide(error, tolerance, out=np.zeros_like(error), where=error != 0)))
    grade = Grade(dtype)
    grade.see("", got, value, tolerance, np.ones(value.shape, dtype=bool))
    return grade.sigma


Progress = Callable[[str], None]
"""Told what is being done."""

"""An implementation beside the statement at the same weights: the error of every layer, in what is allowed or expected of it.

In float64 each layer is asked at what the implementation itself handed to it, and the measure is the rigorous bound: that of a
whole model, worst case upon worst case, grows beyond all numbers within a few layers. In the other types layers are asked from
the ids on, and the measure is the spread of careful arithmetic (sigma). The statement is asked for each text alone; of
implementations, all texts are asked in one padded batch, so that padding is held to its theorem as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from spec.language.evaluation.evaluate import bound
from spec.language.evaluation.expected import estimate_errors
from spec.language.evaluation.precision import Precision
from spec.language.flatten import Flat
from spec.language.registry import find
from verify.accuracy.grade import Grade
from verify.faults import Unusable, complaint
from verify.properties.judge import Reals
from verify.weights.checkpoint import Checkpoint, Step
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
    """What the statement says of a sentence: all layers (L+1 n d_model), and sigma of each entry."""

    value: Reals
    sigma: Reals


@dataclass
class Comparison:
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


def restrict_vocabulary(inputs: dict[str, Any]) -> dict[str, Any]:
    """Reduce the vocabulary of the inputs to the words that occur, since no other row of the table is read."""
    if "ids" not in inputs:
        return inputs
    rows, renamed = np.unique(inputs["ids"], return_inverse=True)
    return {**inputs, "ids": renamed, "E": inputs["E"][rows]}


def read_by(checkpoint: Checkpoint, sentence: Sentence) -> dict[str, Any]:
    """What a model of the checkpoint's kind reads of a text."""
    return {name: value for name, value in sentence.inputs().items() if name in checkpoint.family.reads}


def expectation(checkpoint: Checkpoint, sentence: Sentence, dtype: str, seed: int = 0) -> Expected:
    """What the statement of the model says of a sentence at the weights as a type holds them, with the sigma of that type."""
    family, held = checkpoint.family, checkpoint.round_to(dtype)
    inputs = restrict_vocabulary(family.whole(held, read_by(checkpoint, sentence)))
    flat = flat_of(family.stated_by, checkpoint, family.layers)
    (value, sigma), *last = estimate_errors(flat, inputs, Precision.of(dtype), SAMPLES, seed)
    for found in last:
        value[-1], sigma[-1] = found
    return Expected(value, sigma)


def step(checkpoint: Checkpoint, sentence: Sentence, seen: Reals, layer: int) -> Step:
    """The statement of one layer, 0 being the embedding, at what an implementation handed to it (L+1 n d_model)."""
    return checkpoint.family.step(checkpoint, read_by(checkpoint, sentence), seen, layer)


def compare(
    subject: Subject,
    checkpoint: Checkpoint,
    sentences: Sequence[Sentence],
    wanted: Sequence[Expected],
    dtype: str,
) -> Comparison:
    """One subject in one type beside the statement, in float64 or beside what is ``wanted`` of each sentence in another type."""
    seen = _run(subject, checkpoint, sentences, dtype)
    ratios = [0.0] * (checkpoint.depth + 1)
    for place, (sentence, got) in enumerate(zip(sentences, seen, strict=True)):
        for layer in range(checkpoint.depth + 1):
            if not np.isfinite(got[layer]).all():
                ratio = float("inf")
            elif dtype == "float64":
                ratio = beside_bound(checkpoint, step(checkpoint, sentence, got, layer), got[layer])
            else:
                want = wanted[place]
                ratio = _in_sigma(got[layer], want.value[layer], want.sigma[layer], dtype)
            ratios[layer] = max(ratios[layer], ratio)
            if ratio == float("inf"):
                break  # what follows was made of what is not finite
    return Comparison(subject.name, dtype, ratios, seen)


def _run(subject: Subject, checkpoint: Checkpoint, sentences: Sequence[Sentence], dtype: str) -> list[Reals]:
    """What a subject makes of one batch of all sentences, the shorter ones padded: for each its layers, without the padding."""
    import torch

    run = subject.build(checkpoint.folder, getattr(torch, dtype))
    longest, many = max(len(one.ids) for one in sentences), len(sentences)
    ids = torch.full((many, longest), int(checkpoint.settings.get("pad_token_id") or 0))
    segments, mask = torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
    for row, one in enumerate(sentences):
        n = len(one.ids)
        ids[row, :n], segments[row, :n], mask[row, :n] = (
            torch.tensor(one.ids),
            torch.tensor(one.segments),
            True,
        )
    try:
        with torch.no_grad():
            found = run(ids, segments if "seg" in checkpoint.family.reads else None, mask)
    except (Exception, SystemExit) as error:  # a user's code
        raise Unusable(f"{subject.name}: called with a batch it raised {complaint(error)}") from None
    width = checkpoint.embedding["E"].shape[-1]
    found = layers_of(found, (checkpoint.depth + 1, many, longest, width), subject.name)
    return [found[:, row, : len(one.ids)].double().numpy() for row, one in enumerate(sentences)]


def beside_bound(checkpoint: Checkpoint, asked: Step, got: Reals) -> float:
    """The largest error of a layer beside the bound of its statement in float64."""
    flat = flat_of(asked.formula_id, checkpoint, asked.outputs)
    ((value, tolerance),) = bound(flat, restrict_vocabulary(asked.inputs), dtype="float64")
    value, tolerance = value[asked.entry], tolerance[asked.entry]
    error = np.abs(got - value)
    return float(np.max(np.divide(error, tolerance, out=np.zeros_like(error), where=error != 0)))


def _in_sigma(got: Reals, value: Reals, sigma: Reals, dtype: str) -> float:
    grade = Grade(dtype)
    grade.see("", got, value, sigma, np.ones(value.shape, dtype=bool))
    return grade.sigma

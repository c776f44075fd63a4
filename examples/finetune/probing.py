"""Features without fine-tuning: six ways to combine the layers, each read by a linear probe that tags words.

Devlin et al. 2019, section 5.3, table 7, has the same comparison for names in news.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor

from examples.finetune.baselines import fit
from examples.finetune.tasks import TASKS, Example
from impl.bert import BertEncoder
from impl.bert.features import Features, features
from impl.bert.tokenizer import WordPiece, values_of_words

__all__ = ["Probe", "Settings", "probes"]


@dataclass(frozen=True)
class Settings:
    """Every seed draws other sentences: ``training`` to learn from, and ``measured`` with words that training never saw."""

    seeds: int = 5
    training: int = 64
    measured: int = 256


@dataclass(frozen=True)
class Probe:
    """A combination, its width, and the share of words that its probe tags rightly, seed by seed."""

    combination: str
    width: int
    accuracies: list[float]

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return mean(self.accuracies)

    @property
    def spread(self) -> float:
        """From the worst seed to the best."""
        return max(self.accuracies) - min(self.accuracies)


def probes(folder: Path, settings: Settings, say: Callable[[], object] = lambda: None) -> list[Probe]:
    """All six, on the same sentences; ``say`` is called for each seed."""
    encoder, pieces, task = (
        BertEncoder.from_pretrained(folder),
        WordPiece.from_pretrained(folder),
        TASKS["token"],
    )
    found: dict[str, list[float]] = {name: [] for name in Features._fields}
    widths = dict.fromkeys(found, 0)
    for seed in range(settings.seeds):
        training, measured = (
            task.examples(count, seed, held_out=held_out)
            for count, held_out in ((settings.training, False), (settings.measured, True))
        )
        x, asked = (states(encoder, pieces, each) for each in (training, measured))
        labels, expected = (
            torch.tensor([label for each in some for label in each.labels]) for some in (training, measured)
        )
        for name, mine, theirs in zip(Features._fields, features(x), features(asked), strict=True):
            # As wide as one another: the probe's penalty then weighs alike on all.
            mu, sigma = mine.mean(0), mine.std(0)
            W, b = fit((mine - mu) / sigma, labels, len(task.labels))
            right = (((theirs - mu) / sigma) @ W + b).argmax(-1) == expected
            found[name].append(round(right.double().mean().item(), 4))
            widths[name] = mine.shape[-1]
        say()
    return [Probe(name, widths[name], accuracies) for name, accuracies in found.items()]


def states(encoder: BertEncoder, pieces: WordPiece, examples: list[Example]) -> Tensor:
    """What embeddings and layers say of every word, at its first piece (L+1 words d)."""
    found = []
    for first in range(0, len(examples), 64):
        some = examples[first : first + 64]
        batch = pieces.batch([each.text for each in some])
        with torch.no_grad():
            layers = encoder(*batch.inputs, all_layers=True).layers
        for row, (encoding, each) in enumerate(zip(batch.encodings, some, strict=True)):
            places = values_of_words(range(len(encoding.ids)), encoding, len(each.text))
            found.append(layers[:, row, places])
    return torch.cat(found, 1)

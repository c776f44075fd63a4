"""BERT's heads on pre-trained weights: a model for each task, trained on its examples and measured on others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Generator, Tensor, nn

from examples.finetune.tasks import Example, Task
from impl.bert import (
    BertEncoder,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from impl.bert.heads import best_span
from impl.bert.tokenizer import Batch, Encoding, WordPiece, labels_of_pieces

__all__ = ["Settings", "Tuned", "tune"]

IGNORED = -100


@dataclass(frozen=True)
class Settings:
    """Of the training of every head."""

    seed: int = 0
    training: int = 512
    """Examples to learn from, and to measure on."""
    measured: int = 256
    epochs: int = 5
    batch: int = 16
    rate: float = 3e-4
    layers: int = 2
    """The uppermost layers learn; those below, and the tables, stay as they are."""


class Tuned:
    """An encoder with the head of a task."""

    def __init__(self, task: Task, folder: Path, settings: Settings) -> None:
        self.task, self.settings = task, settings
        self.pieces = WordPiece.from_pretrained(folder)
        self.generator = Generator().manual_seed(settings.seed)
        encoder = BertEncoder.from_pretrained(
            folder, pooler=True if task.name in ("sequence", "pair") else None
        )
        encoder.requires_grad_(False)
        for layer in encoder.layers[len(encoder.layers) - settings.layers :]:
            layer.requires_grad_(True)
        if encoder.pooler is not None:
            encoder.pooler.requires_grad_(True)
        self.model = self._model(encoder)

    def train(self, examples: Sequence[Example], say: Callable[[], object] = lambda: None) -> None:
        """AdamW, its rate falling to 0; ``say`` is called at each step."""
        s = self.settings
        torch.manual_seed(s.seed)  # dropout
        learned = [p for p in self.model.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(learned, lr=s.rate)
        steps = s.epochs * -(-len(examples) // s.batch)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
        self.model.train()
        for _ in range(s.epochs):
            for rows in torch.randperm(len(examples), generator=self.generator).split(s.batch):
                batch, labels = self.read([examples[row] for row in rows.tolist()])
                optimizer.zero_grad()
                self.model(*batch.inputs, **labels).backward()
                nn.utils.clip_grad_norm_(learned, 1.0)
                optimizer.step()
                schedule.step()
                say()
        self.model.eval()

    def accuracy(self, examples: Sequence[Example]) -> float:
        """The share that is right: of texts, of words, of answers that are right in both ends."""
        right, count = 0, 0
        with torch.no_grad():
            for first in range(0, len(examples), 64):
                found = self.right(examples[first : first + 64])
                right, count = right + int(found.sum()), count + len(found)
        return right / count

    def right(self, examples: Sequence[Example]) -> Tensor:
        """Whether each text, word or answer is."""
        batch, labels = self.read(examples)
        said = self.model(*batch.inputs)
        if self.task.name == "span":
            # An answer stands in the second text, whose last token is [SEP].
            of_text = batch.segments.bool()
            of_text &= of_text.roll(-1, -1)
            start, end = best_span(said.start, said.end, of_text)
            return (start == labels["starts"]) & (end == labels["ends"])
        found = said.argmax(-1) == labels["labels"]
        return found[labels["labels"] != IGNORED]

    def read(self, examples: Sequence[Example]) -> tuple[Batch, dict[str, Tensor]]:
        """A batch, and its labels by the names that the model gives them."""
        seconds = [each.second for each in examples if each.second is not None]
        batch = self.pieces.batch([each.text for each in examples], seconds or None)
        pairs = list(zip(batch.encodings, examples, strict=True))
        if self.task.name == "span":
            ends = [
                [_piece(encoding, word, last) for last, word in enumerate(each.labels)]
                for encoding, each in pairs
            ]
            starts, stops = torch.tensor(ends).unbind(-1)
            return batch, {"starts": starts, "ends": stops}
        if self.task.name == "token":
            rows = [torch.tensor(labels_of_pieces(each.labels, encoding)) for encoding, each in pairs]
            padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=IGNORED)
            return batch, {"labels": padded}
        return batch, {"labels": torch.tensor([each.labels[0] for each in examples])}

    def _model(self, encoder: BertEncoder) -> nn.Module:
        if self.task.name == "span":
            return BertForQuestionAnswering(encoder, generator=self.generator)
        kind = BertForTokenClassification if self.task.name == "token" else BertForSequenceClassification
        return kind(encoder, len(self.task.labels), generator=self.generator)


def _piece(encoding: Encoding, word: int, last: int) -> int:
    """Where a word of the second text begins among the pieces, or ends."""
    found = [
        place
        for place, (of, segment) in enumerate(zip(encoding.words, encoding.segments, strict=True))
        if of == word and segment == 1
    ]
    return found[-1 if last else 0]


def tune(task: Task, folder: Path, settings: Settings, say: Callable[[], object] = lambda: None) -> float:
    """Train a head, and measure it on examples whose words it never saw."""
    tuned = Tuned(task, folder, settings)
    tuned.train(task.examples(settings.training, settings.seed, held_out=False), say)
    return tuned.accuracy(task.examples(settings.measured, settings.seed, held_out=True))

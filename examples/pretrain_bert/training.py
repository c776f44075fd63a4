"""A run of pre-training: in one process or several, it can stop at any step and go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_state_dict,
)

from examples import checkpoints
from examples.pretrain_bert.processes import Processes
from examples.pretrain_bert.settings import Settings
from examples.pretrain_bert.text import Prepared
from impl._labels import IGNORED
from impl.bert import BertEncoder, BertForMaskedLM, BertForPreTraining
from impl.bert.data import Batch, Batches, Collator, Corpus, Corruption, PairStream

__all__ = ["Point", "Quality", "Run"]

WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)
"""A checkpoint holds whole tensors, however many processes share them: others may go on from it."""


@dataclass(frozen=True)
class Quality:
    """On held-out text: the mean loss of a hidden word and the share that was guessed rightly, and the same of the second task
    (0 where there is none).
    """

    words: float
    words_right: float
    sentences: float
    sentences_right: float


@dataclass(frozen=True)
class Point:
    """After some steps: the loss of hidden words and of the second task in the last step's batch, and the quality there."""

    step: int
    words: float
    sentences: float
    quality: Quality


class AllMasked(Corruption):
    """The same words are selected, and every one of them becomes [MASK]: 100/0/0 where BERT has 80/10/10."""

    def __call__(self, ids: Tensor, special: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """(corrupted, labels)."""
        _, labels = super().__call__(ids, special, generator)
        return torch.where(labels == IGNORED, ids, self.mask_id), labels


class Run:
    """A model in training, with all that its next step depends on: what a checkpoint holds."""

    def __init__(self, settings: Settings, text: Prepared, processes: Processes) -> None:
        self.settings, self.text, self.processes = settings, text, processes
        s = settings.training
        self.second = settings.data.task != "none"
        self.module = self._built().to(processes.device)
        self.model = processes.spread(self.module, self.module.encoder.layers, s.sharding)
        self.optimizer = torch.optim.AdamW(_groups(self.model, s.decay), lr=s.rate)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda done: min((done + 1) / max(s.warmup, 1), (s.steps - done) / max(s.steps - s.warmup, 1)),
        )
        self.batches = self.stream(text.training, epochs=None, copies=settings.data.copies or None)
        self.step, self.seconds, self.processor = 0, 0.0, 0.0
        self.losses: list[float] = []
        self.curve: list[Point] = []

    def advance(self, batch: Batch) -> list[float]:
        """One step of training: the mean loss of each task, over the batches of all processes."""
        # Dropout, where there is any: each step and process has draws of its own, whatever was drawn before.
        torch.manual_seed((self.settings.training.seed << 40) + (self.processes.rank << 32) + self.step)
        self.model.train()
        losses = self._losses(batch)
        mine = torch.tensor([float((batch.labels != IGNORED).sum()), len(batch.ids)][: len(losses)])
        mine = mine.to(losses)
        whole = self.processes.total(mine)
        # Every process has its own mean; their mean, weighted so, is that of all rows together.
        weighted = losses * mine / whole
        self.optimizer.zero_grad()
        (weighted.sum() * self.processes.ranks).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.training.clip)
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        found: list[float] = self.processes.total(weighted.detach()).tolist()
        self.losses.append(found[0])
        return found

    def train(self, path: Path | None = None, say: Callable[[Run], object] = lambda _: None) -> None:
        """Go on to the last step, with a point of the curve and a checkpoint every so many steps; ``say`` is told each step."""
        s = self.settings.training
        begun, used = time.perf_counter() - self.seconds, time.process_time() - self.processor
        if self.step >= s.steps:
            return
        for batch in self.batches:
            losses = self.advance(batch)
            last = self.step == s.steps
            if self.step % s.every == 0 or last:
                words, sentences = (round(loss, 4) for loss in (*losses, 0.0)[:2])
                self.curve.append(Point(self.step, words, sentences, self.quality()))
                self.seconds, self.processor = time.perf_counter() - begun, time.process_time() - used
                if path is not None:
                    self.save(path)
            say(self)
            if last:
                break

    def quality(self) -> Quality:
        """On some rows of held-out text, the same every time."""
        self.model.eval()
        # Sums: of losses, of what is right, of how many there are; for words and for sentences.
        sums = torch.zeros(2, 3, dtype=torch.float64)
        with torch.no_grad():
            for batch in self.held_out():
                hidden = batch.labels != IGNORED
                found = self._call(batch, at=hidden.to(self.processes.device))
                words, sentences = found if self.second else (found, None)
                sums[0] += _sums(words, batch.labels[hidden])
                if sentences is not None:
                    sums[1] += _sums(sentences, batch.follows)
        sums = self.processes.total(sums.to(self.processes.device)).cpu()
        (words, right, count), (sentence, sentence_right, rows) = sums.tolist()
        rows = max(rows, 1.0)
        return Quality(words / count, right / count, sentence / rows, sentence_right / rows)

    def unigram(self) -> tuple[float, float]:
        """The entropy of a word of the text, and the mean loss on hidden held-out words of who says its shares wherever it is
        asked; a word counts once more than it occurs, so that none is impossible.
        """
        counts = self.text.training.counts(len(self.text.pieces)).double()
        shares = counts / counts.sum()
        entropy = -(shares * shares.clamp(min=1e-300).log()).sum().item()
        smooth = ((counts + 1) / (counts + 1).sum()).log()
        labels = torch.cat([batch.labels[batch.labels != IGNORED] for batch in self.held_out(shared=False)])
        return entropy, -smooth[labels].mean().item()

    def save(self, path: Path) -> None:
        """A checkpoint: every process gives its part, the first one writes it."""
        state = self.state()
        if self.processes.rank == 0:
            checkpoints.save(state, path)
        self.processes.wait()

    def state(self) -> dict[str, Any]:
        """All of it, as tensors and plain values."""
        model, optimizer = get_state_dict(self.model, self.optimizer, options=WHOLE)
        return {
            "settings": self.settings.state(),
            "step": self.step,
            "seconds": self.seconds,
            "processor": self.processor,
            "losses": self.losses,
            "curve": [asdict(point) for point in self.curve],
            "model": model,
            "optimizer": optimizer,
            "schedule": self.schedule.state_dict(),
            "batches": self.batches.state_dict(),
        }

    def load(self, path: Path) -> None:
        """Take up the run that left a checkpoint, as it was then. ValueError if the settings are others, but for what changes
        no weight on paper (workers, threads, and how parameters are shared), or if the file is no checkpoint of such a run.
        """
        with checkpoints.taken_up(path) as state:
            if (was := _essence(state["settings"])) != _essence(self.settings.state()):
                raise ValueError(f"{path} belongs to other settings: {was}")
            set_state_dict(
                self.model,
                self.optimizer,
                model_state_dict=state["model"],
                optim_state_dict=state["optimizer"],
                options=WHOLE,
            )
            self.schedule.load_state_dict(state["schedule"])
            self.batches.load_state_dict(state["batches"])
            self.step, self.seconds, self.processor = state["step"], state["seconds"], state["processor"]
            self.losses = state["losses"]
            self.curve = [Point(**{**each, "quality": Quality(**each["quality"])}) for each in state["curve"]]

    def export(self, folder: Path) -> None:
        """Model and vocabulary as a folder that ``from_pretrained`` and transformers read; the first process writes it."""
        state = get_model_state_dict(self.model, options=WHOLE)
        if self.processes.rank == 0:
            whole = self._built()
            whole.load_state_dict(state)
            whole.save_pretrained(folder)
            self.text.pieces.save_pretrained(folder)
        self.processes.wait()

    def _built(self) -> BertForPreTraining | BertForMaskedLM:
        generator = Generator().manual_seed(self.settings.training.seed)
        config = self.settings.config(len(self.text.pieces))
        encoder = BertEncoder(config, pooler=self.second, generator=generator)
        return (BertForPreTraining if self.second else BertForMaskedLM)(encoder, generator=generator)

    def _losses(self, batch: Batch) -> Tensor:
        """The mean loss of each task, over this process's rows."""
        device = self.processes.device
        labels = {"labels": batch.labels.to(device)}
        if self.second:
            labels["next_labels"] = batch.follows.to(device)
        found = self._call(batch, **labels)
        return torch.stack(list(found) if self.second else [found])

    def _call(self, batch: Batch, **given: Tensor) -> Any:
        device = self.processes.device
        segments = batch.segments.to(device) if self.module.config.segments == 2 else None
        return self.model(batch.ids.to(device), segments, batch.mask.to(device), **given)

    def stream(self, corpus: Corpus, *, shared: bool = True, **given: Any) -> Batches:
        """Batches of a corpus, as the settings have them; ``given`` is what else ``PairStream`` is told."""
        d, s, pieces = self.settings.data, self.settings.training, self.text.pieces
        words = self.text.continues if d.whole_words else None
        kind = AllMasked if d.all_masked else Corruption
        corruption = kind(pieces.mask_id, len(pieces), d.selection, words)
        if shared:
            given |= {"rank": self.processes.rank, "ranks": self.processes.ranks}
        special = {"cls": pieces.cls_id, "sep": pieces.sep_id}
        stream = PairStream(corpus, d.law, corruption, **special, batch=s.batch, seed=s.seed, **given)
        pin = self.processes.device.type == "cuda"
        return Batches(stream, Collator(pieces.padding_id), d.workers, pin_memory=pin)

    def held_out(self, *, shared: bool = True) -> Iterator[Batch]:
        """Always the same batches; ``shared`` among the processes."""
        batches = self.stream(self.text.held_out, shared=shared, epochs=None, copies=1)
        for _, batch in zip(range(self.settings.training.evaluated), batches, strict=False):
            yield batch


def _groups(model: nn.Module, decay: float) -> list[dict[str, Any]]:
    """Matrices decay; biases and what scales a norm do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def _sums(logits: Tensor, labels: Tensor) -> Tensor:
    """Of losses, of what is right, and how many there are."""
    logits = logits.double().cpu()
    loss = nn.functional.cross_entropy(logits, labels, reduction="sum")
    return torch.stack([loss, (logits.argmax(-1) == labels).sum(), torch.tensor(len(labels))])


def _essence(settings: dict[str, Any]) -> dict[str, Any]:
    left_out = {"data": {"workers"}, "training": {"threads", "sharding"}}
    return {
        table: {name: value for name, value in values.items() if name not in left_out.get(table, ())}
        for table, values in settings.items()
    }

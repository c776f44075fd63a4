"""A run of training: everything that its next step depends on can be saved, and taken up again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Generator, Tensor

from examples import checkpoints
from impl.gpt import GPT, GPTConfig


class Task(Protocol):
    """What a model learns."""

    @property
    def vocabulary(self) -> int:
        """Of how many tokens."""

    def draw(self, batch: int, generator: Generator) -> Tensor:
        """Rows to learn from (batch n)."""

    def measure(self, model: GPT) -> float:
        """What the curve shows."""


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides its task, the versions of Python and torch, and the machine."""

    seed: int = 0
    steps: int = 2500
    batch: int = 8
    vocabulary: int = 2048
    context: int = 128
    width: int = 128
    layers: int = 4
    heads: int = 4
    positions: Literal["learned", "sinusoidal", "none"] = "learned"
    rate: float = 3e-3
    """The largest: it is risen to in a straight line, and falls with a cosine to 0 at the last step."""
    warmup: int = 50
    decay: float = 0.1
    every: int = 50
    """Steps from one checkpoint, and one point of the curve, to the next."""

    @property
    def config(self) -> GPTConfig:
        """The model's. It has no dropout: hardly anything is read twice. Its first weights are larger than GPT-2's, as its width
        is smaller.
        """
        return GPTConfig(
            vocabulary=self.vocabulary,
            d_model=self.width,
            layers=self.layers,
            heads=self.heads,
            max_length=self.context,
            positions=self.positions,
            dropout=0.0,
            embedding_dropout=0.0,
            attention_dropout=0.0,
            std=self.width**-0.5,
        )

    def rate_at(self, step: int) -> float:
        """The rate of a step, counted from 1."""
        if step <= self.warmup:
            return self.rate * step / self.warmup
        done = (step - self.warmup) / max(1, self.steps - self.warmup)
        return self.rate * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True)
class Point:
    """After some steps: the loss of a batch, and what the task measures."""

    step: int
    loss: float
    measured: float


class Run:
    """A model in training, with all that its next step depends on: what a checkpoint holds."""

    def __init__(self, settings: Settings, task: Task) -> None:
        self.settings, self.task = settings, task
        self.model = GPT(settings.config, generator=Generator().manual_seed(2 * settings.seed))
        self.batches = Generator().manual_seed(2 * settings.seed + 1)
        matrices = [x for x in self.model.parameters() if x.dim() > 1]
        others = [x for x in self.model.parameters() if x.dim() == 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": settings.decay}, {"params": others, "weight_decay": 0.0}],
            lr=settings.rate,
            betas=(0.9, 0.95),
        )
        self.step, self.seconds, self.processor = 0, 0.0, 0.0
        self.curve: list[Point] = []

    def advance(self) -> float:
        """One step of training: its loss."""
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate_at(self.step)
        loss = self.model.loss(self.task.draw(self.settings.batch, self.batches))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def train(
        self, path: Path | None = None, say: Callable[[int, Point | None], object] = lambda *_: None
    ) -> None:
        """Go on to the last step, with a point of the curve and a checkpoint every so many steps; ``say`` is told each step."""
        begun, used = time.perf_counter() - self.seconds, time.process_time() - self.processor
        while self.step < self.settings.steps:
            loss = self.advance()
            if self.step % self.settings.every == 0 or self.step == self.settings.steps:
                measured = self.task.measure(self.model)
                self.curve.append(Point(self.step, round(loss, 4), round(measured, 4)))
                self.seconds, self.processor = time.perf_counter() - begun, time.process_time() - used
                if path is not None:
                    checkpoints.save(self.state(), path)
            say(self.step, self.curve[-1] if self.curve else None)

    def state(self) -> dict[str, Any]:
        """All of it, as tensors and plain values."""
        return {
            "settings": asdict(self.settings),
            "step": self.step,
            "seconds": self.seconds,
            "processor": self.processor,
            "curve": [asdict(point) for point in self.curve],
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "batches": self.batches.get_state(),
        }

    @classmethod
    def resumed(cls, settings: Settings, task: Task, path: Path) -> Run:
        """The run that left a checkpoint, as it was then; a new one where there is none. ValueError if the settings are others,
        or if the file is no checkpoint of such a run.
        """
        run = cls(settings, task)
        if not path.exists():
            return run
        with checkpoints.taken_up(path) as state:
            if (was := Settings(**state["settings"])) != settings:
                raise ValueError(f"{path} belongs to {was}; expected {settings}")
            run.step, run.seconds, run.processor = state["step"], state["seconds"], state["processor"]
            run.curve = [Point(**point) for point in state["curve"]]
            run.model.load_state_dict(state["model"])
            run.optimizer.load_state_dict(state["optimizer"])
            run.batches.set_state(state["batches"])
        return run

"""A run of training: everything that its next step depends on can be saved, and taken up again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from examples import checkpoints
from examples.translate.measuring import exact
from examples.translate.numerals import (
    LONGEST,
    VOCABULARY,
    held_out,
    measured_numbers,
    pairs,
    training_numbers,
)
from impl.objectives import cross_entropy, warmup
from impl.transformer import Transformer, TransformerConfig

HOLDING, PARAMETERS, TRAINING, PROBE, MEASURED, DROPPING = range(6)
"""What is drawn, each from a generator of its own."""


State = dict[str, Tensor]
"""A model's parameters by name."""


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides the versions of Python and torch and the machine."""

    seed: int = 0
    steps: int = 1200
    batch: int = 64
    """Numbers in a step; each is a pair in either direction."""
    width: int = 64
    hidden: int = 128
    heads: int = 4
    layers: int = 2
    dropout: float = 0.0
    """None: every batch is new, so that nothing can be learned by heart."""
    smoothing: float = 0.1
    warmup: int = 400
    probe: int = 100
    """Held-out numbers that the curve is measured on, and how many the trained model is, each in both directions."""
    measured: int = 1000
    searched: int = 150
    """As many of these are searched with beams of all widths."""
    every: int = 50
    """Steps from one checkpoint, and one point of the curve, to the next."""
    averaged: int = 5
    """Checkpoints whose mean is the trained model."""
    early: int = 200
    """The step whose weights are kept, to compare beams where the model is still unsure."""

    @property
    def config(self) -> TransformerConfig:
        """The model's."""
        V = len(VOCABULARY)
        return TransformerConfig(
            V,
            V,
            d_model=self.width,
            heads=self.heads,
            d_ff=self.hidden,
            encoder_layers=self.layers,
            decoder_layers=self.layers,
            dropout=self.dropout,
            tied="all",
            max_length=LONGEST + 1,
        )


@dataclass(frozen=True)
class Point:
    """After some steps: the loss there, and the shares of probe numbers written rightly in each direction."""

    step: int
    loss: float
    to_digits: float
    to_words: float


class Run:
    """A model in training, with all that its next step depends on: what a checkpoint holds."""

    def __init__(self, settings: Settings, device: torch.device | str = "cpu") -> None:
        self.settings, self.device = settings, torch.device(device)
        self.held = held_out(generator(settings, HOLDING))
        self.model = Transformer(settings.config, generator=generator(settings, PARAMETERS)).to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer,
            lambda done: warmup(torch.tensor(done + 1.0), settings.width, settings.warmup).item(),
        )
        self.numbers = generator(settings, TRAINING)
        self.probe = pairs(measured_numbers(settings.probe, self.held, generator(settings, PROBE))).to(
            self.device
        )
        self.dropping = generator(settings, DROPPING, self.device).get_state()
        self.step, self.seconds, self.processor = 0, 0.0, 0.0
        self.curve: list[Point] = []
        self.early: State = {}
        self.recent: list[State] = []

    def advance(self) -> float:
        """One step of training: its loss."""
        s = self.settings
        batch = pairs(training_numbers(s.batch, self.held, self.numbers)).to(self.device)
        self.model.train()
        with _drawing_from(self):
            logits = self.model(batch.source, batch.previous, batch.source_mask)
        # Flat: the mean is over all words of the batch, and not first over those of each number.
        loss = cross_entropy(logits.flatten(0, 1), batch.target.flatten(), s.smoothing)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        return loss.item()

    def train(
        self, path: Path | None = None, say: Callable[[int, Point | None], object] = lambda *_: None
    ) -> None:
        """Go on to the last step, with a point of the curve and a checkpoint every so many steps; ``say`` is told each step."""
        begun, used = time.perf_counter() - self.seconds, time.process_time() - self.processor
        while self.step < self.settings.steps:
            loss = self.advance()
            last = self.step == self.settings.steps
            if self.step == self.settings.early:
                self.early = _kept(self.model)
            if self.step % self.settings.every == 0 or last:
                self.recent = [*self.recent, _kept(self.model)][-self.settings.averaged :]
                right = exact(self.model, self.probe)
                self.curve.append(Point(self.step, round(loss, 4), *right))
                self.seconds, self.processor = time.perf_counter() - begun, time.process_time() - used
                if path is not None:
                    checkpoints.save(self.state(), path)
            say(self.step, self.curve[-1] if self.curve else None)

    def trained(self) -> Transformer:
        """The model as it is used: the mean of its last checkpoints' weights, as in Vaswani et al. 2017, section 6.1. At a rate
        that is still high, each of them is off in another direction.
        """
        model = deepcopy(self.model)
        model.load_state_dict(
            {name: _mean([state[name] for state in self.recent]) for name in self.recent[0]}
        )
        return model.eval()

    def state(self) -> dict[str, Any]:
        """All of it, as tensors and plain values."""
        return {
            "settings": asdict(self.settings),
            "step": self.step,
            "seconds": self.seconds,
            "processor": self.processor,
            "curve": [asdict(point) for point in self.curve],
            "early": self.early,
            "recent": self.recent,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "numbers": self.numbers.get_state(),
            "dropping": self.dropping,
        }

    @classmethod
    def resumed(cls, settings: Settings, path: Path, device: torch.device | str = "cpu") -> Run:
        """The run that left a checkpoint, as it was then; a new one where there is none. ValueError if the settings are others,
        but for the number of steps, which may have grown, or if the file is no checkpoint of such a run.
        """
        run = cls(settings, device)
        if not path.exists():
            return run
        with checkpoints.taken_up(path) as state:
            was = Settings(**state["settings"])
            if replace(was, steps=settings.steps) != settings or state["step"] > settings.steps:
                raise ValueError(
                    f"{path} belongs to {was} and has {state['step']} steps; expected {settings}"
                )
            run.step, run.seconds, run.processor = state["step"], state["seconds"], state["processor"]
            run.curve = [Point(**point) for point in state["curve"]]
            run.early, run.recent = state["early"], state["recent"]
            run.model.load_state_dict(state["model"])
            run.optimizer.load_state_dict(state["optimizer"])
            run.schedule.load_state_dict(state["schedule"])
            run.numbers.set_state(state["numbers"])
            run.dropping = state["dropping"]
        if run.step < settings.steps and run.step % settings.every:
            # The end of a shorter run, at which a longer one has no checkpoint and no point of its curve.
            run.curve, run.recent = run.curve[:-1], run.recent[:-1]
        return run


def _kept(model: Transformer) -> State:
    """Its parameters as they are now."""
    return {name: x.to("cpu", copy=True) for name, x in model.state_dict().items()}


def _mean(tensors: list[Tensor]) -> Tensor:
    return torch.stack(tensors).mean(0)


def generator(settings: Settings, use: int, device: torch.device | str = "cpu") -> Generator:
    """One for each use, so that no two share their draws."""
    return Generator(device).manual_seed(6 * settings.seed + use)


@contextmanager
def _drawing_from(run: Run) -> Iterator[None]:
    """Dropout draws from torch's own generator of the device: it goes on from where this run's draws were, and is put back."""
    cuda = run.device.type == "cuda"
    with torch.random.fork_rng([run.device] if cuda else []):
        if cuda:
            torch.cuda.set_rng_state(run.dropping, run.device)
        else:
            torch.set_rng_state(run.dropping)
        yield
        run.dropping = torch.cuda.get_rng_state(run.device) if cuda else torch.get_rng_state()

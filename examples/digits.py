"""Handwritten digits read by a Vision Transformer, beside logistic regression on their pixels and the nearest neighbour.

    python -m examples.digits

trains a small ``impl.vision.ViT`` on the 1,797 images of 8 × 8 pixels that come with scikit-learn, a third of them held out:
once on the images as they are, once on images that are moved by up to a pixel each time they are shown. Printed: how many
held-out digits each of them, and the two older methods, get right; and what happens where the patches that the class token
looks at most are blanked, and where as many others are. ``--out`` gets checkpoint, record and figure; a
checkpoint that is there is gone on from.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from torch import Generator, Tensor

from examples import checkpoints, recording
from impl.vision import ViT, ViTConfig

SPLITTING, PARAMETERS, TRAINING, BLANKING = range(4)
"""What is drawn, each from a generator of its own."""
SIDE, PATCH, DIGITS = 8, 2, 10
NAMES = {
    "vit": "Vision Transformer",
    "vit_moved": "Vision Transformer, images moved",
    "logistic": "logistic regression on pixels",
    "neighbour": "nearest neighbour",
}


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides the versions of Python, torch and scikit-learn."""

    seed: int = 0
    epochs: int = 60
    batch: int = 64
    rate: float = 2e-3
    decay: float = 0.05
    width: int = 48
    std: float = 0.1
    """Of first weights: about 1/√width."""
    hidden: int = 96
    layers: int = 4
    heads: int = 4
    held_out: int = 599
    """A third of the images."""
    blanked: int = 4
    """Of the 16 patches, so many are blanked at most."""

    @property
    def config(self) -> ViTConfig:
        """The model's."""
        return ViTConfig(
            image=SIDE,
            patch=PATCH,
            channels=1,
            d_model=self.width,
            layers=self.layers,
            heads=self.heads,
            d_ff=self.hidden,
            classes=DIGITS,
            std=self.std,
        )


@dataclass(frozen=True)
class Images:
    """Images (n 1 8 8), from 0 to 1, and which digits they are (n)."""

    pixels: Tensor
    digits: Tensor


@dataclass(frozen=True)
class Point:
    """After an epoch: the mean loss in it, and the share of held-out digits that are right, of each of the two models."""

    epoch: int
    losses: list[float]
    right: list[float]


@dataclass(frozen=True)
class Look:
    """A held-out image, what it is, what was read, and the weight that the class token gives to each patch in the last layer, on
    the average of its heads.
    """

    digit: int
    read: int
    pixels: list[list[float]]
    weights: list[list[float]]


@dataclass(frozen=True)
class Result:
    """What a run found. ``right`` are shares of held-out digits by the names of ``NAMES``; ``blanked`` those of the Vision
    Transformer that saw moved images, where 0, 1, … patches are blanked: those looked at most, at random, those looked at least.
    ``inked`` is the share of the class token's attention that goes to patches with ink, layer by layer, and ``ink`` the share of
    patches that have any.
    """

    settings: Settings
    parameters: int
    trained_on: int
    right: dict[str, float]
    curve: list[Point]
    blanked: dict[str, list[float]]
    inked: list[float]
    ink: float
    looks: list[Look]
    seconds: float
    processor: float


def generator(settings: Settings, what: int) -> Generator:
    """The source of what is drawn for one purpose."""
    return Generator().manual_seed(settings.seed * 101 + what)


def all_images() -> Images:
    """The digits of scikit-learn. ValueError, in one line, where it is not installed."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ValueError(
            "the images come with scikit-learn, which is not installed: pip install 'attnspec[examples]'"
        ) from None
    found = load_digits()
    pixels = torch.tensor(found.images, dtype=torch.float32).unsqueeze(1) / 16
    return Images(pixels, torch.tensor(found.target, dtype=torch.int64))


def split(images: Images, settings: Settings) -> tuple[Images, Images]:
    """Those to train on, and those held out, which nothing was chosen by."""
    order = torch.randperm(len(images.digits), generator=generator(settings, SPLITTING))
    held, rest = order[: settings.held_out], order[settings.held_out :]
    return Images(images.pixels[rest], images.digits[rest]), Images(images.pixels[held], images.digits[held])


def move(pixels: Tensor, source: Generator) -> Tensor:
    """Each image moved by −1, 0 or 1 pixel down and across; what comes in at the edge is blank."""
    padded = F.pad(pixels, (1, 1, 1, 1))
    down, across = torch.randint(3, (2, len(pixels), 1), generator=source)
    rows, columns = down + torch.arange(SIDE), across + torch.arange(SIDE)
    numbers = torch.arange(len(pixels))[:, None, None]
    return padded[numbers, 0, rows[:, :, None], columns[:, None, :]].unsqueeze(1)


class Learner:
    """A model in training, on images as they are or moved."""

    def __init__(self, settings: Settings, moved: bool, steps: int) -> None:
        self.settings, self.moved = settings, moved
        self.model = ViT(settings.config, generator=generator(settings, PARAMETERS))
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=settings.rate, weight_decay=settings.decay
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, settings.rate, total_steps=steps, pct_start=0.1, cycle_momentum=False
        )
        self.source = generator(settings, TRAINING)

    def epoch(self, images: Images) -> float:
        """Every image once, in a new order: the mean loss."""
        self.model.train()
        losses = []
        for rows in torch.randperm(len(images.digits), generator=self.source).split(self.settings.batch):
            pixels = images.pixels[rows]
            loss = F.cross_entropy(
                self.model(move(pixels, self.source) if self.moved else pixels), images.digits[rows]
            )
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            losses.append(loss.item())
        self.model.eval()
        return sum(losses) / len(losses)

    def state(self) -> dict[str, Any]:
        """All that the next epoch depends on."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "source": self.source.get_state(),
        }

    def take_up(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.source.set_state(state["source"])


class Run:
    """Both models in training: what a checkpoint holds."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.training, self.held = split(all_images(), settings)
        steps = settings.epochs * -(-len(self.training.digits) // settings.batch)
        self.learners = [Learner(settings, moved, steps) for moved in (False, True)]
        self.curve: list[Point] = []
        self.seconds, self.processor = 0.0, 0.0

    def train(self, path: Path | None = None, say: Callable[[Point], object] = lambda point: None) -> None:
        """Go on to the last epoch, with a checkpoint after each; ``say`` is told each."""
        begun, used = time.perf_counter() - self.seconds, time.process_time() - self.processor
        for epoch in range(len(self.curve) + 1, self.settings.epochs + 1):
            losses = [round(learner.epoch(self.training), 4) for learner in self.learners]
            right = [share(learner.model, self.held) for learner in self.learners]
            self.curve.append(Point(epoch, losses, right))
            self.seconds, self.processor = time.perf_counter() - begun, time.process_time() - used
            if path is not None:
                checkpoints.save(self.state(), path)
            say(self.curve[-1])

    def state(self) -> dict[str, Any]:
        """All of it, as tensors and plain values."""
        return {
            "settings": asdict(self.settings),
            "curve": [asdict(point) for point in self.curve],
            "learners": [learner.state() for learner in self.learners],
            "seconds": self.seconds,
            "processor": self.processor,
        }

    @classmethod
    def resumed(cls, settings: Settings, path: Path) -> Run:
        """The run that left a checkpoint, as it was then; a new one where there is none. ValueError if the settings are others,
        or if the file is no checkpoint of such a run.
        """
        run = cls(settings)
        if not path.exists():
            return run
        with checkpoints.taken_up(path) as state:
            if (was := Settings(**state["settings"])) != settings:
                raise ValueError(f"{path} belongs to {was}; expected {settings}")
            run.curve = [Point(**point) for point in state["curve"]]
            run.seconds, run.processor = state["seconds"], state["processor"]
            for learner, own in zip(run.learners, state["learners"], strict=True):
                learner.take_up(own)
                learner.model.eval()
        return run


@torch.no_grad()
def share(model: ViT, images: Images) -> float:
    """The share of digits that are right."""
    return (model(images.pixels).argmax(-1) == images.digits).double().mean().item()


def older_methods(training: Images, held: Images) -> dict[str, float]:
    """The shares that logistic regression and the nearest neighbour get right, as scikit-learn has them."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    methods = {"logistic": LogisticRegression(max_iter=5000), "neighbour": KNeighborsClassifier(1)}
    rows, asked = (images.pixels.flatten(1).double().numpy() for images in (training, held))
    return {
        name: float(method.fit(rows, training.digits.numpy()).score(asked, held.digits.numpy()))
        for name, method in methods.items()
    }


def looks(model: ViT, pixels: Tensor) -> Tensor:
    """The weights (L n 16) that the class token gives to each patch, on the average of the heads, without its own share."""
    with torch.no_grad():
        weights = model.attention(pixels).mean(-3)[..., 0, 1:]
    return weights / weights.sum(-1, keepdim=True)


def blank(pixels: Tensor, patches: Tensor) -> Tensor:
    """Images without these patches (n k)."""
    keep = torch.ones(len(pixels), (SIDE // PATCH) ** 2).scatter(1, patches, 0.0)
    grid = keep.view(-1, 1, SIDE // PATCH, SIDE // PATCH)
    return pixels * grid.repeat_interleave(PATCH, -1).repeat_interleave(PATCH, -2)


def blanked_shares(model: ViT, held: Images, settings: Settings) -> dict[str, list[float]]:
    """What is right where 0, 1, … patches are blanked: by what the last layer looks at, and at random."""
    weights = looks(model, held.pixels)[-1]
    orders = {
        "most": weights.argsort(descending=True),
        "random": torch.rand(weights.shape, generator=generator(settings, BLANKING)).argsort(),
        "least": weights.argsort(),
    }
    return {
        name: [
            share(model, Images(blank(held.pixels, order[:, :k]), held.digits))
            for k in range(settings.blanked + 1)
        ]
        for name, order in orders.items()
    }


def examples_of(model: ViT, held: Images) -> list[Look]:
    """The first held-out image of each digit."""
    found = []
    for digit in range(DIGITS):
        pixels = held.pixels[(held.digits == digit).nonzero()[:1, 0]]
        weights = looks(model, pixels)[-1].view(SIDE // PATCH, SIDE // PATCH)
        with torch.no_grad():
            read = int(model(pixels).argmax())
        rounded = [[round(x, 4) for x in row] for row in weights.tolist()]
        found.append(Look(digit, read, pixels[0, 0].tolist(), rounded))
    return found


def measure(run: Run) -> Result:
    """What a trained run is worth on the images that were held out."""
    plain, moved = (learner.model for learner in run.learners)
    inked = F.max_pool2d(run.held.pixels, PATCH).flatten(1) > 0
    return Result(
        run.settings,
        parameters=sum(x.numel() for x in plain.parameters()),
        trained_on=len(run.training.digits),
        right={
            "vit": share(plain, run.held),
            "vit_moved": share(moved, run.held),
            **older_methods(run.training, run.held),
        },
        curve=run.curve,
        blanked=blanked_shares(moved, run.held, run.settings),
        inked=[(each * inked).sum(-1).mean().item() for each in looks(moved, run.held.pixels)],
        ink=inked.double().mean().item(),
        looks=examples_of(moved, run.held),
        seconds=round(run.seconds, 1),
        processor=round(run.processor, 1),
    )


def summary(result: Result) -> str:
    """What was found, as printed."""
    s = result.settings
    lines = [
        f"{result.trained_on} images to train on, {s.held_out} held out. Right of these:",
        "",
        *(f"  {NAMES[name]:34} {right:7.1%}" for name, right in result.right.items()),
        "",
        "The Vision Transformer that saw moved images, where patches are blanked (of 16):",
        "",
        f"{'':24}" + "".join(f"{k:8}" for k in range(s.blanked + 1)),
    ]
    said = {"most": "those looked at most", "random": "at random", "least": "those looked at least"}
    for name, shares in result.blanked.items():
        lines.append(f"  {said[name]:22}" + "".join(f"{each:8.1%}" for each in shares))
    layers = ", ".join(f"{each:.0%}" for each in result.inked)
    return "\n".join(
        [
            *lines,
            "",
            f"{result.ink:.0%} of the patches have ink; of the class token's attention to patches they get {layers}, layer by "
            "layer.",
            f"{result.parameters:,} parameters, {s.epochs} epochs; training both took {result.seconds:.0f} s "
            f"({result.processor:.0f} s of processor time).",
        ]
    )


def record(result: Result, path: Path) -> None:
    """Write a result, with what it was measured with, as JSON."""
    recording.write(asdict(result), path)


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    found["settings"] = Settings(**found["settings"])
    found["curve"] = [Point(**each) for each in found["curve"]]
    found["looks"] = [Look(**each) for each in found["looks"]]
    return Result(**found), made


def train(run: Run, checkpoint: Path) -> None:
    """Go on to the end, with a bar."""
    bar = Progress(
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task("", total=run.settings.epochs, completed=len(run.curve))

        def say(point: Point) -> None:
            right = ", ".join(f"{each:.1%}" for each in point.right)
            bar.update(task, completed=point.epoch, description=f"right: {right}")

        run.train(checkpoint, say)


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = print) -> None:
    """The command."""
    usual = Settings()
    parser = argparse.ArgumentParser(
        prog="python -m examples.digits", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of split, parameters, order (%(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=usual.epochs, help="of training (%(default)s)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="gets checkpoint, record and figure; a checkpoint that is there is gone on from (build/digits/seed-SEED)",
    )
    given = parser.parse_args(arguments)
    if given.epochs < 1:
        parser.error(f"expected epochs >= 1; got {given.epochs}")
    torch.set_num_threads(1)  # the matrices are small: two threads would wait for each other
    try:
        folder = recording.folder(given.out or Path("build", "digits", f"seed-{given.seed}"))
        settings = replace(usual, seed=given.seed, epochs=given.epochs)
        run = Run.resumed(settings, folder / "checkpoint.pt")
    except ValueError as error:
        parser.error(str(error))
    if run.curve:
        say(f"going on from epoch {len(run.curve)} of {folder / 'checkpoint.pt'}")
    train(run, folder / "checkpoint.pt")
    result = measure(run)
    say(summary(result))
    record(result, folder / "record.json")
    from examples.digits_drawing import draw  # only at the end is Matplotlib needed

    draw(result, folder / "digits.png")
    say(f"\n{folder / 'digits.png'}\n{folder / 'record.json'}")


if __name__ == "__main__":
    main()

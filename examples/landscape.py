"""The loss around a trained network, with its residual connections and without them, at one scale.

    python -m examples.landscape --draw landscape.svg

trains two deep networks that differ in nothing but their residual connections to tell two spirals apart, from the same weights,
on the same batches. Then two random directions are drawn for each, every filter's part of them made as long as the filter
(``impl.scaling.draw_direction``), and the loss is measured on a grid of steps along both. Printed: how many points of the grid
are minima, lower than all eight neighbours.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Generator, Tensor, nn

from examples import recording
from impl.scaling import draw_direction

NAMES = {True: "with residual connections", False: "without"}
LEVELS = tuple(math.log(2) * 2 ** (step / 2) for step in range(-6, 7))
"""Losses at which lines are drawn, of both networks: guessing costs ln 2, each line is √2 times the one before."""


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides the versions of Python and torch."""

    seed: int = 0
    blocks: int = 10
    width: int = 24
    points: int = 1000
    steps: int = 1000
    batch: int = 128
    rate: float = 3e-3
    grid: int = 41
    reach: float = 0.5
    """Steps to either side, in lengths of the filters."""


@dataclass(frozen=True)
class Surface:
    """The loss around one network. ``loss[row][column]`` is at so many steps along the second and the first direction.

    ``trained`` is the loss at the middle, ``held_out`` the share of new points told apart, ``minima`` how many inner points of
    the grid are lower than all eight neighbours.
    """

    residual: bool
    trained: float
    held_out: float
    minima: int
    loss: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Result:
    """What a run found: the surface with residual connections, then the one without."""

    settings: Settings
    parameters: int
    surfaces: tuple[Surface, ...]
    processor: float = field(compare=False)  # seconds of it


class Network(nn.Module):
    """A deep network of blocks: y = max(0, [x +] N(W₂ max(0, N(W₁ x)))), with N a layer normalization that learns nothing."""

    def __init__(self, settings: Settings, residual: bool) -> None:
        super().__init__()
        self.residual, width = residual, settings.width
        self.first, self.last = nn.Linear(2, width), nn.Linear(width, 2)
        self.inner = nn.ModuleList(nn.Linear(width, width) for _ in range(2 * settings.blocks))
        generator = Generator().manual_seed(settings.seed)
        for weight in self.parameters():
            if weight.ndim > 1:
                nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=generator)
            else:
                nn.init.zeros_(weight)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n 2) of points (n 2)."""
        x = F.relu(normalised(self.first(x)))
        for one, two in zip(self.inner[::2], self.inner[1::2], strict=True):
            y = normalised(two(F.relu(normalised(one(x)))))
            x = F.relu(x + y if self.residual else y)
        logits: Tensor = self.last(x)
        return logits


def normalised(x: Tensor) -> Tensor:
    """Rows at mean 0 and variance 1."""
    return F.layer_norm(x, x.shape[-1:])


def spirals(n: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Points (n 2) on two spirals that wind around each other a turn and a quarter, a little blurred; on which each is (n)."""
    out = torch.rand(n, generator=generator).sqrt()
    which = torch.randint(2, (n,), generator=generator)
    turn = math.pi * (2.5 * out + which)
    points = torch.stack([out * turn.cos(), out * turn.sin()], -1)
    return 2 * (points + 0.03 * torch.randn(n, 2, generator=generator)), which


def train(settings: Settings, residual: bool) -> tuple[Network, Tensor, Tensor, Generator]:
    """A trained network, the points that it was trained on, and the generator that drew them."""
    generator = Generator().manual_seed(settings.seed)
    x, which = spirals(settings.points, generator)
    network = Network(settings, residual)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.rate, settings.steps)
    for _ in range(settings.steps):
        rows = torch.randint(settings.points, (settings.batch,), generator=generator)
        optimizer.zero_grad()
        F.cross_entropy(network(x[rows]), which[rows]).backward()
        optimizer.step()
        schedule.step()
    return network, x, which, generator


@torch.no_grad()
def survey(network: Network, x: Tensor, which: Tensor, settings: Settings) -> Tensor:
    """The loss at every point of the grid, (grid grid): rows along the second direction, columns along the first."""
    generator = Generator().manual_seed(settings.seed + 1)
    weights = dict(network.named_parameters())
    first, second = draw_direction(network, generator), draw_direction(network, generator)
    ticks = torch.linspace(-settings.reach, settings.reach, settings.grid)
    found = torch.empty(settings.grid, settings.grid)
    for row, t in enumerate(ticks):
        for column, s in enumerate(ticks):
            moved = {name: w + s * first[name] + t * second[name] for name, w in weights.items()}
            found[row, column] = F.cross_entropy(torch.func.functional_call(network, moved, x), which)
    return found


def count_minima(loss: Tensor) -> int:
    """How many inner points of a grid are lower than all their eight neighbours."""
    around = [loss[i : i + len(loss) - 2, j : j + loss.shape[1] - 2] for i in range(3) for j in range(3)]
    centre = around.pop(4)
    return int((centre < torch.stack(around).amin(0)).sum())


def run(settings: Settings, say: Callable[[str], object] = lambda line: None) -> Result:
    """Train both networks, and survey the loss around each. ``say`` is told how it goes."""
    start, surfaces = time.process_time(), list[Surface]()
    for residual, name in NAMES.items():
        network, x, which, generator = train(settings, residual)
        new, truth = spirals(settings.points, generator)
        with torch.no_grad():
            trained = F.cross_entropy(network(x), which).item()
            right = (network(new).argmax(-1) == truth).double().mean().item()
        say(f"{name}: trained to a loss of {trained:.4f}; {right:.1%} of new points are told apart")
        loss = survey(network, x, which, settings)
        rows = tuple(tuple(float(f"{value:.4g}") for value in row) for row in loss.tolist())
        surfaces.append(Surface(residual, trained, right, count_minima(loss), rows))
    count = sum(weight.numel() for weight in network.parameters())
    return Result(settings, count, tuple(surfaces), time.process_time() - start)


def paint(axes: Axes, surface: Surface, reach: float, line: str = "C0", mark: str = "C3") -> None:
    """Lines of equal loss around a network, the same losses for both, and where the network is."""
    ticks = torch.linspace(-reach, reach, len(surface.loss)).tolist()
    axes.contour(ticks, ticks, surface.loss, levels=LEVELS, colors=[line], linewidths=0.7)
    axes.contour(ticks, ticks, surface.loss, levels=[math.log(2)], colors=[mark], linewidths=1.4)
    axes.plot([0], [0], "o", color=mark, markersize=3)
    axes.set(
        title=NAMES[surface.residual], aspect="equal", xlabel="first direction", ylabel="second direction"
    )
    axes.grid(False)


def draw(result: Result, path: Path) -> None:
    """Both surfaces as one picture; the name's ending says of which kind (svg, png, pdf)."""
    figure = Figure(figsize=(9, 4.7), layout="constrained")
    for axes, surface in zip(figure.subplots(1, 2), result.surfaces, strict=True):
        paint(axes, surface, result.settings.reach)
    figure.savefig(path)


def summary(result: Result) -> str:
    """What was found, as printed."""
    s = result.settings
    lines = [
        f"Two networks of {2 * s.blocks + 2} layers, {result.parameters} parameters each.",
        "",
        f"{'':26} {'loss':>8} {'new points':>12} {'minima':>8}",
        f"{'':26} {'trained':>8} {'told apart':>12} {'on grid':>8}",
    ]
    lines += [
        f"{NAMES[each.residual]:26} {each.trained:8.4f} {each.held_out:12.1%} {each.minima:8}"
        for each in result.surfaces
    ]
    return "\n".join([*lines, "", f"{result.processor:.0f} seconds of processor time."])


def record(result: Result, path: Path) -> None:
    """Write a result, with what it was measured with, as JSON."""
    recording.write(asdict(result), path)


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    surfaces = tuple(
        Surface(**{**each, "loss": tuple(map(tuple, each["loss"]))}) for each in found["surfaces"]
    )
    return Result(**{**found, "settings": Settings(**found["settings"]), "surfaces": surfaces}), made


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.landscape", description=(__doc__ or "").split("\n\n")[0]
    )
    usual = Settings()
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of weights, points, directions (%(default)s)"
    )
    parser.add_argument("--steps", type=int, default=usual.steps, help="of training (%(default)s)")
    parser.add_argument(
        "--grid", type=int, default=usual.grid, help="points along each direction (%(default)s)"
    )
    recording.add_outputs(parser, "both surfaces")
    given = recording.parse(parser, arguments, steps=10, grid=3)
    torch.set_num_threads(1)  # the work is small: two threads would wait for each other
    settings = Settings(seed=given.seed, steps=given.steps, grid=given.grid)
    result = run(settings, lambda line: print(line, flush=True))
    print(f"\n{summary(result)}")
    if given.record:
        record(result, given.record)
    if given.draw:
        draw(result, given.draw)


if __name__ == "__main__":
    main()

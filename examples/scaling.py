"""A law of scale of our own: the same small GPT in seven sizes, on the same text.

    python -m examples.scaling --draw scaling.svg

trains GPTs of 2 layers and 8 to 64 wide on the bytes of Python's library, each on the same batches in the same order, and
measures each on files that were held out. A power law with an offset, and one without, are fitted to the losses
(``impl.scaling.fit``); the power of the paper stands beside theirs. Two runs of each size, from other weights and other batches,
show how far losses scatter.
"""

from __future__ import annotations

import argparse
import sysconfig
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Generator, Tensor

from examples import recording
from impl.gpt import GPT, GPTConfig
from impl.scaling import EACH, Fit, fit


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides the versions of Python, whose library is the text, and torch."""

    seed: int = 0
    seeds: int = 2
    """Runs of each size."""
    widths: tuple[int, ...] = (8, 12, 16, 24, 32, 48, 64)
    layers: int = 2
    heads: int = 4
    length: int = 64
    batch: int = 16
    steps: int = 1500
    rate: float = 0.03
    """Over the root of the width: the largest learning rate, reached after a tenth of the steps; then it falls to 0."""


@dataclass(frozen=True)
class Run:
    """One model: ``parameters`` without its tables, 12·L·d² by the rule, and its loss on held-out bytes, in nats a byte."""

    seed: int
    width: int
    parameters: int
    by_rule: int
    loss: float


@dataclass(frozen=True)
class Result:
    """What a run found: every model, and the two laws fitted to their losses."""

    settings: Settings
    trained_on: int
    held_out: int
    runs: tuple[Run, ...]
    offset: Fit
    plain: Fit
    processor: float = field(compare=False)  # seconds of it


def texts() -> tuple[Tensor, Tensor]:
    """The bytes of the modules at the top of Python's library, (n) each: of nine files in ten, and of every tenth."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    parts = [
        b"".join(file.read_bytes() for i, file in enumerate(files) if (i % 10 == 9) is held)
        for held in (False, True)
    ]
    first, second = (torch.frombuffer(bytearray(part), dtype=torch.uint8) for part in parts)
    return first, second


def rows(text: Tensor, count: int, length: int, generator: Generator) -> Tensor:
    """So many pieces of a text, each from a random place: (count length), int64."""
    places = torch.randint(len(text) - length + 1, (count, 1), generator=generator)
    return text[places + torch.arange(length)].long()


def train(settings: Settings, width: int, text: Tensor, measured: Tensor) -> Run:
    """Train a GPT of this width, and measure it on the same held-out rows as the others."""
    s = settings
    config = GPTConfig(
        256,
        width,
        s.layers,
        s.heads,
        max_length=s.length,
        dropout=0,
        embedding_dropout=0,
        attention_dropout=0,
    )
    model = GPT(config, generator=Generator().manual_seed(s.seed))
    optimizer = torch.optim.Adam(model.parameters(), lr=s.rate / width**0.5, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, s.rate / width**0.5, s.steps, pct_start=0.1, cycle_momentum=False
    )
    batches = Generator().manual_seed(s.seed)
    for _ in range(s.steps):
        optimizer.zero_grad()
        model.loss(rows(text, s.batch, s.length, batches)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        loss = torch.stack([model.loss(part) for part in measured.split(64)]).mean().item()
    tables = sum(table.numel() for table in (model.E, model.P) if table is not None)
    count = sum(weight.numel() for weight in model.parameters()) - tables
    return Run(s.seed, width, count, 12 * s.layers * width**2, loss)


def run(settings: Settings, say: Callable[[str], object] = lambda line: None) -> Result:
    """Train every size, and fit both laws. ``say`` is told how it goes."""
    start, (text, other) = time.process_time(), texts()
    measured = rows(other, 256, settings.length, Generator().manual_seed(settings.seed))
    runs = list[Run]()
    for seed in range(settings.seed, settings.seed + settings.seeds):
        for width in settings.widths:
            runs.append(train(replace(settings, seed=seed), width, text, measured))
            last = runs[-1]
            say(f"seed {seed}, {width:3} wide: {last.parameters:7,} parameters, {last.loss:.3f} nats a byte")
    N = torch.tensor([each.parameters for each in runs], dtype=torch.float64)
    losses = torch.tensor([each.loss for each in runs], dtype=torch.float64)
    return Result(
        settings,
        len(text),
        len(other),
        tuple(runs),
        fit(N, losses, seed=settings.seed),
        fit(N, losses, offset=False, seed=settings.seed),
        time.process_time() - start,
    )


def paint(axes: Axes, result: Result, colours: Sequence[str] = ("C0", "C1", "C2")) -> None:
    """Losses by size on logarithmic axes, both laws, and a line of the paper's slope through the mean of the losses."""
    N = torch.tensor([float(each.parameters) for each in result.runs])
    losses = torch.tensor([each.loss for each in result.runs])
    at = torch.logspace(N.min().log10().item(), N.max().log10().item(), 50)
    axes.plot(N, losses, "o", color=colours[0], label="a model")
    axes.plot(at, result.offset(at), color=colours[0], label=f"offset and power {result.offset.power:.2f}")
    axes.plot(at, result.plain(at), "--", color=colours[1], label=f"power {result.plain.power:.3f} alone")
    middle = (losses.log().mean() + EACH.alpha_N * (N.log().mean() - at.log())).exp()
    axes.plot(at, middle, ":", color=colours[2], label=f"the paper's slope, {EACH.alpha_N}")
    axes.set(xscale="log", yscale="log", xlabel="parameters, tables left out", ylabel="nats a byte")
    ticks = [round(x, 1) for x in torch.linspace(losses.min().item(), losses.max().item(), 4).tolist()]
    axes.set_yticks(ticks, [str(x) for x in ticks])
    axes.minorticks_off()
    axes.legend(loc="best", handlelength=1.6)


def draw(result: Result, path: Path) -> None:
    """The picture; the name's ending says of which kind (svg, png, pdf)."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    paint(figure.subplots(), result)
    figure.savefig(path)


def summary(result: Result) -> str:
    """What was found, as printed."""
    s, o, p = result.settings, result.offset, result.plain
    bytes_read = s.steps * s.batch * s.length
    lines = [
        f"{result.trained_on:,} bytes to learn from, {result.held_out:,} held out; each model read {bytes_read:,}.",
        "",
        f"{'wide':>6} {'parameters':>11} {'12·L·d²':>9}   nats a byte",
    ]
    for width in s.widths:
        own = [each for each in result.runs if each.width == width]
        losses = ", ".join(f"{each.loss:.3f}" for each in own)
        lines.append(f"{width:6} {own[0].parameters:11,} {own[0].by_rule:9,}   {losses}")
    lines += [
        "",
        "Fitted, with intervals of 95 % by the bootstrap:",
        f"  offset + (N_c/N)^power: power {o.power:.3f} ({interval(o.power_interval)}), "
        f"offset {o.offset:.2f} ({interval(o.offset_interval)})",
        f"  (N_c/N)^power alone:    power {p.power:.3f} ({interval(p.power_interval)})",
        f"  Kaplan et al., without offset, of 768 to 1.5 billion parameters: {EACH.alpha_N}",
        "",
        "Theirs is of words in pieces, of models trained until they had learned; ours of bytes, all trained alike and briefly.",
        f"{result.processor:.0f} seconds of processor time.",
    ]
    return "\n".join(lines)


def interval(ends: tuple[float, float]) -> str:
    """An interval, as printed."""
    return f"{ends[0]:.3f} to {ends[1]:.3f}"


def record(result: Result, path: Path) -> None:
    """Write a result, with what it was measured with, as JSON."""
    recording.write(asdict(result), path)


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    given = found.pop("settings")
    found["runs"] = tuple(Run(**each) for each in found["runs"])
    for name in ("offset", "plain"):
        found[name] = Fit(**{key: tuple(x) if isinstance(x, list) else x for key, x in found[name].items()})
    return Result(settings=Settings(**{**given, "widths": tuple(given["widths"])}), **found), made


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.scaling", description=(__doc__ or "").split("\n\n")[0]
    )
    usual = Settings()
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of weights and batches (%(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=usual.seeds, help="runs of each size (%(default)s)")
    parser.add_argument("--steps", type=int, default=usual.steps, help="of training (%(default)s)")
    recording.add_outputs(parser, "losses and laws")
    given = recording.parse(parser, arguments, seeds=1, steps=20)
    torch.set_num_threads(1)  # the work is small: two threads would wait for each other
    settings = Settings(seed=given.seed, seeds=given.seeds, steps=given.steps)
    result = run(settings, lambda line: print(line, flush=True))
    print(f"\n{summary(result)}")
    if given.record:
        record(result, given.record)
    if given.draw:
        draw(result, given.draw)


if __name__ == "__main__":
    main()

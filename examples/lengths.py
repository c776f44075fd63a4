"""What a longer text costs, and what is reached in it: recurrence, attention to all, and five ways to attend to less.

    python -m examples.lengths

runs one layer of each way over texts of 256 to 16,384 places, forward and backward, one after another so that all meet the same
machine. Printed: seconds and allocated bytes at every length; the powers of the length that they grow with, fitted to the longer
half, beside that of the stated count; and how many layers (for recurrence: steps) it takes until a place depends on all before
it, found by following gradients back. ``--record`` writes all of it, ``--draw`` draws it.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Generator, Tensor

from examples import recording
from impl import attention, recurrent, transformer

Mix = Callable[[Tensor], Tensor]
"""A layer: rows (n d) to rows (n d)."""


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides the machine and the version of torch."""

    seed: int = 0
    lengths: tuple[int, ...] = (256, 512, 1024, 2048, 4096, 8192, 16384)
    width: int = 64
    keys: int = 128
    """So many keys, or about so many, every place attends to where it does not attend to all."""
    rounds: int = 3


@dataclass(frozen=True)
class Measured:
    """One layer at one length: seconds (the median of the rounds), bytes that were allocated forward and backward, and how many
    layers or steps it takes until a place depends on all before it; None where no number of layers does it.
    """

    way: str
    length: int
    seconds: float
    bytes: int
    layers: int | None


@dataclass(frozen=True)
class Powers:
    """How one way grows with the length: as stated, and as fitted to seconds and bytes at the longer half of the lengths."""

    way: str
    stated: int
    count: str
    seconds: float
    bytes: float


@dataclass(frozen=True)
class Result:
    """What a run found."""

    settings: Settings
    measured: tuple[Measured, ...]
    powers: tuple[Powers, ...]
    processor: float


@dataclass(frozen=True)
class Way:
    """A way to mix the rows of a text: its layer at a length, the multiplications that its statement counts, and the power of
    the length in them.
    """

    name: str
    layer: Callable[[int, Settings, Generator], Mix]
    power: int
    count: str


def normal(generator: Generator, *shape: int) -> Tensor:
    """Numbers around 0."""
    return torch.randn(shape, generator=generator)


def recurrence(n: int, settings: Settings, generator: Generator) -> Mix:
    """The states of a recurrent network; W_hh turns and does not shrink."""
    d = settings.width
    W_xh = normal(generator, d, d) / math.sqrt(d)
    W_hh = torch.linalg.qr(normal(generator, d, d))[0]
    h, W_hy = torch.zeros(d), torch.zeros(1, d)
    return lambda x: recurrent.rnn(x, h.to(x), W_xh.to(x), W_hh.to(x), W_hy.to(x))[0]


def full(n: int, settings: Settings, generator: Generator) -> Mix:
    """Causal attention to everything before."""
    return lambda x: attention.causal(x, x, x)


def sliding(n: int, settings: Settings, generator: Generator) -> Mix:
    """A place and those before it, as many as there are keys."""
    return lambda x: attention.window(x, x, x, settings.keys - 1)


def segments(n: int, settings: Settings, generator: Generator) -> Mix:
    """Segments of half as many places as there are keys, each with the one before it as its memory, by relative positions."""
    d, half = settings.width, settings.keys // 2
    r, u, w = normal(generator, 3 * half - 1, d), normal(generator, d), normal(generator, d)
    seen = attention.causal_mask(half, 2 * half).repeat(n // half, 1, 1)
    seen[0, :, :half] = False  # nothing stands before the first segment

    def mix(x: Tensor) -> Tensor:
        queries = x.unflatten(0, (-1, half))
        keys = F.pad(x, (0, 0, half, 0)).unfold(0, 2 * half, half).mT
        return attention.relative(queries, keys, keys, r.to(x), u.to(x), w.to(x), seen).flatten(0, 1)

    return mix


def blocks(n: int, settings: Settings, generator: Generator) -> Mix:
    """BigBird, in blocks of an eighth of the keys: three in the window, two global ones, three at random."""
    table = attention.bigbird_table(n * 8 // settings.keys, 3, 1, 1, generator)
    return lambda x: attention.bigbird(x, x, x, table, 1, 1)


def low_rank(n: int, settings: Settings, generator: Generator) -> Mix:
    """Linformer: keys and values mixed into as many rows as there are keys. It is not causal."""
    E, F_ = (normal(generator, settings.keys, n) / math.sqrt(n) for _ in range(2))
    b = torch.zeros(settings.keys)
    return lambda x: attention.linformer(x, x, x, E.to(x), b.to(x), F_.to(x), b.to(x))


WAYS = (
    Way("recurrence", recurrence, 1, "2·n·d²"),
    Way("all keys", full, 2, "2·n²·d"),
    Way("window", sliding, 1, "2·n·w·d"),
    Way("blocks (BigBird)", blocks, 1, "2·n·w·d"),
    Way("low rank (Linformer)", low_rank, 1, "4·n·w·d"),
    Way("segments with memory", segments, 1, "3·n·w·d"),
)


def layer(way: Way, n: int, settings: Settings) -> Mix:
    """The layer of a way, with its own weights."""
    return way.layer(n, settings, Generator().manual_seed(settings.seed))


def text(n: int, settings: Settings, **options: Any) -> Tensor:
    """Rows (n d) to be mixed."""
    x = normal(Generator().manual_seed(settings.seed + 1), n, settings.width)
    return x.to(**options).requires_grad_()


def both_passes(mix: Mix, x: Tensor) -> None:
    """Forward and backward."""
    x.grad = None
    mix(x).sum().backward()


def allocated(work: Callable[[], object]) -> int:
    """The bytes that are asked for while it runs, whether or not they are given back."""
    with torch.profiler.profile(profile_memory=True) as profile:
        work()
    return sum(max(event.self_cpu_memory_usage, 0) for event in profile.key_averages())


def asked(n: int) -> int:
    """The place that has to be told of all before it: at seven eighths of the text, no end of which some ways treat apart."""
    return n * 7 // 8 - 1


def layers_to_all(mix: Mix, x: Tensor) -> int | None:
    """How many layers it takes until that place depends on every one before it: each pass back tells what one layer reads."""
    read = torch.zeros(len(x), dtype=torch.bool)
    read[asked(len(x))] = True
    for layers in range(1, len(x) + 1):
        z = mix(x)[read]
        (gradient,) = torch.autograd.grad(z, x, torch.ones_like(z))
        before = read
        read = read | gradient.ne(0).any(-1)
        if read[: asked(len(x))].all():
            return layers
        if torch.equal(read, before):
            return None
    return None


def run(settings: Settings, say: Callable[[str], object] = lambda line: None) -> Result:
    """Measure every way at every length; ``say`` is told each."""
    began, measured = time.process_time(), list[Measured]()
    for n in settings.lengths:
        x = text(n, settings)
        layers = {way.name: layer(way, n, settings) for way in WAYS}
        work = {name: partial(both_passes, mix, x) for name, mix in layers.items()}
        sizes = {name: allocated(each) for name, each in work.items()}  # this warms them up, too
        took: dict[str, list[float]] = {name: [] for name in work}
        for _ in range(settings.rounds):
            for name, each in work.items():
                start = time.perf_counter()
                each()
                took[name].append(time.perf_counter() - start)
        for way in WAYS:
            seconds = statistics.median(took[way.name])
            between = steps(n, settings) if way.layer is recurrence else layers_to_all(layers[way.name], x)
            measured.append(Measured(way.name, n, seconds, sizes[way.name], between))
            say(
                f"{n:6} places, {way.name:22}{seconds * 1e3:9.1f} ms{sizes[way.name] / 2**20:9.1f} MiB, "
                f"{'steps' if way.layer is recurrence else 'layers'} to all before: {between or 'none'}"
            )
    return Result(
        settings, tuple(measured), tuple(powers(way, measured) for way in WAYS), time.process_time() - began
    )


def steps(n: int, settings: Settings) -> int:
    """The steps of a recurrence from the first place to the one asked, as ``transformer.cost`` counts them."""
    return int(transformer.cost(asked(n) + 1, settings.width, 2)[-1][1])


def powers(way: Way, measured: Sequence[Measured]) -> Powers:
    """The powers of the length, by least squares in logarithms over the longer half."""
    own = [each for each in measured if each.way == way.name]
    own = own[len(own) // 2 :]

    def fitted(values: list[float]) -> float:
        if len(own) < 2:
            return math.nan
        return statistics.linear_regression(
            [math.log(each.length) for each in own], [math.log(value) for value in values]
        ).slope

    return Powers(
        way.name,
        way.power,
        way.count,
        fitted([each.seconds for each in own]),
        fitted([float(each.bytes) for each in own]),
    )


def summary(result: Result) -> str:
    """What was found, as printed."""
    longest = max(result.settings.lengths)
    at = {each.way: each for each in result.measured if each.length == longest}
    head = f"{'':22}{'stated':>8}{'seconds':>9}{'bytes':>7}   at {longest:,} places: seconds, MiB, layers"
    lines = [
        f"{p.way:22}{p.stated:8}{p.seconds:9.2f}{p.bytes:7.2f}{at[p.way].seconds:17.3f}"
        f"{at[p.way].bytes / 2**20:10.1f}{at[p.way].layers or '–':>7}"
        for p in result.powers
    ]
    return "\n".join(
        [
            "Powers of the length, as stated and as fitted to the longer half of the lengths:",
            "",
            head,
            *lines,
            "",
            f"d = {result.settings.width}, {result.settings.keys} keys a place where not all; "
            f"{result.processor:.0f} s of processor time.",
        ]
    )


def record(result: Result, path: Path) -> None:
    """Write a result, with what it was measured with, as JSON."""
    recording.write(asdict(result), path)


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    settings = {**found["settings"], "lengths": tuple(found["settings"]["lengths"])}
    found["settings"] = Settings(**settings)
    found["measured"] = tuple(Measured(**each) for each in found["measured"])
    found["powers"] = tuple(Powers(**each) for each in found["powers"])
    return Result(**found), made


def draw(result: Result, path: Path) -> None:
    """The picture; the name's ending says of which kind (svg, png, pdf)."""
    from examples.lengths_drawing import paint_bytes, paint_layers, paint_seconds

    figure = Figure(figsize=(12, 4), layout="constrained")
    painters = (paint_seconds, paint_bytes, paint_layers)
    for axes, paint in zip(figure.subplots(1, 3), painters, strict=True):
        paint(axes, result, [f"C{place}" for place in range(len(WAYS))])
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.lengths", description=(__doc__ or "").split("\n\n")[0]
    )
    usual = Settings()
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of texts and weights (%(default)s)"
    )
    parser.add_argument(
        "--longest", type=int, default=max(usual.lengths), help="places at most (%(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=usual.rounds, help="of timing (%(default)s)")
    recording.add_outputs(parser, "all of it")
    given = recording.parse(parser, arguments, longest=usual.lengths[0], rounds=1)
    os.environ.setdefault(
        "KINETO_LOG_LEVEL", "99"
    )  # or the profiler writes a line wherever it begins and ends
    torch.set_num_threads(1)  # what one core takes is what grows with the length
    lengths = tuple(n for n in usual.lengths if n <= given.longest)
    settings = Settings(seed=given.seed, lengths=lengths, rounds=given.rounds)
    result = run(settings, lambda line: print(line, flush=True))
    print(f"\n{summary(result)}")
    if given.record:
        record(result, given.record)
    if given.draw:
        draw(result, given.draw)


if __name__ == "__main__":
    main()

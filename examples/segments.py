"""What a memory spares: the same Transformer-XL reads held-out text by sliding windows, and by segments with a memory.

    python -m examples.segments

trains a small ``impl.transformer_xl.TransformerXL`` on the bytes of Python's library, segment by segment. Then it predicts bytes
of files that were held out, in two ways. By windows, each byte is predicted by a pass of its own over the C bytes before it. By
segments, C/2 bytes at a time are read, and each layer remembers the C/2 before them. Either way a byte attends to at most C bytes
in a layer. Printed for every C: bits and milliseconds of processor time a byte, both ways, and how many times longer windows
take. Where window and memory hold all that stands before a byte, both ways are the same function; that is checked in float64.
``--record`` writes all of it, ``--draw`` draws it.
"""

from __future__ import annotations

import argparse
import copy
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Generator, Tensor

from examples import recording
from examples.scaling import rows, texts
from impl import transformer_xl
from impl.transformer_xl import TransformerXL, TransformerXLConfig


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides the versions of Python, whose library is the text, and torch."""

    seed: int = 0
    contexts: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512)
    """So many bytes at most each one attends to in a layer, itself among them; even numbers."""
    width: int = 64
    layers: int = 2
    heads: int = 4
    std: float = 0.1
    """That of the normal distribution that weights are drawn from."""
    segment: int = 64
    """Bytes of a segment in training."""
    segments: int = 4
    """Segments of a piece in training; a piece begins without a memory, and all of it is remembered."""
    batch: int = 8
    steps: int = 2400
    rate: float = 0.004
    """The largest learning rate, reached after a tenth of the steps; then it falls to 0."""
    stretches: int = 8
    """Stretches of held-out text, each twice as long as the longest context."""
    predicted: int = 128
    """Bytes of each stretch that are predicted in both ways, at random places of its second half."""


@dataclass(frozen=True)
class Measured:
    """One context: bits a byte and milliseconds of processor time a byte by windows and by segments; and the standard error of
    the difference in bits, for which the bytes count as independent.
    """

    context: int
    windows_bits: float
    segments_bits: float
    error: float
    windows_ms: float
    segments_ms: float

    @property
    def ratio(self) -> float:
        """How many times longer a byte takes by windows."""
        return self.windows_ms / self.segments_ms


PAPER = ((800, 363), (1800, 773), (2800, 1409), (3800, 1874))
"""Attention lengths, and how many times longer windows took there, of larger models on a GPU: the paper's table of slowdowns."""


@dataclass(frozen=True)
class Result:
    """What a run found. At the first ``agreed`` bytes of a stretch, which window and memory cover, both ways differ by at most
    ``difference`` nats in float64.
    """

    settings: Settings
    trained_on: int
    held_out: int
    measured: tuple[Measured, ...]
    agreed: int
    difference: float
    processor: float


def train(
    settings: Settings, text: Tensor, say: Callable[[str], object] = lambda line: None
) -> TransformerXL:
    """Train a model on pieces of the text, a step for each segment, which remembers those before it in its piece."""
    s = settings
    remembered = s.segment * (s.segments - 1)
    config = TransformerXLConfig(256, s.width, s.layers, s.heads, 4 * s.width, remembered, std=s.std)
    xl = TransformerXL(config, generator=Generator().manual_seed(s.seed))
    optimizer = torch.optim.Adam(xl.parameters(), lr=s.rate, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, s.rate, s.steps, pct_start=0.1, cycle_momentum=False
    )
    losses, told, memory = list[float](), max(s.steps // 8, 1), None
    for ids, targets, begins in segments_of(text, settings):
        loss, memory = xl.loss(ids, targets, None if begins else memory)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(xl.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item() / math.log(2))
        if len(losses) % told == 0:
            say(
                f"step {len(losses):5} of {s.steps}: {statistics.fmean(losses[-told:]):.2f} bits a byte, in training"
            )
    return xl.requires_grad_(False)


def segments_of(text: Tensor, settings: Settings) -> Iterator[tuple[Tensor, Tensor, bool]]:
    """A batch of segments for each step: their bytes (batch segment), the bytes that follow each, and whether a piece begins."""
    s, drawn = settings, Generator().manual_seed(settings.seed)
    for step in range(s.steps):
        part = step % s.segments
        if part == 0:
            pieces = rows(text, s.batch, s.segments * s.segment + 1, drawn)
        segment = pieces[:, part * s.segment : (part + 1) * s.segment + 1]
        yield segment[:, :-1], segment[:, 1:], part == 0


def hidden(xl: TransformerXL, ids: Tensor, memory: Tensor | None, remembered: int) -> tuple[Tensor, Tensor]:
    """The last hidden states of ids (… n), and the last rows that each layer has read, as many as are to be ``remembered``."""
    if memory is None:
        memory = xl.E.new_empty(xl.config.layers, 0, xl.config.d_model)
    return transformer_xl.model(ids, memory, xl.E, xl.weights, xl.config.eps, rows=remembered)


def by_windows(xl: TransformerXL, text: Tensor, places: Tensor, context: int) -> Tensor:
    """−log p of the byte behind each of the places, in nats: each from a pass of its own over the window that ends there.

    Windows go through the model in batches of about 512 bytes, and only the last hidden state of each is asked for logits.
    """
    windows = text.unfold(0, context, 1)[places - context + 1]
    last = [hidden(xl, some, None, 0)[0][:, -1] for some in windows.split(max(1, 512 // context))]
    return F.cross_entropy(torch.cat(last) @ xl.E.mT, text[places + 1], reduction="none")


def by_segments(
    xl: TransformerXL, ids: Tensor, targets: Tensor, half: int, memory: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """−log p of every target, in nats, read in segments of ``half`` bytes that remember as many; and the memory after."""
    read = list[Tensor]()
    for segment in ids.split(half):
        y, memory = hidden(xl, segment, memory, half)
        read.append(y)
    assert memory is not None
    return F.cross_entropy(torch.cat(read) @ xl.E.mT, targets, reduction="none"), memory


def measure(xl: TransformerXL, stretches: Tensor, places: Tensor, context: int) -> Measured:
    """Read both ways. Segments read a whole stretch; their time is that of its second half, where the memory is full."""
    start = time.process_time()
    windows = torch.cat(
        [by_windows(xl, text, own, context) for text, own in zip(stretches, places, strict=True)]
    )
    windows_took = time.process_time() - start
    half, middle = context // 2, stretches.shape[1] // 2
    segments_took, found = 0.0, list[Tensor]()
    for text, own in zip(stretches, places, strict=True):
        ids, targets = text[:-1], text[1:]
        _, memory = by_segments(xl, ids[:middle], targets[:middle], half)
        start = time.process_time()
        nats, _ = by_segments(xl, ids[middle:], targets[middle:], half, memory)
        segments_took += time.process_time() - start
        found.append(nats[own - middle])
    segments = torch.cat(found)
    return Measured(
        context,
        windows.mean().item() / math.log(2),
        segments.mean().item() / math.log(2),
        ((segments - windows).std() / len(windows) ** 0.5).item() / math.log(2),
        windows_took / len(windows) * 1e3,
        segments_took / (len(stretches) * middle) * 1e3,
    )


def compare_covered(xl: TransformerXL, text: Tensor, context: int) -> float:
    """Compare both ways at the first bytes of a text, which have no more before them than a context: the largest difference in
    nats, in float64. AssertionError if they are not close.
    """
    exact = copy.deepcopy(xl).double()
    segments, _ = by_segments(exact, text[:context], text[1 : context + 1], context // 2)
    windows = torch.cat(
        [by_windows(exact, text, torch.tensor([place]), place + 1) for place in range(context)]
    )
    torch.testing.assert_close(segments, windows)
    return (segments - windows).abs().max().item()


def run(settings: Settings, say: Callable[[str], object] = lambda line: None) -> Result:
    """Train, compare where both ways agree, and measure every context; ``say`` is told how it goes."""
    start, (text, held_out) = time.process_time(), texts()
    xl = train(settings, text, say)
    longest, drawn = max(settings.contexts), Generator().manual_seed(settings.seed)
    stretches = rows(held_out, settings.stretches, 2 * longest + 1, drawn)
    places = longest + torch.stack(
        [torch.randperm(longest, generator=drawn)[: settings.predicted] for _ in stretches]
    )
    agreed = min(64, longest)
    difference = compare_covered(xl, stretches[0], agreed)
    say(
        f"at the first {agreed} bytes of a stretch both ways differ by {difference:.0e} nats at most, in float64"
    )
    say(f"\n{HEAD}")
    measured = list[Measured]()
    for context in settings.contexts:
        measured.append(measure(xl, stretches, places, context))
        say(row(measured[-1]))
    took = time.process_time() - start
    return Result(settings, len(text), len(held_out), tuple(measured), agreed, difference, took)


HEAD = "context  by windows  by segments  difference in bits  ms by windows  by segments    ratio"


def row(each: Measured) -> str:
    """One context, as printed under ``HEAD``."""
    return (
        f"{each.context:7}{each.windows_bits:12.3f}{each.segments_bits:13.3f}"
        f"{each.segments_bits - each.windows_bits:+12.3f} ± {each.error:.3f}"
        f"{each.windows_ms:15.3f}{each.segments_ms:13.3f}{each.ratio:9.1f}"
    )


def summary(result: Result) -> str:
    """What was found, as printed."""
    s = result.settings
    read, predicted = s.steps * s.batch * s.segment, s.stretches * s.predicted
    return "\n".join(
        [
            f"{result.trained_on:,} bytes to learn from, {result.held_out:,} held out; the model read {read:,} of them, in "
            f"pieces of {s.segments * s.segment}.",
            f"Bits and milliseconds a byte, of the same {predicted:,} held-out bytes:",
            "",
            HEAD,
            *(row(each) for each in result.measured),
            "",
            f"The paper has {PAPER[0][1]} times at {PAPER[0][0]:,} to {PAPER[-1][1]:,} times at {PAPER[-1][0]:,}, of larger "
            "models on a GPU.",
            f"At {result.agreed} bytes, of whose history window and memory hold all, both ways differ by "
            f"{result.difference:.0e} nats at most, in float64.",
            f"{result.processor:.0f} seconds of processor time.",
        ]
    )


def record(result: Result, path: Path) -> None:
    """Write a result, with what it was measured with, as JSON."""
    recording.write(asdict(result), path)


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    settings = {**found["settings"], "contexts": tuple(found["settings"]["contexts"])}
    found["settings"] = Settings(**settings)
    found["measured"] = tuple(Measured(**each) for each in found["measured"])
    return Result(**found), made


def draw(result: Result, path: Path) -> None:
    """The picture; the name's ending says of which kind (svg, png, pdf)."""
    from examples.segments_drawing import paint_bits, paint_ratio, paint_time

    figure = Figure(figsize=(12, 4), layout="constrained")
    painters = (paint_bits, paint_time, paint_ratio)
    for axes, paint in zip(figure.subplots(1, 3), painters, strict=True):
        paint(axes, result, ("C0", "C1"))
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.segments", description=(__doc__ or "").split("\n\n")[0]
    )
    usual = Settings()
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of weights, batches and places (%(default)s)"
    )
    parser.add_argument("--steps", type=int, default=usual.steps, help="of training (%(default)s)")
    parser.add_argument(
        "--longest", type=int, default=max(usual.contexts), help="context at most (%(default)s)"
    )
    recording.add_outputs(parser, "all of it")
    given = recording.parse(parser, arguments, steps=20, longest=usual.contexts[0])
    torch.set_num_threads(1)  # what one core takes is what is compared
    contexts = tuple(context for context in usual.contexts if context <= given.longest)
    settings = Settings(seed=given.seed, steps=given.steps, contexts=contexts)
    result = run(settings, lambda line: print(line, flush=True))
    print(f"\n{summary(result)}")
    if given.record:
        record(result, given.record)
    if given.draw:
        draw(result, given.draw)


if __name__ == "__main__":
    main()

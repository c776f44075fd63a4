"""The command: read, train (or go on training), measure, print."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

import examples.pretrain_bert as described
from examples import recording
from examples.pretrain_bert.processes import Processes, processes
from examples.pretrain_bert.settings import SMALL, Settings
from examples.pretrain_bert.text import prepare
from examples.pretrain_bert.training import Point, Quality, Run


@dataclass(frozen=True)
class Result:
    """What a run found. ``unigram`` is the mean loss on the same hidden words of who knows only how often words occur. Seconds
    are by the clock, and of this process's processor, summed over interruptions.
    """

    settings: dict[str, Any]
    parameters: int
    ids: int
    entropy: float
    unigram: float
    losses: list[float]
    curve: list[Point]
    processes: int
    seconds: float
    processor: float

    @property
    def quality(self) -> Quality:
        """At the end."""
        return self.curve[-1].quality

    @property
    def below(self) -> int | None:
        """The first step of the curve at which a hidden word costs less than by the shares of the words; None: none."""
        return next((point.step for point in self.curve if point.quality.words < self.unigram), None)


def summary(result: Result) -> str:
    """What was found, as printed."""
    found, steps = result.quality, result.curve[-1].step
    lines = [
        f"Hidden words of held-out files: loss {found.words:.3f} nats, {found.words_right:.1%} right.",
        f"Who says everywhere how often each word occurs in the text has a loss of {result.unigram:.3f} at them (the entropy of "
        f"its words is {result.entropy:.3f}).",
        f"Below that loss {'never' if result.below is None else f'from step {result.below} on'}.",
    ]
    if found.sentences:
        lines.append(
            f"Does the second sentence follow: loss {found.sentences:.3f}, {found.sentences_right:.1%} right "
            "(0.693 and 50 % by chance)."
        )
    several = f" of the first of {result.processes}" if result.processes > 1 else ""
    return "\n".join(
        [
            *lines,
            "",
            f"{result.parameters:,} parameters, {result.ids:,} ids of text; {steps} steps in {result.seconds:.0f} s "
            f"({result.processor:.0f} s of processor time{several})",
        ]
    )


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    found["curve"] = [Point(**{**each, "quality": Quality(**each["quality"])}) for each in found["curve"]]
    return Result(**found), made


def measure(run: Run) -> Result:
    """What a run has come to."""
    entropy, unigram = run.unigram()
    return Result(
        run.settings.state(),
        parameters=sum(p.numel() for p in run.module.parameters()),
        ids=int(run.text.training.counts(len(run.text.pieces)).sum()),
        entropy=round(entropy, 4),
        unigram=round(unigram, 4),
        losses=[round(loss, 4) for loss in run.losses],
        curve=run.curve,
        processes=run.processes.ranks,
        seconds=round(run.seconds, 1),
        processor=round(run.processor, 1),
    )


def train(run: Run, checkpoint: Path) -> None:
    """Go on to the end, with a bar of the first process."""
    bar = Progress(
        TextColumn("pre-training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=run.processes.rank > 0,
    )
    with bar:
        task = bar.add_task("", total=run.settings.training.steps, completed=run.step)

        def say(run: Run) -> None:
            held_out = f", held out {run.curve[-1].quality.words:.2f}" if run.curve else ""
            bar.update(task, completed=run.step, description=f"loss of a word {run.losses[-1]:.2f}{held_out}")

        run.train(checkpoint, say)


def work(settings: Settings, folder: Path, these: Processes, say: Callable[[str], object]) -> Result:
    """The whole run, in each process."""
    torch.set_num_threads(settings.training.threads)
    cache = folder.parent
    if these.rank == 0:
        say("reading the text (once) ...")
        prepare(settings, cache)
    these.wait()
    run = Run(settings, prepare(settings, cache), these)
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.exists():
        run.load(checkpoint)
        say(f"going on from step {run.step} of {checkpoint}")
    train(run, checkpoint)
    result = measure(run)
    say(summary(result))
    if these.rank == 0:
        recording.write(asdict(result), folder / "record.json")
    run.export(folder / "model")
    say(f"\n{folder / 'model'}\n{folder / 'record.json'}")
    return result


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = print) -> None:
    """The command. One of several processes ends with it."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.pretrain_bert", description=(described.__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument(
        "--config", type=Path, default=SMALL, metavar="FILE", help="TOML (the small one that is shipped)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="gets checkpoint and record, and the text beside it; a checkpoint that is there is gone on from "
        "(build/pretrain_bert/NAME-OF-FILE)",
    )
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="what torch computes on (%(default)s)"
    )
    given = parser.parse_args(arguments)
    try:
        settings = Settings.read(given.config)
        folder = recording.folder(given.out or Path("build", "pretrain_bert", given.config.stem))
        with processes(given.device) as these:
            work(settings, folder, these, say if these.rank == 0 else lambda _: None)
        these.leave()
    except ValueError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

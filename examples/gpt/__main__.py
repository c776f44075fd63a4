"""The command: train (or go on training), measure, print, and draw."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

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

import examples.gpt as described
from examples import recording
from examples.gpt import comparing
from examples.gpt.symbols import Symbols
from examples.gpt.text import Files, Text, learned, library
from examples.gpt.training import Point, Run, Settings, Task
from impl.gpt import BytePairs
from impl.gpt.tokenizer import END

COMMANDS = {
    "text": "learn the text of Python's library",
    "positions": "compare kinds of positions",
    "few_shot": "answer new maps from examples in the prompt",
}


def train(runs: Sequence[Run], checkpoints: Sequence[Path], shows: str) -> None:
    """Go on to the end of each, with a bar over all."""
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
        total, done = sum(run.settings.steps for run in runs), 0
        task = bar.add_task("", total=total, completed=sum(run.step for run in runs))
        for run, checkpoint in zip(runs, checkpoints, strict=True):
            before, s = done, run.settings

            def say(step: int, point: Point | None, before: int = before, s: Settings = s) -> None:
                found = f"{s.positions}, seed {s.seed}: {point.measured:.3f} {shows}" if point else ""
                bar.update(task, completed=before + step, description=found)

            run.train(checkpoint, say)
            done += s.steps


def read_text(folder: Path, files: Files, settings: Settings) -> Text:
    """The files in tokens, which are learned where the folder has none. ValueError where they are not as many as the model's."""
    if not (folder / "merges.txt").exists():
        learned(files.training, settings.vocabulary).save_pretrained(folder)
    tokens, wanted = BytePairs.from_pretrained(folder), settings.vocabulary
    if tokens.end_id is None or len(tokens) != wanted:
        got = f"{len(tokens)}, {'not' if tokens.end_id is None else 'and'} that"
        raise ValueError(
            f"{folder / 'vocab.json'}: expected {wanted} tokens, and {END} among them; got {got}"
        )
    return Text.of(files, tokens, settings.context)


def go_on(
    folder: Path, all_settings: Sequence[Settings], task_of: Callable[[Settings], Task], shows: str
) -> list[Run]:
    """All runs at their ends. ValueError for a checkpoint of another run."""
    paths = [folder / f"{s.positions}-{s.seed}.pt" for s in all_settings]
    runs = [Run.resumed(s, task_of(s), path) for s, path in zip(all_settings, paths, strict=True)]
    train(runs, paths, shows)
    return runs


def main(
    arguments: Sequence[str] | None = None, say: Callable[[str], object] = print, source: Path | None = None
) -> None:
    """The command; ``source`` is a folder of Python files instead of Python's library."""
    told = "; ".join(f"{name}: {what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m examples.gpt", description=(described.__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("command", nargs="?", choices=COMMANDS, default="text", help=f"{told} (%(default)s)")
    parser.add_argument("--steps", type=int, help="of training (as the command has them)")
    parser.add_argument(
        "--seed", type=recording.seed, default=0, help="of parameters and batches (%(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds are compared (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="that torch computes with (%(default)s)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="gets model, record, figures and checkpoints, which are gone on from (build/gpt/COMMAND-SEED)",
    )
    given = parser.parse_args(arguments)
    for name in ("steps", "seeds", "threads"):
        if getattr(given, name) is not None and getattr(given, name) < 1:
            parser.error(f"expected {name} >= 1; got {getattr(given, name)}")
    torch.set_num_threads(given.threads)
    every = comparing.settings_of(given.command, given.seed, given.seeds, given.steps)
    try:
        folder = recording.folder(given.out or Path("build", "gpt", f"{given.command}-{given.seed}"))
        if given.command == "few_shot":
            runs = go_on(folder, every, lambda s: Symbols(seed=s.seed), "right after 5 examples")
            found = [comparing.of_symbols(run, Symbols(seed=run.settings.seed)) for run in runs]
            said = comparing.summary_of_symbols(found)
        else:
            files = library(source)
            text = read_text(folder, files, every[0])
            runs = go_on(folder, every, lambda s: text, "bits a byte")
            if given.command == "text":
                found = comparing.of_text(runs[0], text, files, folder)
                said = comparing.summary_of_text(found)
            else:
                found = [comparing.of_positions(run, text) for run in runs]
                said = comparing.summary_of_positions(found)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    say(said)
    comparing.record(found, folder / "record.json")
    from examples.gpt.drawing import draw  # only at the end is Matplotlib needed

    say("\n".join(["", *(str(path) for path in (*draw(folder, found), folder / "record.json"))]))


if __name__ == "__main__":
    main()

"""The command: train (or go on training), measure, print, and draw."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
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

import examples.translate as described
from examples import recording
from examples.translate.measuring import Alignment, Example, Quality, alignment, exact, qualities, tree
from examples.translate.measuring import examples as shown
from examples.translate.numerals import measured_numbers, pairs
from examples.translate.training import MEASURED, Point, Run, Settings, generator
from impl.transformer import Transformer


@dataclass(frozen=True)
class Result:
    """What a run found. Shares are of held-out numbers written rightly in every word, beams are compared on the first of them.
    Seconds are those of training (by the clock, and of a processor), summed over interruptions, and of all the measuring.
    """

    settings: Settings
    parameters: int
    to_digits: float
    to_words: float
    curve: list[Point]
    beams: list[Quality]
    early: list[Quality]
    examples: list[Example]
    alignment: Alignment
    training_seconds: float
    training_processor: float
    measuring_seconds: float


def measure(run: Run) -> Result:
    """What a trained run is worth on numbers drawn for this alone."""
    begun, settings, device = time.perf_counter(), run.settings, run.device
    numbers = measured_numbers(settings.measured, run.held, generator(settings, MEASURED))
    batch = pairs(numbers).to(device)
    model, early = run.trained(), still_unsure(run)
    to_digits, to_words = exact(model, batch)
    some = pairs(numbers[: settings.searched]).to(device)
    return Result(
        settings,
        parameters=sum(x.numel() for x in model.parameters()),
        to_digits=to_digits,
        to_words=to_words,
        curve=run.curve,
        beams=qualities(model, some),
        early=qualities(early, some),
        examples=shown(model, numbers[:3], device),
        alignment=alignment(model, max(numbers, key=lambda number: number % 1000 % 100 % 10), device),
        training_seconds=round(run.seconds, 1),
        training_processor=round(run.processor, 1),
        measuring_seconds=round(time.perf_counter() - begun, 1),
    )


def still_unsure(run: Run) -> Transformer:
    """The model as it was early in training."""
    model = deepcopy(run.model)
    # Weights of a run that ended before are those it ended with.
    model.load_state_dict(run.early or run.recent[-1])
    return model


def summary(result: Result) -> str:
    """What was found, as printed."""
    s = result.settings
    lines = [
        f"{s.measured} held-out numbers, neither half of which training ever had in its place, written greedily and right in",
        f"every word: {result.to_digits:.1%} from words to digits, {result.to_words:.1%} from digits to words.",
        "",
    ]
    for each in result.examples:
        lines += [
            f"{each.source}",
            f"  greedy  {each.greedy}{'' if each.greedy == each.target else '  (wrong)'}",
        ]
        lines += [f"  beam    {written}  (log-probability {p:.2f})" for written, p in each.beams]
    lines += [
        "",
        f"The best beam of {s.searched} of them, in both directions:",
        "",
        f"{'':6}  {'as trained':>33}  {f'after {min(s.early, s.steps)} steps':>33}",
        f"{'width':>6}" + 2 * f"  {'to digits':>9}  {'to words':>9}  {'mean log p':>11}",
    ]
    for pair in zip(result.beams, result.early, strict=True):
        figures = (f"{q.to_digits:9.1%}  {q.to_words:9.1%}  {q.log_probability:11.3f}" for q in pair)
        lines.append(f"{pair[0].width:6}  {'  '.join(figures)}")
    return "\n".join(
        [
            *lines,
            "",
            f"{result.parameters:,} parameters, {s.steps} steps; training {result.training_seconds:.0f} s "
            f"({result.training_processor:.0f} s of processor time), measuring {result.measuring_seconds:.0f} s",
        ]
    )


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    found["settings"] = Settings(**found["settings"])
    found["curve"] = [Point(**each) for each in found["curve"]]
    for name in ("beams", "early"):
        found[name] = [Quality(**each) for each in found[name]]
    found["examples"] = [
        Example(**{**each, "beams": [tuple(beam) for beam in each["beams"]]}) for each in found["examples"]
    ]
    return Result(**{**found, "alignment": Alignment(**found["alignment"])}), made


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
        task = bar.add_task("", total=run.settings.steps, completed=run.step)

        def say(step: int, point: Point | None) -> None:
            found = f"right: {point.to_digits:.0%} to digits, {point.to_words:.0%} to words" if point else ""
            bar.update(task, completed=step, description=found)

        run.train(checkpoint, say)


def main(arguments: Sequence[str] | None = None, say: Callable[[str], object] = print) -> None:
    """The command."""
    usual = Settings()
    parser = argparse.ArgumentParser(
        prog="python -m examples.translate", description=(described.__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--steps", type=int, default=usual.steps, help="of training (%(default)s)")
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of parameters and numbers (%(default)s)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="gets checkpoint, record and figures; a checkpoint that is there is gone on from (build/translate/seed-SEED)",
    )
    parser.add_argument("--device", default="cpu", help="what torch computes on: cpu, cuda (%(default)s)")
    given = parser.parse_args(arguments)
    if given.steps < 1:
        parser.error(f"expected steps >= 1; got {given.steps}")
    try:
        device = torch.device(given.device)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        parser.error(f"torch cannot compute on {given.device}: {str(error).splitlines()[0]}")
    # The matrices are small: two threads would wait for each other.
    torch.set_num_threads(1)
    try:
        folder = recording.folder(given.out or Path("build", "translate", f"seed-{given.seed}"))
        run = Run.resumed(Settings(seed=given.seed, steps=given.steps), folder / "checkpoint.pt", device)
    except ValueError as error:
        parser.error(str(error))
    if run.step:
        say(f"going on from step {run.step} of {folder / 'checkpoint.pt'}")
    train(run, folder / "checkpoint.pt")
    result = measure(run)
    say(summary(result))
    recording.write(asdict(result), folder / "record.json")
    recording.write(asdict(tree(still_unsure(run), device)), folder / "tree.json")
    from examples.translate.drawing import draw  # only at the end is Matplotlib needed

    drawn = draw(folder, result.curve, result.beams, result.early, result.alignment)
    say("\n".join(["", *(str(path) for path in (*drawn, folder / "record.json", folder / "tree.json"))]))


if __name__ == "__main__":
    main()

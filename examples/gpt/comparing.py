"""What each command of ``examples.gpt`` finds, as it is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Generator

from examples import recording
from examples.gpt.baselines import compressed, counted
from examples.gpt.symbols import KEYS, Accuracy, Symbols
from examples.gpt.text import Files, Text, bits_per_byte, order_matters
from examples.gpt.training import Point, Run, Settings
from impl.decoding import sampled
from impl.gpt import GPT, BytePairs

WAYS = ("learned", "sinusoidal", "none")
USUAL = {
    "text": Settings(),
    "positions": Settings(
        steps=1500,
        batch=16,
        vocabulary=257,
        context=64,
        width=64,
        layers=2,
        heads=2,
        rate=1e-3,
        decay=0.01,
    ),
    "few_shot": Settings(
        steps=1500,
        batch=64,
        vocabulary=2 * KEYS,
        context=4 * KEYS,
        width=64,
        layers=2,
        heads=2,
        rate=1e-3,
        decay=0.01,
    ),
}
"""What the commands train."""


@dataclass(frozen=True)
class Sample:
    """A held-out file's first lines, and what the model writes behind them."""

    prompt: str
    written: str


@dataclass(frozen=True)
class OfText:
    """What the model of the text is worth. Bits are for a byte of the held-out files. Seconds are those of training (by the
    clock, and of a processor), summed over interruptions. ``read_back`` is by how much a logit of transformers' model of the
    saved folder differs at most, in float32.
    """

    settings: Settings
    parameters: int
    files: int
    held_out_files: int
    training_bytes: int
    held_out_bytes: int
    bytes_per_token: float
    bits: dict[str, float]
    curve: list[Point]
    sample: Sample
    read_back: float
    seconds: float
    processor: float


@dataclass(frozen=True)
class OfPositions:
    """A run with one kind of positions: bits for a byte of pieces of the held-out files, and for their last token, where what
    stands before it is as it is and where it is in a random order.
    """

    settings: Settings
    parameters: int
    curve: list[Point]
    bits: float
    in_order: float
    shuffled: float
    processor: float


@dataclass(frozen=True)
class OfSymbols:
    """A run on the family of small tasks: the accuracies on held-out maps after 0, 1, 2, … examples."""

    settings: Settings
    parameters: int
    curve: list[Point]
    accuracies: list[Accuracy]
    processor: float


def of_text(run: Run, text: Text, files: Files, folder: Path) -> OfText:
    """Measure a trained model of the text, and save it into the folder as Hugging Face does."""
    read, held = ("".join(each).encode() for each in (files.training, files.held_out))
    run.model.save_pretrained(folder)
    text.tokens.save_pretrained(folder)
    return OfText(
        run.settings,
        parameters=count_parameters(run.model),
        files=len(files.training),
        held_out_files=len(files.held_out),
        training_bytes=len(read),
        held_out_bytes=len(held),
        bytes_per_token=text.bytes_each,
        bits={
            "gpt": bits_per_byte(run.model, text),
            "counted": counted(read, held),
            **compressed(read, held),
        },
        curve=run.curve,
        sample=continued(run.model, text.tokens, files.held_out[0]),
        read_back=read_back(folder, text),
        seconds=round(run.seconds, 1),
        processor=round(run.processor, 1),
    )


def continued(model: GPT, tokens: BytePairs, file: str, seed: int = 0) -> Sample:
    """What a model writes behind the first tokens of a file, drawn with a temperature below 1."""
    ids = [tokens.id_of["<|endoftext|>"], *tokens.encode(file)][: model.config.max_length // 4]
    many = model.config.max_length - len(ids)
    found = model.generate(
        torch.tensor([ids]),
        max_length=many,
        search=sampled,
        temperature=0.7,
        generator=Generator().manual_seed(seed),
    )
    return Sample(tokens.decode(ids[1:]), tokens.decode(found.tokens[0]))


def read_back(folder: Path, text: Text) -> float:
    """How far the logits of a saved folder lie from those of transformers that read it, at most; its tokens have to be the same.

    RuntimeError where they are not.
    """
    from transformers import GPT2LMHeadModel, GPT2Tokenizer

    ids = text.probe(4)
    written = text.tokens.decode(text.held_out[0][1:])
    if GPT2Tokenizer.from_pretrained(folder)(written)["input_ids"] != text.tokens.encode(written):
        raise RuntimeError(f"transformers cuts the text otherwise with the tokens of {folder}")
    theirs = GPT2LMHeadModel.from_pretrained(folder).eval()
    with torch.no_grad():
        return (theirs(ids).logits - GPT.from_pretrained(folder)(ids)).abs().max().item()


def of_positions(run: Run, text: Text) -> OfPositions:
    """Measure a trained model of the text."""
    in_order, shuffled = order_matters(run.model, text)
    bits = text.measure(run.model, 512)
    return OfPositions(
        run.settings,
        count_parameters(run.model),
        run.curve,
        bits,
        in_order,
        shuffled,
        round(run.processor, 1),
    )


def of_symbols(run: Run, task: Symbols) -> OfSymbols:
    """Measure a trained model on maps that it has not seen. Nothing of it changes."""
    accuracies = [task.accuracy(run.model, examples) for examples in range(KEYS + 1)]
    return OfSymbols(
        run.settings, count_parameters(run.model), run.curve, accuracies, round(run.processor, 1)
    )


def count_parameters(model: GPT) -> int:
    """How many there are."""
    return sum(x.numel() for x in model.parameters())


def record(found: OfText | Sequence[OfPositions] | Sequence[OfSymbols], path: Path) -> None:
    """Write what was found, with what it was measured with."""
    held = asdict(found) if isinstance(found, OfText) else {"runs": [asdict(each) for each in found]}
    recording.write(held, path)


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    curve = [Point(**each) for each in found["curve"]]
    return {**found, "settings": Settings(**found["settings"]), "curve": curve}


def recorded_text(path: Path) -> tuple[OfText, dict[str, Any]]:
    """A record of the text, and what it was made with."""
    found = recording.read(path)
    made = found.pop("made")
    return OfText(**{**_plain(found), "sample": Sample(**found["sample"])}), made


def recorded_positions(path: Path) -> tuple[list[OfPositions], dict[str, Any]]:
    """A record of the positions, and what it was made with."""
    found = recording.read(path)
    return [OfPositions(**_plain(each)) for each in found["runs"]], found["made"]


def recorded_symbols(path: Path) -> tuple[list[OfSymbols], dict[str, Any]]:
    """A record of the small tasks, and what it was made with."""
    found = recording.read(path)
    runs = [
        OfSymbols(**{**_plain(each), "accuracies": [Accuracy(**one) for one in each["accuracies"]]})
        for each in found["runs"]
    ]
    return runs, found["made"]


def summary_of_text(found: OfText) -> str:
    """What was found, as printed."""
    names = {
        "gpt": "this model",
        "counted": "counts of bytes, order 5",
        "gzip": "gzip",
        "xz": "xz",
        "xz_after": "xz, behind the other files",
    }
    return "\n".join(
        [
            f"{found.held_out_files} held-out files, {found.held_out_bytes:,} bytes; bits for each of them:",
            "",
            *(f"{label:28} {found.bits[name]:.3f}" for name, label in names.items()),
            "",
            f"Behind the first lines of a held-out file\n\n{found.sample.prompt}\n\nit writes\n\n{found.sample.written}",
            "",
            f"Read back by transformers, its logits differ by at most {found.read_back:.1e}.",
            f"{found.parameters:,} parameters, {found.settings.steps} steps; training {found.seconds:.0f} s "
            f"({found.processor:.0f} s of processor time)",
        ]
    )


def summary_of_positions(found: Sequence[OfPositions]) -> str:
    """What was found, as printed."""
    lines = [
        "Bits for a byte of pieces of the held-out files; for the last byte of each, where those before it are in order; and",
        "where they are shuffled:",
        "",
        f"{'positions':12} {'seed':>4} {'a byte':>8} {'in order':>9} {'shuffled':>9}",
    ]
    return "\n".join(
        lines
        + [
            f"{each.settings.positions:12} {each.settings.seed:4} {each.bits:8.3f} {each.in_order:9.2f} {each.shuffled:9.2f}"
            for each in found
        ]
    )


def summary_of_symbols(found: Sequence[OfSymbols]) -> str:
    """What was found, as printed."""
    seeds = [each.settings.seed for each in found]
    lines = [
        f"Held-out maps answered rightly, seeds {', '.join(map(str, seeds))}; chance is {1 / KEYS:.0%}:",
        "",
        f"{'examples':>8}  {'right':>{7 * len(seeds)}}  {'labels shuffled':>{max(15, 7 * len(seeds))}}  at most",
    ]
    for rows in zip(*(each.accuracies for each in found), strict=True):
        right, shuffled = (
            "".join(f"{getattr(row, name):7.1%}" for row in rows) for name in ("right", "shuffled")
        )
        lines.append(f"{rows[0].examples:8}  {right}  {shuffled:>15}  {rows[0].best:7.0%}")
    return "\n".join(lines)


def settings_of(command: str, seed: int, seeds: int, steps: int | None) -> list[Settings]:
    """The runs of a command."""
    usual = USUAL[command]
    usual = replace(usual, steps=usual.steps if steps is None else steps)
    if command == "text":
        return [replace(usual, seed=seed)]
    ways = WAYS if command == "positions" else ("learned",)
    return [replace(usual, positions=way, seed=seed + k) for k in range(seeds) for way in ways]

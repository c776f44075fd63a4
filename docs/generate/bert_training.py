"""The examples of BERT on a page: what ``python -m examples.pretrain_bert`` and ``python -m examples.finetune`` wrote as
records.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from examples.finetune import __main__ as finetune
from examples.pretrain_bert import __main__ as pretrain
from examples.pretrain_bert import shares

from .drawing import FAINT, ONE, TWO, group
from .markup import table

FOLDER = Path(__file__).parents[1] / "evidence" / "bert"


@cache
def pretrained(folder: Path = FOLDER) -> tuple[pretrain.Result, dict[str, Any]]:
    """The record of pre-training."""
    return pretrain.recorded(folder / "pretraining.json")


@cache
def tuned(folder: Path = FOLDER) -> tuple[finetune.Result, dict[str, Any]]:
    """The record of fine-tuning."""
    return finetune.recorded(folder / "finetuning.json")


@cache
def compared(folder: Path = FOLDER) -> tuple[shares.Result, dict[str, Any]]:
    """The record of 80/10/10 beside 100/0/0."""
    return shares.recorded(folder / "shares.json")


def paint_losses(axes: Axes, result: pretrain.Result, colours: Sequence[str]) -> None:
    """The loss of hidden words on held-out files, step by step, and in the batches of training; as a line what the former cost
    who knows how often words occur.
    """
    steps = range(1, len(result.losses) + 1)
    axes.plot(steps, result.losses, color=colours[2], linewidth=0.6, label="each batch of training")
    points = [(point.step, point.quality.words) for point in result.curve]
    axes.plot(*zip(*points, strict=True), color=colours[0], label="held-out files")
    axes.axhline(result.unigram, color=colours[1], linestyle="--", label="shares of the words")
    axes.set(xlabel="training step", ylabel="loss of a hidden word, nats")
    axes.legend()


def curve() -> str:
    """The way through pre-training."""
    result, _ = pretrained()
    return group(
        "The loss of a hidden word: on files that training never saw, and in each batch of training. The dashed line is "
        "what the former cost who knows how often words occur, and no more.",
        ("bert-pretraining", partial(paint_losses, result=result, colours=(ONE, TWO, FAINT)), (5.4, 3.0)),
    )


def heads() -> str:
    """Every head beside the baselines."""
    rows = [
        (
            finetune.LABELS[each.task].capitalize(),
            *map(_percent, (each.accuracy, each.majority, each.bag_of_words)),
        )
        for each in tuned()[0].heads
    ]
    return table(("Head", "BERT, fine-tuned", "Most frequent label", "Bag of words"), rows)


def probes() -> str:
    """Six combinations of layers, over several draws."""
    rows = [
        (
            finetune.COMBINATIONS[each.combination].capitalize(),
            str(each.width),
            *map(_percent, (each.mean, min(each.accuracies), max(each.accuracies))),
        )
        for each in tuned()[0].probes
    ]
    return table(("Features", "Width", "Right, mean", "Worst draw", "Best draw"), rows)


def models() -> str:
    """A model trained with 80/10/10 beside one trained with 100/0/0: what they say, and what probes read."""
    found = compared()[0].models
    rows = [
        ("What stood at a [MASK]", [each.hidden for each in found]),
        ("The word itself, in plain sight", [each.plain for each in found]),
        ("What stood where a false word stands", [each.false for each in found]),
        *(
            (f"Probe of the {name}: {asked}", [getattr(each, attribute)[layer] for each in found])
            for attribute, asked in (
                ("right_hand", "which word stands at the right?"),
                ("falsehood", "is this word false?"),
            )
            for layer, name in (("top", "top layer"), ("embeddings", "embeddings"))
        ),
    ]
    return table(
        ("Asked for", *(each.shares for each in found)),
        [
            (asked, *(f"{each.loss:.2f} nats, {_percent(each.right)} right" for each in said))
            for asked, said in rows
        ],
    )


def share(name: str) -> str:
    """A figure of 80/10/10 beside 100/0/0."""
    result, made = compared()
    training = result.settings["training"]
    first, second = result.models
    return {
        "words": f"{result.words:,}".replace(",", " "),
        "steps": str(training["steps"]),
        "plain": f"{first.plain.loss:.2f}",
        "plain_masked": f"{second.plain.loss:.2f}",
        "hidden": f"{first.hidden.loss:.2f}",
        "hidden_right": _percent(first.hidden.right),
        "hidden_masked": f"{second.hidden.loss:.2f}",
        "false": f"{first.false.loss:.2f}",
        "false_masked": f"{second.false.loss:.2f}",
        "made": f"seed {training['seed']} alone, recorded {made['day']} with torch {made['torch']}, "
        f"{result.processor:.0f} seconds of processor time",
    }[name]


def found(name: str) -> str:
    """A figure of pre-training."""
    result, made = pretrained()
    quality, training = result.quality, result.settings["training"]
    return {
        "steps": f"{training['steps']}",
        "batch": f"{training['batch']}",
        "parameters": f"{result.parameters:,}".replace(",", " "),
        "ids": f"{result.ids:,}".replace(",", " "),
        "entropy": f"{result.entropy:.2f}",
        "unigram": f"{result.unigram:.2f}",
        "loss": f"{quality.words:.2f}",
        "right": _percent(quality.words_right),
        "sentences": _percent(quality.sentences_right),
        "below": "never" if result.below is None else f"from step {result.below} on",
        "made": f"recorded {made['day']} with torch {made['torch']}, {result.processor:.0f} seconds of processor time",
    }[name]


def setting(name: str) -> str:
    """A figure of fine-tuning."""
    result, made = tuned()
    spent = sum(each.processor for each in result.heads)
    values = {
        "training": str(result.tuning.training),
        "measured": str(result.tuning.measured),
        "epochs": str(result.tuning.epochs),
        "layers": str(result.tuning.layers),
        "sentences": str(result.probing.training),
        "draws": str(result.probing.seeds),
        "made": f"recorded {made['day']} with torch {made['torch']}, {spent:.0f} seconds of processor time for the four heads",
    }
    return values[name]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


PARTS = {"curve": curve, "heads": heads, "probes": probes, "models": models}
FIGURES = {"pretrained": found, "tuned": setting, "share": share}


def part(name: str, figure: str = "") -> str:
    """What ``{{ bert name }}`` stands for; ``{{ bert pretrained NAME }}``, ``{{ bert tuned NAME }}`` and
    ``{{ bert share NAME }}`` are figures.
    """
    return PARTS[name]() if name in PARTS else FIGURES[name](figure)

"""Why not every hidden word is a [MASK]: a model trained with 80/10/10 beside one trained with 100/0/0.

    python -m examples.pretrain_bert.shares --record FILE

trains two models that differ in nothing else: the same text, first weights, rows and selected words. Both are then measured at
the same selected words of held-out files, in three texts:

- *hidden*: all of them are [MASK];
- *false*: there is no [MASK]; half of them are random words, and the loss at these is that of the word that stood there;
- *plain*: the text as it is; the loss is that of the word itself, which the model reads.

What a model learned to *say* at a word in plain sight is not all that its rows *hold*: so linear probes read the rows of words
in plain sight, of the top layer and of the embeddings, which know nothing of the context. Which word stands at the right, of the
most frequent ones? Is this word false?
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

import examples.pretrain_bert.shares as described
from examples import recording
from examples.finetune.baselines import fit
from examples.pretrain_bert.processes import Processes
from examples.pretrain_bert.settings import SMALL, Settings
from examples.pretrain_bert.text import SPECIAL, Prepared, prepare
from examples.pretrain_bert.training import Run
from impl._labels import IGNORED
from impl.bert.data import Batch, Corpus

SHARES = {"80/10/10": False, "100/0/0": True}
"""Of [MASK], random words and words that stay; whether all are [MASK]."""
FREQUENT = 64
"""So many words may stand at the right, for the probe."""


class Answer(NamedTuple):
    """The mean loss in nats and the share that is right."""

    loss: float
    right: float


@dataclass(frozen=True)
class Measured:
    """A model: its answers in three texts, and those of both probes, by layer."""

    shares: str
    hidden: Answer
    false: Answer
    plain: Answer
    right_hand: dict[str, Answer]
    falsehood: dict[str, Answer]


@dataclass(frozen=True)
class Result:
    """Both models; how many words were selected in held-out files, and how many of these were false."""

    settings: dict[str, Any]
    words: int
    false: int
    models: list[Measured]
    processor: float


class Rows(NamedTuple):
    """At the selected words of some batches: what stood there and at the right, which are false, the loss and whether the guess
    is right in each text; the rows of both layers, in the plain text and in the one with false words.
    """

    words: Tensor
    right_hand: Tensor
    false: Tensor
    answers: dict[str, Tensor]
    plain: dict[str, Tensor]
    falsified: dict[str, Tensor]


@torch.no_grad()
def read(run: Run, corpus: Corpus, batches: int) -> Rows:
    """Read all three texts. False words hang on the seed, and on nothing of the model."""
    run.module.eval()
    draw, found = Generator().manual_seed(run.settings.training.seed), list[Rows]()
    stream = run.stream(corpus, epochs=None, copies=1)
    for _, batch in zip(range(batches), stream, strict=False):
        selected = batch.labels != IGNORED
        words, ids = batch.labels[selected], torch.where(selected, batch.labels, batch.ids)
        random = torch.randint(len(SPECIAL), len(run.text.pieces), words.shape, generator=draw)
        false = (torch.rand(words.shape, generator=draw) < 0.5) & (random != words)
        texts = {
            "hidden": ids.masked_fill(selected, run.text.pieces.mask_id),
            "false": ids.masked_scatter(selected, torch.where(false, random, words)),
            "plain": ids,
        }
        answers, layers = {}, {}
        for name, text in texts.items():
            answers[name], layers[name] = _say(run, batch._replace(ids=text), selected, words)
        after = F.pad(ids, (0, 1))[:, 1:][selected]
        found.append(Rows(words, after, false, answers, layers["plain"], layers["false"]))
    return Rows(*(_joined([getattr(each, field) for each in found]) for field in Rows._fields))


def _joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
    return torch.cat(parts)


def _say(run: Run, batch: Batch, selected: Tensor, words: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """(loss, right) of each selected word, and its rows in the embeddings and the top layer."""
    model, segments = run.module, batch.segments
    logits = model(batch.ids, segments, batch.mask, at=selected)[0]
    layers = model.encoder(batch.ids, segments, batch.mask, all_layers=True).layers
    loss = F.cross_entropy(logits, words, reduction="none")
    answers = torch.stack([loss, (logits.argmax(-1) == words).float()], -1)
    return answers, {"embeddings": layers[0][selected], "top": layers[-1][selected]}


def probe(
    x: Tensor, labels: Tensor, asked: Tensor, expected: Tensor, classes: int, steps: int = 60
) -> Answer:
    """A linear probe that learns ``labels`` of the rows ``x``: how it answers for the rows ``asked``."""
    mu, sigma = x.mean(0), x.std(0)
    W, b = fit((x - mu) / sigma, labels, classes, steps)
    logits = (asked - mu) / sigma @ W + b
    return _answer(
        torch.stack(
            [F.cross_entropy(logits, expected, reduction="none"), (logits.argmax(-1) == expected).float()], -1
        )
    )


def _answer(each: Tensor) -> Answer:
    loss, right = each.double().mean(0).tolist()
    return Answer(round(loss, 4), round(right, 4))


def measure(run: Run, shares: str) -> tuple[Measured, Rows]:
    """All that is measured of a model; and what was read of held-out files."""
    evaluated = run.settings.training.evaluated
    learned, rows = (
        read(run, corpus, n)
        for corpus, n in ((run.text.training, 2 * evaluated), (run.text.held_out, evaluated))
    )
    frequent = torch.bincount(learned.right_hand[learned.right_hand >= len(SPECIAL)]).topk(FREQUENT).indices
    number = torch.full((len(run.text.pieces),), -1).scatter(0, frequent, torch.arange(FREQUENT))
    labels, expected = number[learned.right_hand], number[rows.right_hand]
    return Measured(
        shares,
        hidden=_answer(rows.answers["hidden"]),
        false=_answer(rows.answers["false"][rows.false]),
        plain=_answer(rows.answers["plain"]),
        right_hand={
            name: probe(
                x[labels >= 0],
                labels[labels >= 0],
                rows.plain[name][expected >= 0],
                expected[expected >= 0],
                FREQUENT,
            )
            for name, x in learned.plain.items()
        },
        falsehood={
            name: probe(x, learned.false.long(), rows.falsified[name], rows.false.long(), 2)
            for name, x in learned.falsified.items()
        },
    ), rows


def compare(settings: Settings, text: Prepared, say: Callable[[str], object] = lambda line: None) -> Result:
    """Train and measure both."""
    torch.set_num_threads(settings.training.threads)
    begun, models = time.process_time(), list[Measured]()
    for shares, all_masked in SHARES.items():
        run = Run(
            replace(settings, data=replace(settings.data, all_masked=all_masked)),
            text,
            Processes(0, 1, torch.device("cpu")),
        )
        run.train()
        measured, rows = measure(run, shares)
        models.append(measured)
        say(line(measured))
    return Result(
        settings.state(),
        len(rows.words),
        int(rows.false.sum()),
        models,
        round(time.process_time() - begun, 1),
    )


def line(each: Measured) -> str:
    """A model, as printed."""
    said = "; ".join(
        f"{name} {answer.loss:.3f} nats, {answer.right:.1%} right"
        for name, answer in (("hidden", each.hidden), ("false", each.false), ("plain", each.plain))
    )
    probes = "; ".join(
        f"{name}: word at the right {each.right_hand[name].right:.1%}, false or not {each.falsehood[name].right:.1%}"
        for name in each.right_hand
    )
    return f"{each.shares:9} {said}\n{'':10}probes of {probes}"


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    models = [
        Measured(
            each["shares"],
            *(Answer(*each[name]) for name in ("hidden", "false", "plain")),
            *(
                {layer: Answer(*answer) for layer, answer in each[name].items()}
                for name in ("right_hand", "falsehood")
            ),
        )
        for each in found.pop("models")
    ]
    return Result(**found, models=models), made


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.pretrain_bert.shares", description=(described.__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument(
        "--config", type=Path, default=SMALL, metavar="FILE", help="TOML (the small one that is shipped)"
    )
    parser.add_argument(
        "--seed", type=recording.seed, default=0, help="of weights, rows and hidden words (%(default)s)"
    )
    recording.add_outputs(parser)
    given = recording.parse(parser, arguments)
    try:
        settings = Settings.read(given.config)
        settings = replace(settings, training=replace(settings.training, seed=given.seed, steps=given.steps))
        folder = recording.folder(Path("build", "pretrain_bert"))
        result = compare(settings, prepare(settings, folder), lambda line: print(line, flush=True))
    except ValueError as error:
        parser.error(str(error))
    print(
        f"{result.words:,} words, {result.false:,} of them false; {result.processor:.0f} seconds of processor time"
    )
    if given.record:
        recording.write(asdict(result), given.record)


if __name__ == "__main__":
    main()

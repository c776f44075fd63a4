"""Reversing words: what a fixed-length vector between encoder and decoder costs, and how attention lifts it.

    python -m examples.seq2seq

trains three models of ``impl.seq2seq`` on the same task with the same steps: a source is a row of random letters, its target the
same letters from the last to the first. Without attention all of a source has to pass through one vector; with it (Bahdanau's,
Luong's) the decoder may look up each letter where it stands. Printed: how many letters (a word's end counts as one), and how many
whole words, are right when the model writes long words by itself (greedy decoding). ``--draw`` draws the learned alignment.

Nothing is fetched: words are drawn as they are needed, from generators seeded by ``--seed``. Those that are measured on are
drawn separately; that one of twenty letters or more was met in training has a probability below 10⁻²⁰.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from examples import recording
from impl.seq2seq import Config, Seq2Seq

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BEGIN, END = len(LETTERS), len(LETTERS) + 1
IGNORED = -100
"""The target behind a word's end; what ``F.cross_entropy`` leaves out."""

_SIZES = {
    "source_vocabulary": len(LETTERS),
    "target_vocabulary": len(LETTERS) + 2,
    "begin": BEGIN,
    "end": END,
}
MODELS = {
    "none": Config(**_SIZES, attention="none", embedding=48, state=104),
    "bahdanau": Config(**_SIZES, attention="bahdanau", embedding=48, state=96, alignment=48),
    "luong": Config(**_SIZES, attention="luong", embedding=48, state=96),
}
"""The model without attention is a little wider, so that it has no fewer parameters than the others."""

PARAMETERS, TRAINING, PROBE, HELD_OUT, BY_LENGTH = range(5)
"""What is drawn, each from a generator of its own."""

NAMES = {"none": "no attention", "bahdanau": "Bahdanau", "luong": "Luong"}


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides the versions of Python and torch."""

    seed: int = 0
    steps: int = 1600
    length: int = 30
    batch: int = 48
    rate: float = 3e-3
    held_out: int = 1000

    @property
    def shortest(self) -> int:
        """The shortest word that counts as long: two thirds of the longest."""
        return -(-2 * self.length // 3)


@dataclass(frozen=True)
class Words:
    """Rows of letters (b m) with their lengths, and the targets (b T) that a decoder is to write, the end word included."""

    source: Tensor
    lengths: Tensor
    target: Tensor

    @property
    def previous(self) -> Tensor:
        """The word before each of the target's: what a decoder is given in training."""
        first = torch.full((len(self.target), 1), BEGIN)
        return torch.cat((first, self.target[:, :-1].clamp(min=0)), 1)


def reversing(lengths: Tensor, generator: Generator) -> Words:
    """Random letters, and the same from the last to the first, with the end word behind them."""
    m = int(lengths.max())
    source = torch.randint(len(LETTERS), (len(lengths), m), generator=generator)
    t = torch.arange(m + 1)
    back = (lengths[:, None] - 1 - t).clamp(min=0)
    target = torch.where(t < lengths[:, None], source.gather(1, back), END)
    return Words(source, lengths, target.masked_fill(t > lengths[:, None], IGNORED))


def long_words(settings: Settings, count: int, generator: Generator) -> Words:
    """So many words of lengths uniform in shortest..length."""
    return reversing(_between(settings.shortest, settings.length, count, generator), generator)


def training_words(settings: Settings, generator: Generator) -> Words:
    """A batch of which one half has words of any length, the other long ones."""
    half = settings.batch // 2
    any_length = _between(1, settings.length, half, generator)
    long = _between(settings.shortest, settings.length, settings.batch - half, generator)
    return reversing(torch.cat((any_length, long)), generator)


def _between(low: int, high: int, count: int, generator: Generator) -> Tensor:
    return torch.randint(low, high + 1, (count,), generator=generator)


@dataclass(frozen=True)
class Point:
    """A model after some steps: the loss there, and the shares of letters and of whole long words that it writes rightly."""

    step: int
    loss: float
    letters: float
    words: float


@dataclass(frozen=True)
class Alignment:
    """One word, what was written for it, and the weight of each source letter (columns) for each written one (rows)."""

    source: str
    written: str
    weights: list[list[float]]


@dataclass(frozen=True)
class Outcome:
    """One model: its size, its time, its way through training, its shares on long words never seen, whole words right
    by length, and its alignment of one word (none without attention).
    """

    attention: str
    parameters: int
    seconds: float
    curve: list[Point]
    letters: float
    words: float
    by_length: dict[int, float]
    alignment: Alignment | None


@dataclass(frozen=True)
class Result:
    """A whole run: by the clock, and in time of a processor (what the clock would say on one that does nothing else)."""

    settings: Settings
    seconds: float
    processor: float
    outcomes: dict[str, Outcome]

    @property
    def gap(self) -> float:
        """How much larger the share of whole words is with attention (the lesser of the two) than without."""
        attending = [o.words for name, o in self.outcomes.items() if name != "none"]
        return min(attending) - self.outcomes["none"].words


def written(model: Seq2Seq, words: Words) -> tuple[Tensor, Tensor | None]:
    """What the model writes by itself, as wide as the target, and its alignments."""
    T = words.target.shape[1]
    said, alpha = model.greedy(words.source, words.lengths, T)
    return F.pad(said, (0, T - said.shape[1]), value=END), alpha


def shares(model: Seq2Seq, words: Words) -> tuple[float, float, Tensor]:
    """The shares of letters (end included) and of whole words that are right, and which words are."""
    said, _ = written(model, words)
    counted = words.target != IGNORED
    right = (said == words.target) | ~counted
    whole = right.all(1)
    return right[counted].double().mean().item(), whole.double().mean().item(), whole


def train(
    settings: Settings, config: Config, say: Callable[[str], None] = print
) -> tuple[Seq2Seq, list[Point]]:
    """A model trained with teacher forcing, and a point (and a line) for each tenth of the way."""
    model = Seq2Seq(config, generator=_generator(settings, PARAMETERS))
    generator, probe = _generator(settings, TRAINING), long_words(settings, 200, _generator(settings, PROBE))
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.rate)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, settings.steps)
    curve = []
    for step in range(1, settings.steps + 1):
        words = training_words(settings, generator)
        logits, _ = model(words.source, words.lengths, words.previous)
        loss = F.cross_entropy(logits.flatten(0, 1), words.target.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        falling.step()
        if step % max(1, settings.steps // 10) == 0:
            letters, whole, _ = shares(model, probe)
            curve.append(Point(step, round(loss.item(), 4), round(letters, 4), round(whole, 4)))
            say(f"  step {step:5d}  loss {loss.item():6.3f}  letters {letters:6.1%}  words {whole:6.1%}")
    return model, curve


def _generator(settings: Settings, use: int) -> Generator:
    """One for each use, so that no two share their draws."""
    return Generator().manual_seed(5 * settings.seed + use)


def outcome(settings: Settings, attention: str, say: Callable[[str], None] = print) -> Outcome:
    """One model trained, and measured on words that it has never seen."""
    begun, config = time.perf_counter(), MODELS[attention]
    model, curve = train(settings, config, say)
    held_out = long_words(settings, settings.held_out, _generator(settings, HELD_OUT))
    letters, whole, _ = shares(model, held_out)
    each = torch.arange(1, settings.length + 1)
    words = reversing(each.repeat_interleave(100), _generator(settings, BY_LENGTH))
    by_length = shares(model, words)[2].view(-1, 100).double().mean(1)
    return Outcome(
        attention,
        sum(x.numel() for x in model.parameters()),
        round(time.perf_counter() - begun, 1),
        curve,
        round(letters, 4),
        round(whole, 4),
        dict(zip(each.tolist(), by_length.tolist(), strict=True)),
        alignment(model, held_out),
    )


def alignment(model: Seq2Seq, words: Words) -> Alignment | None:
    """How the model aligns the first of the words."""
    first = Words(words.source[:1], words.lengths[:1], words.target[:1])
    said, alpha = written(model, first)
    if alpha is None:
        return None
    n = int(first.lengths)
    rows = [*said[0].tolist(), END].index(END)
    weights = [[round(float(x), 4) for x in row[:n]] for row in alpha[0, :rows]]
    return Alignment(_spelt(first.source[0, :n]), _spelt(said[0, :rows]), weights)


def _spelt(ids: Tensor) -> str:
    return "".join(LETTERS[i] if i < len(LETTERS) else "·" for i in ids.tolist())


def run(settings: Settings | None = None, say: Callable[[str], None] = print) -> Result:
    """All three models, one after the other."""
    settings = settings or Settings()
    begun, used, outcomes = time.perf_counter(), time.process_time(), {}
    for name in MODELS:
        say(f"{NAMES[name]} (seed {settings.seed}, {settings.steps} steps)")
        outcomes[name] = outcome(settings, name, say)
        say(f"  {outcomes[name].parameters:,} parameters, {outcomes[name].seconds:.0f} s")
    seconds, processor = time.perf_counter() - begun, time.process_time() - used
    return Result(settings, round(seconds, 1), round(processor, 1), outcomes)


# What is said and kept ------------------------------------------------------------------------------------------------


def summary(result: Result) -> str:
    """The shares on held-out words, model by model, and the gap."""
    s = result.settings
    lines = [
        f"{s.held_out} words of {s.shortest} to {s.length} letters, drawn for this alone, written by greedy decoding:",
        "",
        "                parameters   letters right   whole words right",
    ]
    lines += [
        f"{NAMES[name]:14}  {o.parameters:10,}   {o.letters:13.1%}   {o.words:17.1%}"
        for name, o in result.outcomes.items()
    ]
    return "\n".join(
        [
            *lines,
            "",
            f"gap in whole words: {100 * result.gap:.1f} percentage points; {result.seconds:.0f} s in all, "
            f"{result.processor:.0f} s of processor time",
        ]
    )


def record(result: Result, path: Path) -> None:
    """Write a result, with what it was measured with, as JSON."""
    recording.write(asdict(result), path)


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    document = recording.read(path)
    outcomes = {}
    for name, o in document["outcomes"].items():
        aligned = o["alignment"] and Alignment(**o["alignment"])
        curve, by_length = [Point(**p) for p in o["curve"]], {int(n): x for n, x in o["by_length"].items()}
        outcomes[name] = Outcome(**{**o, "curve": curve, "by_length": by_length, "alignment": aligned})
    return Result(
        Settings(**document["settings"]), document["seconds"], document["processor"], outcomes
    ), document["made"]


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.seq2seq", description=(__doc__ or "").split("\n\n")[0]
    )
    usual = Settings()
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of parameters and words (%(default)s)"
    )
    parser.add_argument(
        "--steps", type=int, default=usual.steps, help="of training, for each model (%(default)s)"
    )
    parser.add_argument(
        "--length", type=int, default=usual.length, help="letters of the longest word (%(default)s)"
    )
    recording.add_outputs(parser, "curves and alignments")
    given = recording.parse(parser, arguments, steps=1, length=2)
    # The matrices are small: on busy cores threads would wait for one another many times over.
    torch.set_num_threads(1)
    result = run(
        Settings(seed=given.seed, steps=given.steps, length=given.length), partial(print, flush=True)
    )
    print(f"\n{summary(result)}")
    if given.record:
        record(result, given.record)
    if given.draw:
        from examples.seq2seq_drawing import draw  # only who asks for a picture needs Matplotlib

        draw(result, given.draw)


if __name__ == "__main__":
    main()

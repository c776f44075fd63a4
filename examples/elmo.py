"""ELMo on a small text: "bank" gets one vector beside a river, and another where money is lent.

    python -m examples.elmo

trains the bidirectional language model of ``impl.recurrent`` (stacked LSTMs, one stack reading forward, one backward) on the
sentences of ``impl.texts.bank``, then asks it for the vectors of "bank" in sentences that it was not trained on. Printed: the
mean cosine between two of them where "bank" means the same and where it does not, layer by layer. A word's own vector is the same
everywhere: its cosine is 1. No label is used in training: subjects are only there to measure by.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from examples import recording
from impl.recurrent import BiLM, BiLMConfig, ElmoMix
from impl.similarity import cosine
from impl.texts import Sentence, bank

PROBES = (
    "my sister walked along the muddy bank of the river",
    "a swan slept on the grassy bank under the reeds",
    "the bank lent my sister a hundred pounds",
)
"""Two sentences about rivers and one about money; none stands in the text."""


@dataclass(frozen=True)
class Settings:
    """What a run depends on, besides the versions of Python and torch."""

    seed: int = 0
    epochs: int = 25
    width: int = 64
    layers: int = 2
    batch: int = 32
    rate: float = 1e-2
    held_out: int = 5
    """Every how many-th sentence with "bank" is kept from training."""


@dataclass(frozen=True)
class Layer:
    """Mean cosines between the vectors of "bank" in two held-out sentences: ``within`` a subject, both about rivers or both about
    money, and ``between`` subjects. ``nearest`` is the share of sentences whose most similar other one has the same subject,
    None for the word's own vector, which is the same in all.
    """

    name: str
    within: float
    between: float
    nearest: float | None


@dataclass(frozen=True)
class Result:
    """What a run found. Perplexity is per word and direction, on the held-out sentences."""

    settings: Settings
    words: int
    trained_on: int
    held_out: int
    perplexity_before: float
    perplexity_after: float
    untrained: tuple[Layer, ...]
    trained: tuple[Layer, ...]
    same_sense: float  # the cosine of the top layer's vectors of "bank" in the first two of PROBES
    other_sense: float  # and in the first and the third
    seconds: float = field(compare=False)


class Text:
    """Sentences as ids."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        words = sorted({word for sentence in sentences for word in sentence.words})
        self.id = {word: number for number, word in enumerate(words)}

    def batch(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Ids (n T), padded with 0, and lengths (n)."""
        rows = [torch.tensor([self.id[word] for word in words]) for words in sentences]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor(list(map(len, rows)))

    def of_bank(self, model: BiLM, sentences: Sequence[Sequence[str]]) -> Tensor:
        """The vectors (n L+1 2d) of "bank" in each sentence."""
        with torch.no_grad():
            states = model.states(*self.batch(sentences))
        places = torch.tensor([words.index("bank") for words in sentences])
        return states[torch.arange(len(sentences)), places]


def split(sentences: Sequence[Sentence], settings: Settings) -> tuple[list[Sentence], list[Sentence]]:
    """Sentences to train on, and every few of those with "bank", of either subject, to measure on."""
    generator, held_out = Generator().manual_seed(settings.seed), set[Sentence]()
    for subject in ("river", "money"):
        banks = [each for each in sentences if each.subject == subject and "bank" in each.words]
        order = torch.randperm(len(banks), generator=generator).tolist()
        held_out |= {banks[i] for i in order[: len(banks) // settings.held_out]}
    training = [each for each in sentences if each not in held_out]
    return training, [each for each in sentences if each in held_out]


def run(settings: Settings, say: Callable[[str], object] = lambda line: None) -> Result:
    """Train, and measure before and after. ``say`` is told how it goes."""
    start, sentences = time.perf_counter(), bank()
    text, (training, measured) = Text(sentences), split(sentences, settings)
    generator = Generator().manual_seed(settings.seed)
    model = BiLM(BiLMConfig(len(text.id), settings.width, settings.layers))
    model.reset_parameters(generator)
    before, untrained = perplexity(model, text, measured), layers(model, text, measured)
    ascent = torch.optim.Adam(model.parameters(), lr=settings.rate, maximize=True)
    for epoch in range(1, settings.epochs + 1):
        for rows in torch.randperm(len(training), generator=generator).split(settings.batch):
            ids, lengths = text.batch([training[i].words for i in rows.tolist()])
            ascent.zero_grad()
            (model.objective(ids, lengths).sum() / (2 * lengths.sum())).backward()
            ascent.step()
        if epoch % 5 == 0 or epoch == settings.epochs:
            say(f"epoch {epoch:2}: perplexity of held-out sentences {perplexity(model, text, measured):.2f}")
    top = text.of_bank(model, [each.split() for each in PROBES])[:, -1]
    return Result(
        settings,
        words=len(text.id),
        trained_on=len(training),
        held_out=len(measured),
        perplexity_before=before,
        perplexity_after=perplexity(model, text, measured),
        untrained=untrained,
        trained=layers(model, text, measured),
        same_sense=cosine(top[0], top[1]).item(),
        other_sense=cosine(top[0], top[2]).item(),
        seconds=time.perf_counter() - start,
    )


def perplexity(model: BiLM, text: Text, sentences: Sequence[Sentence]) -> float:
    """exp of the mean negative log-likelihood of a word, over both directions."""
    ids, lengths = text.batch([each.words for each in sentences])
    with torch.no_grad():
        return math.exp(-(model.objective(ids, lengths).sum() / (2 * lengths.sum())).item())


def layers(model: BiLM, text: Text, sentences: Sequence[Sentence]) -> tuple[Layer, ...]:
    """The measurement: each layer's vectors of "bank" beside each other, then those of the layers' mean."""
    vectors = text.of_bank(model, [each.words for each in sentences])
    river = torch.tensor([each.subject == "river" for each in sentences])
    same, other = river[:, None] == river, ~torch.eye(len(sentences), dtype=torch.bool)
    names = [
        "the word's own vector",
        *(f"LSTM layer {j + 1}" for j in range(model.config.layers)),
        "their mean",
    ]
    found: list[Layer] = []
    mixed = ElmoMix(len(names) - 1)(vectors).detach()  # as it begins, before a task has taught it weights
    for name, vector in zip(names, (*vectors.unbind(1), mixed), strict=True):
        cosines = cosine(vector[:, None], vector)
        nearest = cosines.masked_fill(~other, -math.inf).argmax(-1)
        found.append(
            Layer(
                name,
                within=cosines[same & other].mean().item(),
                between=cosines[~same].mean().item(),
                nearest=(river[nearest] == river).double().mean().item() if len(found) else None,
            )
        )
    return tuple(found)


def summary(result: Result) -> str:
    """What was found, as printed."""
    lines = [
        f'{result.trained_on} sentences to train on, {result.held_out} held out, all with "bank"; {result.words} words.',
        f"Perplexity of the held-out ones: {result.perplexity_before:.1f} before training, "
        f"{result.perplexity_after:.1f} after.",
        "",
        'Mean cosine between "bank" in two held-out sentences of the same subject, and of different ones; and how often',
        "the most similar of the others has the same subject:",
        "",
        f"{'':22} {'before training':^25}   {'after training':^25}",
        f"{'':22} {'same':>8} {'other':>8} {'nearest':>8}  {'same':>8} {'other':>8} {'nearest':>8}",
    ]
    for before, after in zip(result.untrained, result.trained, strict=True):
        figures = "  ".join(
            f"{each.within:8.3f} {each.between:8.3f} {'–' if each.nearest is None else f'{each.nearest:.0%}':>8}"
            for each in (before, after)
        )
        lines.append(f"{before.name:22} {figures}")
    first, second, third = PROBES
    lines += [
        "",
        f'The top layer\'s "bank" in "{first}",',
        f'  beside that in "{second}": {result.same_sense:.3f}',
        f'  beside that in "{third}": {result.other_sense:.3f}',
        "",
        f"{result.seconds:.0f} seconds.",
    ]
    return "\n".join(lines)


def record(result: Result, path: Path) -> None:
    """Write a result, with what it was measured with, as JSON."""
    recording.write(asdict(result), path)


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A result as it was written, and what it was measured with."""
    found = recording.read(path)
    made = found.pop("made")
    for when in ("untrained", "trained"):
        found[when] = tuple(Layer(**each) for each in found[when])
    return Result(**{**found, "settings": Settings(**found["settings"])}), made


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.elmo", description=(__doc__ or "").split("\n\n")[0]
    )
    usual = Settings()
    parser.add_argument(
        "--seed", type=recording.seed, default=usual.seed, help="of parameters and order (%(default)s)"
    )
    parser.add_argument("--epochs", type=int, default=usual.epochs, help="of training (%(default)s)")
    recording.add_outputs(parser)
    given = recording.parse(parser, arguments, epochs=1)
    torch.set_num_threads(1)  # the work is small: two threads would wait for each other
    result = run(Settings(seed=given.seed, epochs=given.epochs), lambda line: print(line, flush=True))
    print(f"\n{summary(result)}")
    if given.record:
        record(result, given.record)


if __name__ == "__main__":
    main()

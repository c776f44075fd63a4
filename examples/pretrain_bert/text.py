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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TextIO

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from torch import Tensor

from examples.pretrain_bert.settings import Settings
from impl.bert import data as bert
from impl.bert.data import Corpus
from impl.bert.tokenizer import WordPiece

__all__ = ["Prepared", "documents", "files", "learned", "prepare", "sentences"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""The first ids, as in BERT's own vocabularies, though not in their places."""
ALPHABET = 300
"""So many characters may stand in a piece, the most frequent ones; a word with another one is unknown."""


class Prepared(NamedTuple):
    """A vocabulary, and ids to learn from and to measure on."""

    pieces: WordPiece
    training: Corpus
    held_out: Corpus

    @property
    def continues(self) -> Tensor:
        """Whether an id continues a word (V)."""
        return torch.tensor([piece.startswith("##") for piece in self.pieces.vocabulary])


def files(source: str) -> list[Path]:
    """All of a source, in one order on every machine that has the same; of the standard library, the modules at its top."""
    if source == "stdlib":
        root, pattern, endings = Path(sysconfig.get_paths()["stdlib"]), "*", {".py"}
    else:
        root, pattern, endings = Path(source), "**/*", {".py", ".txt", ".md", ".rst"}
    if not root.is_dir():
        raise ValueError(f"expected a folder of text; got {root}")
    found = [path for path in root.glob(pattern) if path.suffix in endings and path.is_file()]
    if not found:
        raise ValueError(f"expected {', '.join(sorted(endings))} in {root}; got none")
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


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


def learned(sentences: Callable[[], Iterable[str]], size: int) -> list[str]:
    """The pieces of a vocabulary, the same every time. ``tokenizers`` numbers the characters as a hash has it, and pairs of
    pieces that are as frequent follow the numbers; so the characters are numbered here, as special tokens.
    """
    # Of its own: the tokenizer is locked while it learns from what is told.
    normalizer = normalizers.BertNormalizer(lowercase=True)
    learning = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learning.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    counts = Counter[str]()
    for sentence in sentences():
        counts.update(normalizer.normalize_str(sentence))
    counts.pop(" ", None)
    known = sorted(counts, key=lambda character: (-counts[character], character))[:ALPHABET]
    others = str.maketrans(dict.fromkeys(counts.keys() - set(known), " "))
    first = [*SPECIAL, *known, *(f"##{character}" for character in known)]
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=first, show_progress=False)
    told = (normalizer.normalize_str(sentence).translate(others) for sentence in sentences())
    learning.train_from_iterator(told, trainer)
    ids = learning.get_vocab()
    return sorted(ids, key=ids.__getitem__)


def prepare(settings: Settings, cache: Path) -> Prepared:
    """What the settings say, from the cache if it was made before: the text as BERT's was given, a sentence on each line and a
    blank line behind a document; the vocabulary; the ids.
    """
    folder = cache / _name(settings)
    folder.mkdir(parents=True, exist_ok=True)
    for name, paths in _split(settings).items():
        with _once(folder / f"{name}.txt") as file:
            for path in paths if file else ():
                for document in documents(path, settings.text.kinds):
                    file.writelines(f"{sentence}\n" for sentence in document)
                    file.write("\n")
    told = folder / "training.txt"
    with _once(folder / "vocab.txt") as file:
        if file:
            pieces = learned(lambda: chain.from_iterable(bert.documents([told])), settings.vocabulary.size)
            file.writelines(f"{piece}\n" for piece in pieces)
    made = WordPiece.from_file(folder / "vocab.txt")
    return Prepared(
        made, *(_corpus(folder / name, settings.text.chunk, made) for name in ("training", "held_out"))
    )


def _corpus(folder: Path, chunk: int, pieces: WordPiece) -> Corpus:
    if folder.exists():
        return Corpus(folder, chunk)
    text = bert.documents([folder.with_suffix(".txt")])
    # Without what stands around a text alone.
    found = ((pieces.encode(sentence).ids[1:-1] for sentence in document) for document in text)
    return Corpus.write(folder, found, longest=chunk, chunk=chunk)


def _split(settings: Settings) -> dict[str, list[Path]]:
    """Every so many-th file is held out, the others are not."""
    found, every = files(settings.text.source), settings.text.held_out
    if len(found) < every:
        raise ValueError(f"expected at least {every} files, of which one is held out; got {len(found)}")
    kept = found[every - 1 :: every]
    return {"training": [path for path in found if path not in set(kept)], "held_out": kept}


def _name(settings: Settings) -> str:
    """Of what is cached: it hangs on these settings, and on Python's version where its library is read."""
    made = json.dumps(
        [asdict(settings.text), asdict(settings.vocabulary), platform.python_version()], sort_keys=True
    )
    return f"text-{hashlib.blake2b(made.encode(), digest_size=6).hexdigest()}"


@contextmanager
def _once(path: Path) -> Iterator[TextIO | None]:
    """A file to write, which has the name once it is whole; None if it is there."""
    if path.exists():
        yield None
        return
    beside = path.with_name(path.name + ".part")
    with beside.open("w", encoding="utf-8") as file:
        yield file
    beside.replace(path)

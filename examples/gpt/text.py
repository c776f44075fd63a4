"""The text of ``examples.gpt``: the source of Python's own library, file by file, and what a model makes of files held out."""

from __future__ import annotations

import hashlib
import json
import math
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import Generator, Tensor

from impl.gpt import GPT, BytePairs
from impl.gpt.tokenizer import ALPHABET, END

LEFT_OUT = {"site-packages", "test", "tests", "idle_test", "encodings", "pydoc_data"}
"""Folders: what is not Python's, tests, and tables that programs wrote."""
HELD_OUT = 40
"""Of how many files one is held out, by a hash of its name: the same ones whatever else a run is told."""
IGNORED = -100


@dataclass(frozen=True)
class Files:
    """What is read, and what is held out: each file's text."""

    training: list[str]
    held_out: list[str]


def library(root: Path | None = None) -> Files:
    """The source of Python's library, or of what a folder holds. ValueError unless there are files of either kind."""
    root = root or Path(sysconfig.get_paths()["stdlib"])
    found: dict[bool, list[str]] = {False: [], True: []}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if LEFT_OUT.isdisjoint(name.parts):
            digest = hashlib.blake2b(name.as_posix().encode(), digest_size=4).digest()
            try:
                text = path.read_bytes().decode()
            except UnicodeDecodeError:  # another encoding, which the file declares
                continue
            if text:
                found[int.from_bytes(digest) % HELD_OUT == 0].append(text)
    if not (found[False] and found[True]):
        raise ValueError(f"expected Python files to train on and to hold out in {root}; got too few")
    return Files(found[False], found[True])


def learned(texts: Sequence[str], size: int) -> BytePairs:
    """A vocabulary of so many tokens: the bytes, the pairs that were most frequent, and the end. The same every time: the bytes
    are numbered here, as tokens of their own, where the library would follow a hash.
    """
    learning = Tokenizer(models.BPE())
    learning.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_ = list(ALPHABET.values())
    trainer = trainers.BpeTrainer(vocab_size=size - 1, special_tokens=bytes_, show_progress=False)
    learning.train_from_iterator(texts, trainer)
    made = json.loads(learning.to_str())["model"]
    return BytePairs({**made["vocab"], END: len(made["vocab"])}, made["merges"])


@dataclass(frozen=True)
class Text:
    """The task: the ids of what is read, file after file, and of each file that is held out, each begun by the end of another."""

    tokens: BytePairs
    training: Tensor
    held_out: list[Tensor]
    bytes: int
    """Of the files that are held out."""
    context: int

    @classmethod
    def of(cls, files: Files, tokens: BytePairs, context: int) -> Text:
        """The files in the tokens' ids."""
        read, held = (_ids(tokens, texts) for texts in (files.training, files.held_out))
        return cls(tokens, torch.cat(read), held, sum(len(text.encode()) for text in files.held_out), context)

    @property
    def vocabulary(self) -> int:
        """Of how many tokens."""
        return len(self.tokens)

    @property
    def bytes_each(self) -> float:
        """How many bytes a token of the held-out files stands for on average."""
        return self.bytes / sum(len(ids) - 1 for ids in self.held_out)

    def draw(self, batch: int, generator: Generator) -> Tensor:
        """So many pieces of the text, (batch context)."""
        starts = torch.randint(len(self.training) - self.context + 1, (batch, 1), generator=generator)
        return self.training[starts + torch.arange(self.context)]

    def probe(self, many: int = 64) -> Tensor:
        """Pieces of the held-out files, spread evenly, (many context)."""
        whole = torch.cat(self.held_out)
        starts = torch.linspace(0, len(whole) - self.context, many).long()
        return whole[starts[:, None] + torch.arange(self.context)]

    def measure(self, model: GPT, many: int = 64) -> float:
        """Bits for a byte of a probe: a token's bits, by the mean length of a token."""
        with torch.no_grad():
            return model.loss(self.probe(many)).item() / math.log(2) / self.bytes_each


def bits_per_byte(model: GPT, text: Text) -> float:
    """Of all held-out files: −log₂ of the probability that the model gives to their tokens, for each of their bytes.

    A file is read in windows that overlap by half, and what is new in each is counted: every token is predicted from half
    a window before it at least, or from all there is.
    """
    n, half, total = text.context, text.context // 2, 0.0
    read, asked = [], []
    for ids in text.held_out:
        for start in range(0, max(1, len(ids) - 1 - half), half):
            x, y = ids[start : start + n], ids[start + 1 : start + n + 1].clone()
            if start:
                y[: n - half] = IGNORED
            read.append(F.pad(x, (0, n - len(x))))
            asked.append(F.pad(y, (0, n - len(y)), value=IGNORED))
    with torch.no_grad():
        for x, y in zip(torch.stack(read).split(32), torch.stack(asked).split(32), strict=True):
            logits = model(x).flatten(0, 1).float()
            total += F.cross_entropy(logits, y.flatten(), ignore_index=IGNORED, reduction="sum").item()
    return total / math.log(2) / text.bytes


def order_matters(model: GPT, text: Text) -> tuple[float, float]:
    """Bits for the last token of the probe's pieces: of what stands before it as it is, and in a random order, the last token
    before it alone left in its place.
    """
    pieces = text.probe(256)
    order = torch.rand(len(pieces), text.context - 2, generator=Generator().manual_seed(0)).argsort(1)
    mixed = torch.cat((pieces[:, :-2].gather(1, order), pieces[:, -2:]), 1)
    with torch.no_grad():
        losses = [F.cross_entropy(model(x[:, :-1])[:, -1], x[:, -1]).item() for x in (pieces, mixed)]
    return losses[0] / math.log(2), losses[1] / math.log(2)


def _ids(tokens: BytePairs, texts: Sequence[str]) -> list[Tensor]:
    end = tokens.id_of[END]
    return [torch.tensor([end, *tokens.encode(text)]) for text in texts]

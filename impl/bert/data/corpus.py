"""A text as ids on the disk: written sentence by sentence, read chunk by chunk, so that neither has to fit into memory.

A document is a run of sentences, a sentence a run of ids. Three files hold them: all ids in a row, where each sentence begins
among them, and which sentence each document begins with. They are mapped into memory: only what is read is loaded, and
processes that read the same corpus share it.
"""

from __future__ import annotations

import bisect
import shutil
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

__all__ = ["Chunk", "Corpus", "documents"]

FILES = {"tokens": ("i", torch.int32), "sentences": ("q", torch.int64), "documents": ("q", torch.int64)}
"""Of a folder: the type of their entries, to ``array`` and to torch."""


class Chunk(NamedTuple):
    """Some documents, in memory: their ids in a row; where each sentence begins in it, and where the last one ends; which
    sentence each document begins with, and how many there are.
    """

    tokens: Tensor
    sentences: list[int]
    documents: list[int]

    def sentence(self, number: int) -> Tensor:
        """The ids of one."""
        return self.tokens[self.sentences[number] : self.sentences[number + 1]]

    def document_of(self, sentence: int) -> tuple[int, int]:
        """The first sentence of the document that holds it, and the first behind that."""
        number = bisect.bisect_right(self.documents, sentence)
        return self.documents[number - 1], self.documents[number]


class Corpus:
    """What ``Corpus.write`` left in a folder, in chunks of about so many ids: as many whole documents as begin within them."""

    def __init__(self, folder: Path, chunk: int = 2**20) -> None:
        if chunk < 1:
            raise ValueError(f"Corpus: expected chunk >= 1; got {chunk}")
        self.folder, self.chunk = folder, chunk
        self._tokens, self._sentences, self._documents = (
            _map_file(folder / name, dtype) for name, (_, dtype) in FILES.items()
        )
        # Where each document begins; a chunk begins with the first document that begins in it.
        begins = self._sentences[self._documents]
        steps = torch.arange(0, int(begins[-1]), chunk)
        first = torch.searchsorted(begins, steps).unique()
        self._bounds = torch.cat([first, torch.tensor([len(begins) - 1])]).unique().tolist()

    def __len__(self) -> int:
        """How many chunks."""
        return len(self._bounds) - 1

    def __getitem__(self, number: int) -> Chunk:
        first, last = self._bounds[number], self._bounds[number + 1]
        documents = self._documents[first : last + 1]
        sentences = self._sentences[documents[0] : documents[-1] + 1]
        tokens = self._tokens[sentences[0] : sentences[-1]].long()
        return Chunk(tokens, (sentences - sentences[0]).tolist(), (documents - documents[0]).tolist())

    def counts(self, V: int) -> Tensor:
        """How often each of V ids occurs, in all chunks."""
        found = torch.zeros(V, dtype=torch.int64)
        for number in range(len(self)):
            found += torch.bincount(self[number].tokens, minlength=V)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process maps the files itself."""
        return type(self), (self.folder, self.chunk)

    @classmethod
    def write(
        cls,
        folder: Path,
        documents: Iterable[Iterable[Sequence[int]]],
        *,
        longest: int = 2**20,
        chunk: int = 2**20,
    ) -> Corpus:
        """Put documents into a folder that is not there yet. It appears when all of them are in it. Sentences without ids, and
        documents without sentences, are left out; a document of more than ``longest`` ids is continued as another.
        """
        beside = folder.with_name(folder.name + ".part")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        tokens, sentences, begun = 0, 0, 0
        with (
            (beside / "tokens").open("wb") as in_tokens,
            (beside / "sentences").open("wb") as in_sentences,
            (beside / "documents").open("wb") as in_documents,
        ):
            for document in documents:
                fresh = True
                for sentence in document:
                    if not sentence:
                        continue
                    if fresh or tokens - begun + len(sentence) > longest:
                        array("q", [sentences]).tofile(in_documents)
                        fresh, begun = False, tokens
                    array("q", [tokens]).tofile(in_sentences)
                    array("i", sentence).tofile(in_tokens)
                    tokens, sentences = tokens + len(sentence), sentences + 1
            array("q", [tokens]).tofile(in_sentences)
            array("q", [sentences]).tofile(in_documents)
        if not tokens:
            raise ValueError(f"Corpus: expected some ids to write into {folder}; got none")
        beside.rename(folder)
        return cls(folder, chunk)


def documents(files: Iterable[Path]) -> Iterator[Iterator[str]]:
    """The documents of text files in the form that BERT's were given in: a sentence on each line, and a blank line (or the end
    of the file) behind a document. A line is held at a time. Each document is to be read before the next is asked for.
    """
    for path in files:
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.strip():
                    yield _until_blank(line, file)


def _until_blank(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first.strip()
    for line in rest:
        if not line.strip():
            return
        yield line.strip()


def _map_file(path: Path, dtype: torch.dtype) -> Tensor:
    size = path.stat().st_size // torch.empty(0, dtype=dtype).element_size()
    return torch.from_file(str(path), shared=False, size=size, dtype=dtype)

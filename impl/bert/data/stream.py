"""A stream of examples from a corpus: one sequence, whoever reads it, which can be left anywhere and gone on with.

What is drawn for an example hangs on the seed, the chunk and the number of its pair in it, and on nothing that was drawn
before. Every reader (a worker of a DataLoader, a process among several) plans all pairs, which is quick, and makes the
examples that are its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Generator
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from impl.bert.data.collating import Batch, Collator, Example, Place
from impl.bert.data.corpus import Chunk, Corpus
from impl.bert.data.corruption import Corruption
from impl.bert.data.pairs import Pair, PairLaw, packed, plan

__all__ = ["Batches", "PairStream"]


class PairStream(IterableDataset[Example]):
    """Corrupted pairs, over and over, chunks and the pairs in each in a new order each time.

    ============  =============================================================================================================
    ``batch``     how many examples make a batch, of all processes together. With workers, torch takes one batch from each in
                  turn, so the stream has to know. Its DataLoader's ``batch_size`` is ``batch // ranks``
    ``epochs``    how often the corpus is gone through. None: without end
    ``copies``    None: pairs and corruption are drawn anew each time (dynamic masking, RoBERTa). A number: they are fixed in
                  so many copies of the corpus, one after the other (BERT: 10)
    ``rank``      which of ``ranks`` processes this is: each has its part of every batch
    ============  =============================================================================================================

    ``state_dict`` says where the next example is, for any number of workers and processes, and ``load_state_dict`` goes there.
    Whoever iterates goes on from there, too; at the end, it is the beginning. Read by workers, which are processes of their
    own, the stream learns how far they are from ``Batches``.
    """

    def __init__(
        self,
        corpus: Corpus,
        law: PairLaw,
        corruption: Corruption,
        *,
        cls: int,
        sep: int,
        batch: int = 1,
        seed: int = 0,
        epochs: int | None = None,
        copies: int | None = None,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        super().__init__()
        if batch < 1 or ranks < 1 or batch % ranks:
            raise ValueError(
                f"PairStream: expected a batch that ranks divide; got batch {batch}, ranks {ranks}"
            )
        if not 0 <= rank < ranks:
            raise ValueError(f"PairStream: expected rank in 0..{ranks - 1}; got {rank}")
        if copies is not None and copies < 1:
            raise ValueError(f"PairStream: expected copies >= 1 or None; got {copies}")
        self.corpus, self.law, self.corruption, self.cls, self.sep = corpus, law, corruption, cls, sep
        self.batch, self.seed, self.epochs, self.copies = batch, seed, epochs, copies
        self.rank, self.ranks = rank, ranks
        self.place = Place()

    def state_dict(self) -> dict[str, int]:
        """Where the next example is."""
        return self.place._asdict()

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go where another stream was."""
        self.place = Place(**state)

    def __iter__(self) -> Iterator[Example]:
        """This worker's examples, of this process."""
        worker = get_worker_info()
        mine, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        part = self.batch // self.ranks
        begins = self.place
        for number, drawn in enumerate(self._walk(self.place)):
            batch, row = divmod(number, self.batch)
            if row == 0:
                begins = drawn.place
            if batch % workers == mine and row // part == self.rank:
                # Behind its last row, a process is where all are: behind the batch.
                behind = self.batch if row % part == part - 1 else row + 1
                self.place = begins._replace(behind=behind)
                yield self._example(drawn, begins)
        self.place = Place()

    def _walk(self, start: Place) -> Iterator[_Drawn]:
        """All pairs from a place on."""
        epoch, first, pair, behind = start
        while self.epochs is None or epoch < self.epochs:
            version = epoch if self.copies is None else epoch % self.copies
            order, some = self._order(len(self.corpus), "chunks", epoch), first > 0
            for turn in range(first, len(order)):
                chunk, number = self.corpus[order[turn]], order[turn]
                pairs = plan(chunk, self.law, Random(self._key("pairs", version, number)))
                some |= bool(pairs)
                shuffled = self._order(len(pairs), "order", epoch, number)
                for at in range(pair, len(pairs)):
                    if behind:
                        behind -= 1
                        continue
                    which = shuffled[at]
                    key = self._key("corruption", version, number, which)
                    yield _Drawn(Place(epoch, turn, at), chunk, pairs[which], key)
                pair = 0
            if not some:
                raise ValueError(
                    f"PairStream: expected a document of two sentences in {self.corpus.folder}; got none"
                )
            epoch, first = epoch + 1, 0

    def _example(self, drawn: _Drawn, begins: Place) -> Example:
        tokens, pair = drawn.chunk.tokens, drawn.pair
        ids, segments, special = packed(
            tokens[slice(*pair.a)], tokens[slice(*pair.b)], self.law.max_length, self.cls, self.sep
        )
        ids, labels = self.corruption(ids, special, Generator().manual_seed(drawn.key))
        return Example(ids, segments, labels, pair.label, begins)

    def _order(self, count: int, *use: Any) -> list[int]:
        order: list[int] = torch.randperm(count, generator=Generator().manual_seed(self._key(*use))).tolist()
        return order

    def _key(self, *use: Any) -> int:
        """A seed for each use: 63 bits of a hash."""
        digest = hashlib.blake2b(repr((self.seed, *use)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") >> 1


class _Drawn(NamedTuple):
    """A pair, the chunk it is in, its place in the sequence, and the seed of its corruption."""

    place: Place
    chunk: Chunk
    pair: Pair
    key: int


class Batches:
    """The batches of a stream, by a DataLoader with so many workers: ``state_dict`` says where the next one is, with any
    number of workers and whatever they have read ahead.
    """

    def __init__(
        self, stream: PairStream, collator: Collator, workers: int = 0, pin_memory: bool = False
    ) -> None:
        self.stream = stream
        self.loader: DataLoader[Example] = DataLoader(
            stream,
            batch_size=stream.batch // stream.ranks,
            collate_fn=collator,
            num_workers=workers,
            pin_memory=pin_memory,
            # Nothing is drawn from torch's own generator, not even the seeds of workers, which are not used.
            generator=Generator(),
        )

    def __iter__(self) -> Iterator[Batch]:
        for batch in self.loader:
            self.stream.place = Place(*batch.begins.tolist())._replace(behind=self.stream.batch)
            yield batch
        self.stream.place = Place()

    def state_dict(self) -> dict[str, int]:
        """Where the next batch is."""
        return self.stream.state_dict()

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go where another was. Iterations that have begun do not heed it."""
        self.stream.load_state_dict(state)

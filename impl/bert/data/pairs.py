"""Pairs of sentences for BERT's second task, and how two of them are packed into one row.

Half of the pairs are a sentence and the one that follows it, half a sentence and another: the label is drawn first, by itself,
so that nothing but the sentences can tell it. Source: Devlin et al. 2019, "BERT", section 3.1 and appendix A.2; ALBERT's task
of sentence order: Lan et al. 2020; none: Liu et al. 2019, "RoBERTa".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from impl._config import check_fields, expect
from impl.bert.data.corpus import Chunk
from impl.bert.pieces import pack

__all__ = ["NEXT", "OTHER", "Pair", "PairLaw", "packed", "plan"]

NEXT, OTHER = 0, 1
"""Labels, as BERT's head has them: the second sentence follows the first, or does not."""
TRIES = 1000
"""Sentences that are drawn before a chunk counts as one whose sentences all read the same."""


class Pair(NamedTuple):
    """Two runs of ids of a chunk, each from where it begins to where it ends, and the label. Without a second task, b is
    empty.
    """

    a: tuple[int, int]
    b: tuple[int, int]
    label: int


@dataclass(frozen=True)
class PairLaw:
    """How pairs are drawn.

    ===============  ========================================================================================================
    ``task``         "next": b follows a, or is another sentence; "order" (ALBERT): b follows a, or a follows b; "none"
                     (RoBERTa): there is no b
    ``negatives``    what another sentence is. "not_next": any of the chunk, uniformly, but the true next one and what reads the
                     same; "other_document": any of another document, where the chunk has one, that does not read the same;
                     "any": any whatever, the true next one, too, as BERT's original cannot exclude
    ``filled``       both are runs of sentences that fill the row, cut in two at a random place, as in BERT; False: single
                     sentences
    ``short``        the probability that a filled row aims at a length that is drawn from 2 to ``max_length`` − 3 (0.1 in BERT)
    ``max_length``   of a row, with its special tokens
    ===============  ========================================================================================================
    """

    max_length: int
    task: Literal["next", "order", "none"] = "next"
    negatives: Literal["not_next", "other_document", "any"] = "not_next"
    filled: bool = True
    short: float = 0.1

    def __post_init__(self) -> None:
        check_fields(self)
        expect(self, self.max_length >= 5, "max_length >= 5: [CLS] a [SEP] b [SEP]", "max_length")
        expect(self, 0 <= self.short <= 1, "0 <= short <= 1", "short")


def plan(chunk: Chunk, law: PairLaw, draw: Random) -> list[Pair]:
    """All pairs of a chunk, in the order of its text. A sentence that no other follows begins none."""
    found = []
    for first, last in zip(chunk.documents, chunk.documents[1:], strict=False):
        found += list(
            _singles(chunk, law, draw, first, last)
            if law.task == "none"
            else _pairs(chunk, law, draw, first, last)
        )
    return found


def _pairs(chunk: Chunk, law: PairLaw, draw: Random, first: int, last: int) -> Iterator[Pair]:
    """Of a document."""
    begin = chunk.sentences
    while first + 1 < last:
        aim = _aim(law, draw, law.max_length - 3)
        end = _find_end(chunk, first, last, aim, at_least=2) if law.filled else first + 2
        cut = draw.randrange(first + 1, end)
        a, follows = (begin[first], begin[cut]), (begin[cut], begin[end])
        if draw.random() < 0.5:
            yield Pair(a, follows, NEXT)
            first = end if law.filled else cut
        elif law.task == "order":
            yield Pair(follows, a, OTHER)
            first = end if law.filled else cut
        else:
            other = _other(chunk, cut, law, draw)
            if other is not None:
                stop = other + 1
                if law.filled:
                    stop = _find_end(
                        chunk, other, chunk.document_of(other)[1], aim - (a[1] - a[0]), at_least=1
                    )
                yield Pair(a, (begin[other], begin[stop]), OTHER)
            # What followed was not used: it is next.
            first = cut


def _singles(chunk: Chunk, law: PairLaw, draw: Random, first: int, last: int) -> Iterator[Pair]:
    begin = chunk.sentences
    while first < last:
        aim = _aim(law, draw, law.max_length - 2)
        end = _find_end(chunk, first, last, aim, at_least=1) if law.filled else first + 1
        yield Pair((begin[first], begin[end]), (begin[end], begin[end]), NEXT)
        first = end


def _aim(law: PairLaw, draw: Random, room: int) -> int:
    """How many ids a filled row is to have."""
    return draw.randint(2, room) if law.filled and draw.random() < law.short else room


def _find_end(chunk: Chunk, first: int, last: int, aim: int, at_least: int) -> int:
    """Where the run of sentences from ``first`` on ends that has as many ids as aimed at, or reaches ``last``."""
    begin, end = chunk.sentences, first + at_least
    while end < last and begin[end] - begin[first] < aim:
        end += 1
    return end


def _other(chunk: Chunk, true: int, law: PairLaw, draw: Random) -> int | None:
    """Another sentence than the true next one; None where all read as that one does."""
    count = len(chunk.sentences) - 1
    if law.negatives == "any":
        return draw.randrange(count)
    first, last = chunk.document_of(true)
    if law.negatives == "not_next" or last - first == count:
        first, last = true, true + 1
    reads = chunk.sentence(true)
    for _ in range(TRIES):
        drawn = draw.randrange(count - (last - first))
        drawn += (last - first) * (drawn >= first)
        if not torch.equal(chunk.sentence(drawn), reads):
            return drawn
    return None


def packed(
    a: Int64[Tensor, "n_a"], b: Int64[Tensor, "n_b"], max_length: int, cls: int, sep: int
) -> tuple[Int64[Tensor, "n"], Int64[Tensor, "n"], Bool[Tensor, "n"]]:
    """[CLS] a [SEP] b [SEP], or [CLS] a [SEP] where b is empty: ids, segments (0 up to the first [SEP], then 1), and where the
    special tokens are. What is too long loses the last ids of the longer of both, one after the other; of two that are as
    long, b does.
    """
    ids, segments = pack(a.tolist(), b.tolist() if len(b) else None, cls=cls, sep=sep, longest=max_length)
    special = torch.zeros(len(ids), dtype=torch.bool)
    special[[0, segments.count(0) - 1, -1]] = True
    return torch.tensor(ids), torch.tensor(segments), special

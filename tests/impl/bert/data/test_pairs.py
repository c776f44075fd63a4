from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import config

from impl.bert.data import NEXT, OTHER, Chunk, Corpus, PairLaw, packed, plan

from .conftest import made


def chunk_of(documents: list[list[list[int]]], folder: Path) -> Chunk:
    """All of them in one."""
    return Corpus.write(folder / "one", documents)[0]


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("negatives", ["not_next", "other_document"])
def test_half_of_the_pairs_follow_and_another_sentence_never_does(
    filled: bool, negatives: Any, tmp_path: Path
) -> None:
    """What is labelled as next begins where a ends, in its document; the others begin elsewhere, in another document if so
    asked. Labels are drawn by themselves: their share is within five sigma of a half, which one test in a million misses.
    """
    chunk = chunk_of(made([13, 1, 5, 2, 29, 3, 1, 17, 7]), tmp_path)
    law, labels = PairLaw(23, negatives=negatives, filled=filled, short=0.2), Counter[int]()
    begins = {begin: number for number, begin in enumerate(chunk.sentences)}
    for seed in range(40):
        for a, b, label in plan(chunk, law, Random(seed)):
            labels[label] += 1
            of_a, of_b = (chunk.document_of(begins[run[0]]) for run in (a, b))
            for run, document in ((a, of_a), (b, of_b)):
                assert run[0] < run[1]
                assert begins[run[1]] <= document[1]
            assert (b[0] == a[1]) == (label == NEXT)
            if label == NEXT:
                assert of_a == of_b
            elif negatives == "other_document":
                assert of_a != of_b
    total = labels.total()
    assert abs(labels[NEXT] - total / 2) < 5 * math.sqrt(total) / 2


def test_single_sentences_begin_a_pair_each_if_another_follows(tmp_path: Path) -> None:
    """Neither twice, nor left out."""
    documents = made([7, 1, 3])
    chunk = chunk_of(documents, tmp_path)
    found = plan(chunk, PairLaw(23, filled=False), Random(3))
    firsts = [chunk.tokens[slice(*pair.a)].tolist() for pair in found]
    assert firsts == [sentence for document in documents for sentence in document[:-1]]


def test_another_sentence_is_any_other_alike(tmp_path: Path) -> None:
    """Uniform on all but the true next one: each of 10, in hundreds of draws, within five sigma of its share; of 11 where any
    may be drawn.
    """
    chunk = chunk_of(made([2, 9]), tmp_path)
    begins = {begin: number for number, begin in enumerate(chunk.sentences)}
    for negatives, possible in (("not_next", {0, *range(2, 11)}), ("any", set(range(11)))):
        law, found = PairLaw(23, filled=False, negatives=negatives), Counter[int]()  # type: ignore[arg-type]
        for seed in range(1500):
            pair = plan(chunk, law, Random(seed))[0]
            found[begins[pair.b[0]]] += pair.label == OTHER
        total, share = found.total(), 1 / len(possible)
        assert {number for number, count in found.items() if count} == possible
        assert all(
            abs(found[number] - share * total) < 5 * math.sqrt(total * share * (1 - share))
            for number in possible
        )


def test_what_reads_as_the_next_sentence_is_no_other_one(tmp_path: Path) -> None:
    """A sentence that stands in many places; where nothing else stands, there is no pair."""
    chunk = chunk_of([[[11], [12, 13]], [[12, 13]] * 19, [[17]]], tmp_path)
    for seed in range(50):
        for pair in plan(chunk, PairLaw(23, filled=False), Random(seed)):
            if pair.label == OTHER:
                follows = chunk.tokens[pair.a[1] : pair.a[1] + 2].tolist()
                assert chunk.tokens[slice(*pair.b)].tolist() != follows
    alike = chunk_of([[[11]] * 5], tmp_path / "alike")
    assert {pair.label for pair in plan(alike, PairLaw(23, filled=False), Random(0))} <= {NEXT}


def test_filled_rows_reach_the_length_unless_their_document_ends(tmp_path: Path) -> None:
    """Two runs of a document together, when none is short; a random one fills what a leaves."""
    chunk = chunk_of(made([101, 53]), tmp_path)
    ends = {chunk.sentences[document] for document in chunk.documents}
    full = 0
    for a, b, _ in plan(chunk, PairLaw(29, short=0.0), Random(1)):
        enough = (a[1] - a[0]) + (b[1] - b[0]) >= 29 - 3
        assert enough or b[1] in ends
        full += enough
    assert full > 10


def test_sentence_order_swaps_what_follows(tmp_path: Path) -> None:
    """In half of the pairs, b is what a follows."""
    chunk = chunk_of(made([101, 53]), tmp_path)
    found = plan(chunk, PairLaw(29, task="order"), Random(1))
    assert {pair.label for pair in found} == {NEXT, OTHER}
    for a, b, label in found:
        assert a[1] == b[0] if label == NEXT else b[1] == a[0]


def test_without_a_second_task_rows_hold_every_sentence_once(tmp_path: Path) -> None:
    """Run after run, none over the end of its document; b is empty."""
    chunk = chunk_of(made([31, 1, 19]), tmp_path)
    found = plan(chunk, PairLaw(23, task="none"), Random(1))
    assert [pair.a[0] for pair in found[1:]] == [pair.a[1] for pair in found[:-1]]
    assert (found[0].a[0], found[-1].a[1]) == (0, len(chunk.tokens))
    assert all(pair.b[0] == pair.b[1] for pair in found)
    assert {chunk.sentences[document] for document in chunk.documents[1:]} <= {pair.a[1] for pair in found}


def test_a_packed_row_reads_cls_a_sep_b_sep() -> None:
    """Segments change behind the first [SEP]; the three are marked."""
    ids, segments, special = packed(torch.tensor([11, 12, 13]), torch.tensor([14, 15]), 8, cls=2, sep=3)
    assert ids.tolist() == [2, 11, 12, 13, 3, 14, 15, 3]
    assert segments.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert special.nonzero().flatten().tolist() == [0, 4, 7]
    ids, segments, special = packed(
        torch.tensor([11, 12, 13]), torch.tensor([], dtype=torch.int64), 4, cls=2, sep=3
    )
    assert ids.tolist() == [2, 11, 12, 3]
    assert segments.tolist() == [0] * 4
    assert special.nonzero().flatten().tolist() == [0, 3]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(5, 60))
def test_the_longer_loses_its_last_id_until_both_fit(n_a: int, n_b: int, length: int) -> None:
    """One at a time, b where both are as long."""
    a, b = list(range(100, 100 + n_a)), list(range(200, 200 + n_b))
    ids, _, _ = packed(torch.tensor(a), torch.tensor(b), length, cls=2, sep=3)
    while len(a) + len(b) + 3 > length:
        (a if len(a) > len(b) else b).pop()
    assert ids.tolist() == [2, *a, 3, *b, 3]


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"max_length": 4}, "max_length >= 5"),
        ({"short": 1.5}, "0 <= short <= 1"),
        ({"task": "previous"}, "task to be one of next, order, none; got task 'previous'"),
        ({"negatives": "none"}, "negatives to be one of"),
    ],
)
def test_a_law_that_cannot_be_is_refused(wrong: dict[str, Any], line: str) -> None:
    """In one line, also where annotations are not enforced."""
    config.update("jaxtyping_disable", True)
    with pytest.raises(ValueError, match=line):
        PairLaw(**{"max_length": 23, **wrong})

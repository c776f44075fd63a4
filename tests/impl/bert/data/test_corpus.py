from __future__ import annotations

import pickle
from itertools import chain
from pathlib import Path

import pytest
import torch

from impl.bert.data import Chunk, Corpus, documents

Documents = list[list[list[int]]]


def read(corpus: Corpus) -> Documents:
    """The documents of all chunks."""
    found: Documents = []
    for number in range(len(corpus)):
        chunk = corpus[number]
        for first, last in zip(chunk.documents, chunk.documents[1:], strict=False):
            found.append([chunk.sentence(sentence).tolist() for sentence in range(first, last)])
    return found


def test_what_is_written_is_read_chunk_by_chunk(corpus: Corpus, documents: Documents) -> None:
    """All documents, each whole, in order; also by another process, which opens the files itself."""
    assert len(corpus) > 2
    assert read(corpus) == documents
    assert read(pickle.loads(pickle.dumps(corpus))) == documents


@pytest.mark.parametrize("chunk", [1, 2, 5, 11, 10_000])
def test_chunks_of_any_size_hold_all_documents(chunk: int, corpus: Corpus, documents: Documents) -> None:
    """A chunk of one id has one document."""
    again = Corpus(corpus.folder, chunk)
    assert read(again) == documents
    assert len(again) == {1: len(documents), 10_000: 1}.get(chunk, len(again))


def test_a_long_document_is_continued_as_another_and_what_is_empty_left_out(tmp_path: Path) -> None:
    """Cut between sentences, unless one sentence alone is longer."""
    given = [[[11, 12, 13], [], [14, 15], [16]], [], [[]], [[17] * 7, [18]]]
    assert read(Corpus.write(tmp_path / "c", given, longest=5)) == [
        [[11, 12, 13], [14, 15]],
        [[16]],
        [[17] * 7],
        [[18]],
    ]


def test_only_a_whole_corpus_has_the_name(tmp_path: Path) -> None:
    """Who dies while writing leaves none, and may write it again; one without ids is refused."""

    def dying() -> chain[list[list[int]]]:
        return chain([[[11, 12]]], iter(lambda: 1 // 0, None))

    with pytest.raises(ZeroDivisionError):
        Corpus.write(tmp_path / "c", dying())
    assert not (tmp_path / "c").exists()
    with pytest.raises(ValueError, match="expected some ids"):
        Corpus.write(tmp_path / "c", [[], [[]]])
    assert read(Corpus.write(tmp_path / "c", [[[13]]])) == [[[13]]]


def test_counts_are_those_of_all_chunks(corpus: Corpus, documents: Documents) -> None:
    """Id by id."""
    flat = [token for document in documents for sentence in document for token in sentence]
    assert torch.equal(corpus.counts(10_007), torch.bincount(torch.tensor(flat), minlength=10_007))


def test_documents_of_files_end_at_blank_lines_and_with_the_file(tmp_path: Path) -> None:
    """Several blank lines are as one; lines are stripped."""
    (tmp_path / "a").write_text("\n\nOne.\n  Two. \n\n \nThree.\n", encoding="utf-8")
    (tmp_path / "b").write_text("Vier.", encoding="utf-8")
    found = [list(each) for each in documents([tmp_path / "a", tmp_path / "b"])]
    assert found == [["One.", "Two."], ["Three."], ["Vier."]]


def test_a_sentence_knows_its_document() -> None:
    """By where documents begin."""
    chunk = Chunk(torch.arange(6), [0, 1, 2, 3, 4, 6], [0, 2, 3, 5])
    assert [chunk.document_of(sentence) for sentence in range(5)] == [(0, 2), (0, 2), (2, 3), (3, 5), (3, 5)]

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from examples.pretrain_bert import text
from examples.pretrain_bert.settings import Settings
from examples.pretrain_bert.text import SPECIAL, documents, files, learned, prepare, sentences
from impl.bert.data import Corpus
from impl.bert.tokenizer import WordPiece


def test_sentences_end_where_another_begins() -> None:
    """And with a paragraph; not at an abbreviation before a small letter."""
    assert list(sentences("One, e.g. this.  Two?\n(Three)! four\n\nFive\n")) == [
        "One, e.g. this.",
        "Two?",
        "(Three)! four",
        "Five",
    ]


def test_a_python_file_gives_documentation_and_source(tmp_path: Path) -> None:
    """A document for each string, and one for what stands at the top; what is no Python gives none."""
    path = tmp_path / "a.py"
    path.write_text(
        '"""All. Of it."""\n\ndef f():\n    """Does.\n\n    It"""\n\n    return 3\n', encoding="utf-8"
    )
    told = [list(each) for each in documents(path, ["docstrings"])]
    assert told == [["All.", "Of it."], ["Does.", "It"]]
    source = [list(each) for each in documents(path, ["source"])]
    assert source == [["def f():", '"""Does.', 'It"""', "return 3"]]
    path.write_text("def (", encoding="utf-8")
    assert list(documents(path, ["docstrings", "source"])) == []


def test_another_file_is_a_document(tmp_path: Path) -> None:
    """Paragraph by paragraph."""
    (tmp_path / "a.md").write_text("# Head\n\nOne. Two\nthree.\n \n\nFour", encoding="utf-8")
    (found,) = documents(tmp_path / "a.md", [])
    assert list(found) == ["# Head", "One.", "Two three.", "Four"]


def test_of_the_standard_library_the_top_is_read() -> None:
    """Its modules, and nothing that was installed beside it."""
    found = files("stdlib")
    assert any(path.name == "argparse.py" for path in found)
    assert len({path.parent for path in found}) == 1


def read(corpus: Corpus, pieces: WordPiece) -> str:
    """All of it."""
    return " ".join(pieces.decode(corpus[number].tokens.tolist()) for number in range(len(corpus)))


def test_a_vocabulary_is_learned_alike_every_time() -> None:
    """Special tokens, characters and what is frequent; pairs that are as frequent as one another do not follow a hash."""
    told = ["abcd efgh ijkl mnop", "dcba hgfe", "ABCD Éfgh 東"]
    first, second = (learned(lambda: told, 53) for _ in range(2))
    assert first == second
    assert first[:5] == list(SPECIAL)
    assert {"a", "##d", "東", "##p", "abcd"} <= set(first)
    assert len(first) == len(set(first)) <= 53


def test_a_text_is_prepared_once(
    settings: Settings, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vocabulary with BERT's special tokens, and every word of the files; the second time, it is there."""
    made = prepare(settings, tmp_path)
    vocabulary = made.pieces.vocabulary
    assert vocabulary[:5] == SPECIAL
    assert len(vocabulary) <= 67
    assert made.continues.tolist() == [piece.startswith("##") for piece in vocabulary]
    expected = [(folder / f"{number:02}.txt").read_text(encoding="utf-8").lower() for number in range(11)]
    held_out = [expected.pop(number) for number in (9, 4)][::-1]
    for corpus, texts in ((made.held_out, held_out), (made.training, expected)):
        assert read(corpus, made.pieces).replace(" .", ".") == " ".join(texts)

    def never(*_: object) -> None:
        raise AssertionError("read twice")

    monkeypatch.setattr(text, "documents", never)
    again = prepare(settings, tmp_path)
    assert again.pieces.vocabulary == vocabulary
    assert read(again.training, made.pieces) == read(made.training, made.pieces)


def test_a_text_that_is_none_is_refused(settings: Settings, tmp_path: Path) -> None:
    """In a line: no folder, no file in it, too few to hold any out."""
    empty = tmp_path / "empty"
    empty.mkdir()
    for source, held_out, line in (
        (tmp_path / "none", 5, "a folder of text; got"),
        (empty, 5, r"expected .*\.txt in .*empty; got none"),
        (settings.text.source, 13, "at least 13 files, of which one is held out; got 11"),
    ):
        wrong = replace(settings, text=replace(settings.text, source=str(source), held_out=held_out))
        with pytest.raises(ValueError, match=line):
            prepare(wrong, tmp_path)

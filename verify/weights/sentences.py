"""Texts as a checkpoint's own tokenizer cuts them."""

from __future__ import annotations

from collections.abc import Sequence

from verify.faults import Unusable
from verify.weights.comparing import Sentence
from verify.weights.reading import Checkpoint

DEFAULT = ("The animal didn't cross the street because it was too tired",)
"""A sentence of the decks."""


def sentences(checkpoint: Checkpoint, texts: Sequence[Sequence[str]]) -> list[Sentence]:
    """Each text, or pair of texts, as [CLS] A [SEP] (B [SEP]).

    Raises:
        Unusable: the checkpoint's folder has no vocabulary, or a text is no Unicode, is longer than there are positions, or has a
            piece or a segment that the tables have no row of.
    """
    from impl.bert import WordPiece

    folder, tables = checkpoint.folder, checkpoint.embedding
    most = len(tables["P"])

    try:
        pieces = WordPiece.from_pretrained(folder)
    except FileNotFoundError:
        raise Unusable(f"{folder}: expected a vocab.txt or a tokenizer.json; there is neither") from None
    except (ValueError, KeyError) as error:
        said = f"it has no {error}" if isinstance(error, KeyError) else error
        raise Unusable(f"{folder}: the vocabulary cannot be read: {said}") from None
    found = []
    for text in texts:
        if len(text) > 2:
            raise Unusable(
                f"--text: expected a text or two, the second with its own segment; got {len(text)}"
            )
        try:
            cut = pieces.encode(*text)
        except ValueError as error:
            raise Unusable(f"--text: {error}") from None
        if len(cut.ids) > most:
            raise Unusable(
                f"--text: expected at most {most} tokens, as many as there are positions; got {len(cut.ids)}"
            )
        beyond = [token for token, row in zip(cut.tokens, cut.ids, strict=True) if row >= len(tables["E"])]
        if beyond:
            raise Unusable(
                f"--text: expected pieces that the table of words has a row of, {len(tables['E'])} in all; got {beyond[0]!r}"
            )
        if max(cut.segments) >= len(tables["S"]):
            raise Unusable("--text: expected one text, since the table of segments has one row; got a pair")
        found.append(Sentence(" / ".join(text), tuple(cut.tokens), tuple(cut.ids), tuple(cut.segments)))
    return found

"""Texts as a checkpoint's own tokenizer cuts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from verify.faults import Unusable
from verify.weights.comparing import Sentence

DEFAULT = ("The animal didn't cross the street because it was too tired",)
"""A sentence of the decks."""


def sentences(folder: Path, texts: Sequence[Sequence[str]], most: int) -> list[Sentence]:
    """Each text, or pair of texts, as [CLS] A [SEP] (B [SEP]).

    Raises:
        Unusable: the folder has no vocabulary, or a text is longer than ``most`` tokens or no Unicode.
    """
    from impl.bert import WordPiece

    try:
        pieces = WordPiece.from_pretrained(folder)
    except FileNotFoundError:
        raise Unusable(f"{folder}: expected a vocab.txt or a tokenizer.json; there is neither") from None
    except (ValueError, KeyError) as error:
        raise Unusable(f"{folder}: the vocabulary cannot be read: {error}") from None
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
        found.append(Sentence(" / ".join(text), tuple(cut.tokens), tuple(cut.ids), tuple(cut.segments)))
    return found

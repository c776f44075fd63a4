"""Texts as a checkpoint's own tokenizer cuts them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verify.faults import Unusable
from verify.weights.checkpoint import Checkpoint
from verify.weights.comparing import Sentence

DEFAULT = ("The animal didn't cross the street because it was too tired",)
"""A sentence of the decks."""


def sentences(checkpoint: Checkpoint, texts: Sequence[Sequence[str]]) -> list[Sentence]:
    """Each text, or pair of texts, as BERT reads it: [CLS] A [SEP] (B [SEP]); or one as GPT-2 does.

    Raises:
        Unusable: the checkpoint's folder has no vocabulary, or a text is no Unicode, is empty or longer than there are positions,
            or has a piece or a segment that the tables have no row of.
    """
    tables, paired = checkpoint.embedding, "seg" in checkpoint.family.reads
    most, cut = len(tables["P"]), _cutter(checkpoint)
    found = []
    for text in texts:
        if len(text) > 1 + paired:
            wanted = "a text or two, the second with its own segment" if paired else "one text at a time"
            raise Unusable(f"--text: expected {wanted}; got {len(text)}")
        try:
            one = cut(*text)
        except ValueError as error:
            raise Unusable(f"--text: {error}") from None
        if not 0 < len(one.ids) <= most:
            raise Unusable(
                f"--text: expected at most {most} tokens, as many as there are positions, and one at least; got {len(one.ids)}"
            )
        beyond = [token for token, row in zip(one.tokens, one.ids, strict=True) if row >= len(tables["E"])]
        if beyond:
            raise Unusable(
                f"--text: expected pieces that the table of words has a row of, {len(tables['E'])} in all; got {beyond[0]!r}"
            )
        if paired and max(one.segments) >= len(tables["S"]):
            raise Unusable("--text: expected one text, since the table of segments has one row; got a pair")
        found.append(one)
    return found


def _cutter(checkpoint: Checkpoint) -> Callable[..., Sentence]:
    """The tokenizer in the checkpoint's folder."""
    from impl.bert import WordPiece
    from impl.gpt import BytePairs

    folder, paired = checkpoint.folder, "seg" in checkpoint.family.reads
    files = "a vocab.txt or a tokenizer.json" if paired else "a vocab.json and a merges.txt"
    kind: Any = WordPiece if paired else BytePairs
    try:
        pieces = kind.from_pretrained(folder)
    except FileNotFoundError:
        raise Unusable(f"{folder}: expected {files}; there is none") from None
    except (ValueError, KeyError) as error:
        said = f"it has no {error}" if isinstance(error, KeyError) else error
        raise Unusable(f"{folder}: the vocabulary cannot be read: {said}") from None

    def cut(*text: str) -> Sentence:
        said = " / ".join(text)
        if not paired:
            ids = pieces.encode(*text)
            return Sentence(said, tuple(pieces.tokenize(*text)), tuple(ids), (0,) * len(ids))
        found = pieces.encode(*text)
        return Sentence(said, tuple(found.tokens), tuple(found.ids), tuple(found.segments))

    return cut

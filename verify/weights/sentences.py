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
        Unusable: the folder has no ``tokenizer.json`` and no ``vocab.txt``, or a text is longer than ``most`` tokens.
    """
    from tokenizers import Tokenizer
    from tokenizers.implementations import BertWordPieceTokenizer

    if (folder / "tokenizer.json").exists():
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
    elif (folder / "vocab.txt").exists():
        tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    else:
        raise Unusable(f"{folder}: expected a tokenizer.json or a vocab.txt; there is neither")
    found = []
    for text in texts:
        if len(text) > 2:
            raise Unusable(
                f"--text: expected a text or two, the second with its own segment; got {len(text)}"
            )
        try:
            cut = tokenizer.encode(*text)
        except (TypeError, UnicodeEncodeError):
            raise Unusable(
                f"--text: expected Unicode text; got {text[0]!a}, which has a lone surrogate"
            ) from None
        if len(cut.ids) > most:
            raise Unusable(
                f"--text: expected at most {most} tokens, as many as there are positions; got {len(cut.ids)}"
            )
        found.append(Sentence(" / ".join(text), tuple(cut.tokens), tuple(cut.ids), tuple(cut.type_ids)))
    return found

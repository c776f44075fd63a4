"""Text as GPT-2 reads it: byte-level BPE, by the library ``tokenizers``. Its rule is written out in ``bpe``, in plain Python.

Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units", section 3.2; Radford et al. 2019,
"Language Models are Unsupervised Multitask Learners", section 2.2, and the code published with it.
"""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from impl import _refuse
from impl._checkpoints import read_json, read_text, write_whole

__all__ = ["BytePairs", "bpe"]

END = "<|endoftext|>"
"""The token between texts."""
Pair = tuple[str, str]

_PRINTED = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTED]
ALPHABET = {byte: chr(byte) for byte in _PRINTED} | {
    byte: chr(256 + place) for place, byte in enumerate(_OTHERS)
}
"""The character that each byte is written as: itself, where Latin-1 prints it; the others are counted from U+0100 on."""


def bpe(words: Iterable[str], merges: Sequence[Pair]) -> list[list[str]]:
    """For each word its tokens, in GPT-2's alphabet of bytes: neighbours that are a pair of ``merges`` are joined, the pair
    that comes first there before the others. Statement: ``gpt.bpe``.

    TypeError for one string instead of words, each of whose characters would be a word, and for words that are no strings;
    ValueError for a merge that is not a pair of strings, or stands there twice, and for a lone surrogate.
    """
    if isinstance(words, str):
        raise TypeError(f"gpt.bpe: expected words; got one string, {words!r}")
    if not isinstance(words, Iterable):
        raise _refuse.kind("gpt.bpe", "words", "a sequence of strings", words)
    rank = {pair: number for number, pair in enumerate(_pairs("gpt.bpe", merges))}
    return [_tokens(word, rank) for word in words]


def _pairs(told: str, merges: Iterable[Pair]) -> tuple[Pair, ...]:
    """The merges; refuse one that is not a pair of strings, or stands there twice."""
    if not isinstance(merges, Iterable):
        raise _refuse.kind(told, "merges", "pairs of strings", merges)
    found: dict[Pair, None] = {}
    for merge in merges:
        if not isinstance(merge, (tuple, list)) or [type(part) for part in merge] != [str, str]:
            raise ValueError(f"{told}: expected two strings as a merge; got {merge!r}")
        pair: Pair = (merge[0], merge[1])
        if pair in found:
            raise ValueError(f"{told}: expected each merge once; got {pair!r} twice")
        found[pair] = None
    return tuple(found)


def _tokens(word: str, rank: Mapping[Pair, int]) -> list[str]:
    found = [ALPHABET[byte] for byte in _refuse.encode_text("gpt.bpe", word)]
    while len(found) > 1:
        number, place = min(
            (rank.get(pair, len(rank)), place) for place, pair in enumerate(itertools.pairwise(found))
        )
        if number == len(rank):
            break
        found[place : place + 2] = [found[place] + found[place + 1]]
    return found


class BytePairs:
    """GPT-2's tokenizer, from a vocabulary of ids by token, and merges in their order.

    Before bytes are joined a text is split into words: letters, digits or other signs, each with the one space before it. Every
    text is the bytes of its tokens again. ``<|endoftext|>`` is a token of its own where the vocabulary has it, and never found in
    a text: what looks like it is signs.

    ValueError for ids that are not 0, 1, 2, …, for a byte without a token, for a merge that is no pair, stands there twice, or
    whose parts or whole are no token, and for text with a lone surrogate, which stands for no character; TypeError for what is no
    text.
    """

    def __init__(self, vocabulary: Mapping[str, int], merges: Iterable[Pair]) -> None:
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers

        if not isinstance(vocabulary, Mapping):
            raise _refuse.kind("gpt.BytePairs", "vocabulary", "ids by token", vocabulary)
        self.id_of, self.merges = dict(vocabulary), _pairs("gpt.BytePairs", merges)
        ids = self.id_of.values()
        if not all(map(_refuse.is_integer, ids)) or sorted(ids) != list(range(len(ids))):
            raise ValueError(f"gpt.BytePairs: expected the ids 0..{len(self.id_of) - 1}, each once")
        parts = {part for pair in self.merges for part in (*pair, "".join(pair))}
        if missing := [token for token in (*ALPHABET.values(), *sorted(parts)) if token not in self.id_of]:
            raise ValueError(f"gpt.BytePairs: expected {missing[0]!r} in the vocabulary")
        self._library = Tokenizer(models.BPE(self.id_of, list(self.merges)))
        self._library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self._library.decoder = decoders.ByteLevel()

    def __len__(self) -> int:
        return len(self.id_of)

    @property
    def end_id(self) -> int | None:
        """The id of ``<|endoftext|>``; None where the vocabulary has it not."""
        return self.id_of.get(END)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "BytePairs":
        """From a checkpoint's folder: ``vocab.json``, and ``merges.txt`` with a pair in every line. ValueError, in one line that
        names the file, for what is not that.
        """
        folder = Path(folder)
        lines = read_text(folder / "merges.txt").split("\n")
        merges = []
        for number, line in enumerate(lines, 1):
            if not line or (number == 1 and line.startswith("#version")):
                continue
            first, _, second = line.partition(" ")
            if not first or not second or " " in second:
                raise ValueError(
                    f"{folder / 'merges.txt'}: expected two tokens in line {number}; got {line!r}"
                )
            merges.append((first, second))
        vocabulary = read_json(folder / "vocab.json")
        try:
            return cls(vocabulary, merges)
        except ValueError as error:
            raise ValueError(f"{folder / 'vocab.json'}, with merges.txt: {error}") from None

    def save_pretrained(self, folder: str | Path) -> None:
        """``vocab.json``, ``merges.txt`` and ``tokenizer_config.json``, for ``from_pretrained`` and transformers."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        lines = ["#version: 0.2", *(" ".join(pair) for pair in self.merges)]
        for name, text in (
            ("vocab.json", json.dumps(self.id_of, ensure_ascii=False)),
            ("merges.txt", "\n".join(lines)),
            ("tokenizer_config.json", json.dumps({"tokenizer_class": "GPT2Tokenizer"})),
        ):
            with write_whole(folder / name) as path:
                path.write_text(text + "\n", encoding="utf-8")

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, in the alphabet of bytes."""
        return list(self._encode([text])[0].tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return list(self._encode([text])[0].ids)

    def batch(self, texts: Sequence[str]) -> tuple[Integer[Tensor, "b n"], Bool[Tensor, "b n"]]:
        """The ids of many texts, with 0 behind the shorter ones, and a mask: True for a real token. TypeError for one string."""
        if isinstance(texts, str):
            raise TypeError("gpt.BytePairs: expected a sequence of texts; got one string (encode takes one)")
        if not isinstance(texts, Iterable):
            raise _refuse.kind("gpt.BytePairs", "texts", "a sequence of strings", texts)
        rows = [each.ids for each in self._encode(list(texts))]
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
        n = max(map(len, rows), default=0)
        ids = torch.tensor([row + [0] * (n - len(row)) for row in rows], dtype=torch.int64)
        return ids.view(len(rows), n), torch.arange(n) < lengths[:, None]

    def decode(self, ids: Iterable[int] | Integer[Tensor, " n"]) -> str:
        """The text of ids; bytes that are no UTF-8 become U+FFFD. IndexError for ids beyond the vocabulary, TypeError
        for what is no integer.
        """
        given = _refuse.list_ids("gpt.BytePairs", ids, len(self))
        return str(self._library.decode(given, skip_special_tokens=False))

    def _encode(self, texts: list[str]) -> list[Any]:
        for text in texts:
            _refuse.encode_text("gpt.BytePairs", text)
        return list(self._library.encode_batch(texts))

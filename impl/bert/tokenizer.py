"""Text as BERT reads it: WordPiece, by the library ``tokenizers``. What it computes is written out in ``impl.bert.plain``."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from impl import _refuse
from impl._checkpoints import read_json, write_whole
from impl._labels import IGNORED

__all__ = ["Batch", "Encoding", "WordPiece", "labels_of_pieces", "values_of_words"]

T = TypeVar("T")
Text = str | Sequence[str]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Encoding(NamedTuple):
    """A text or a pair in pieces: each one's id, segment, spelling, place in its text, and word."""

    ids: list[int]
    segments: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    """From which character of its text to which; of its word, where words were given. (0, 0) of [CLS] and [SEP]."""
    words: list[int | None]
    """The number of its word in its text; None of [CLS] and [SEP]."""


class Batch(NamedTuple):
    """Encodings filled up to one length."""

    ids: Integer[Tensor, "b n"]
    segments: Integer[Tensor, "b n"]
    mask: Bool[Tensor, "b n"]
    """True for a real token."""
    encodings: list[Encoding]

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        """What a model takes: ``model(*batch.inputs)``."""
        return self[:3]


class WordPiece:
    """BERT's tokenizer, from a vocabulary in the order of its ids.

    ``lowercase`` writes all in lower case; ``strip_accents`` takes accents off (None: where ``lowercase`` does). A text is a
    string, or a sequence of strings, each of which is one word then. In a text, [MASK] and the other special tokens are what they
    look like.

    ValueError for a vocabulary with a word twice or without a special token, and for text with a lone surrogate, which stands for
    no character; TypeError for what is no text.
    """

    def __init__(
        self, vocabulary: Iterable[str], *, lowercase: bool = True, strip_accents: bool | None = None
    ) -> None:
        from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

        self.vocabulary = tuple(vocabulary)
        self.lowercase, self.strip_accents = lowercase, strip_accents
        self.id_of = {token: number for number, token in enumerate(self.vocabulary)}
        if len(self.id_of) < len(self.vocabulary):
            twice = next(token for number, token in enumerate(self.vocabulary) if self.id_of[token] != number)
            raise ValueError(f"bert.WordPiece: expected every piece once; got {twice!r} twice")
        if missing := [token for token in SPECIAL if token not in self.id_of]:
            raise ValueError(f"bert.WordPiece: expected {', '.join(missing)} in the vocabulary")
        ids = (self.id_of[token] for token in SPECIAL)
        self.padding_id, self.unknown_id, self.cls_id, self.sep_id, self.mask_id = ids
        self._library = Tokenizer(
            models.WordPiece(self.id_of, unk_token="[UNK]", max_input_chars_per_word=100)
        )
        self._library.normalizer = normalizers.BertNormalizer(True, True, strip_accents, lowercase)
        self._library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        self._library.decoder = decoders.WordPiece()
        self._library.add_special_tokens(list(SPECIAL))

    def __len__(self) -> int:
        return len(self.vocabulary)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "WordPiece":
        """From a checkpoint's folder: ``vocab.txt`` or ``tokenizer.json``; ``tokenizer_config.json`` tells of case, accents."""
        folder = Path(folder)
        file, settings = folder / "tokenizer_config.json", dict[str, Any]()
        if file.exists():
            settings = read_json(file)
        lowercase, accents = settings.get("do_lower_case", True), settings.get("strip_accents")
        if (folder / "vocab.txt").exists():
            return cls.from_file(folder / "vocab.txt", lowercase=lowercase, strip_accents=accents)
        if not (folder / "tokenizer.json").exists():
            raise FileNotFoundError(f"{folder}: expected vocab.txt or tokenizer.json")
        model = read_json(folder / "tokenizer.json").get("model") or {}
        if model.get("type") != "WordPiece":
            raise ValueError(f"bert.WordPiece: expected a WordPiece in {folder}; got {model.get('type')}")
        order: Mapping[str, int] = model["vocab"]
        return cls(sorted(order, key=order.__getitem__), lowercase=lowercase, strip_accents=accents)

    @classmethod
    def from_file(
        cls, file: str | Path, *, lowercase: bool = True, strip_accents: bool | None = None
    ) -> "WordPiece":
        """From a ``vocab.txt``: a piece in every line, in the order of ids."""
        with Path(file).open(encoding="utf-8") as lines:
            pieces = [line.rstrip("\n") for line in lines]
        while pieces and not pieces[-1]:
            pieces.pop()
        return cls(pieces, lowercase=lowercase, strip_accents=strip_accents)

    def save_pretrained(self, folder: str | Path) -> None:
        """``vocab.txt`` and ``tokenizer_config.json``, for ``from_pretrained`` and transformers."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.lowercase,
            "strip_accents": self.strip_accents,
        }
        with write_whole(folder / "vocab.txt") as path:
            path.write_text("".join(f"{token}\n" for token in self.vocabulary), encoding="utf-8")
        with write_whole(folder / "tokenizer_config.json") as path:
            path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    def tokenize(self, text: Text) -> list[str]:
        """The pieces of a text alone."""
        return list(self._pieces([text])[0].tokens)

    def encode(self, text: Text, pair: Text | None = None, *, max_length: int | None = None) -> Encoding:
        """[CLS] text [SEP], or [CLS] text [SEP] pair [SEP], the pair with its last [SEP] being segment 1.

        ``max_length`` bounds all of it: pieces go from the end of the longer of the two, of the pair where they are as long.
        """
        return self._encode([text], None if pair is None else [pair], max_length)[0]

    def batch(
        self, texts: Sequence[Text], pairs: Sequence[Text] | None = None, *, max_length: int | None = None
    ) -> Batch:
        """Many at once, filled up with [PAD] behind the shorter ones. ValueError unless there is a pair for each text, TypeError
        for one string, each of whose characters would be a text.
        """
        if isinstance(texts, str) or isinstance(pairs, str):
            raise TypeError("bert.WordPiece: expected a sequence of texts; got one string (encode takes one)")
        if pairs is not None and len(pairs) != len(texts):
            raise ValueError(
                f"bert.WordPiece: expected as many pairs as texts; got {len(pairs)} and {len(texts)}"
            )
        encodings = self._encode(texts, pairs, max_length)
        lengths = torch.tensor([len(each.ids) for each in encodings], dtype=torch.int64)
        n = max(lengths.tolist(), default=0)
        ids = [each.ids + [self.padding_id] * (n - len(each.ids)) for each in encodings]
        segments = [each.segments + [0] * (n - len(each.ids)) for each in encodings]
        shape = len(encodings), n
        return Batch(
            torch.tensor(ids, dtype=torch.int64).view(shape),
            torch.tensor(segments, dtype=torch.int64).view(shape),
            torch.arange(n) < lengths[:, None],
            encodings,
        )

    def decode(self, ids: Iterable[int] | Integer[Tensor, " n"], *, special: bool = False) -> str:
        """The text of ids, pieces joined; with ``special``, special tokens are kept. IndexError for ids beyond the vocabulary,
        TypeError for what is no integer.
        """
        given = _refuse.list_ids("bert.WordPiece", ids, len(self))
        return str(self._library.decode(given, skip_special_tokens=not special))

    def special(self, ids: Integer[Tensor, "*shape"]) -> Bool[Tensor, "*shape"]:
        """Where special tokens stand: what the corruption of a text leaves alone."""
        return torch.isin(ids, torch.tensor([self.id_of[token] for token in SPECIAL], device=ids.device))

    def _encode(
        self, texts: Sequence[Text], pairs: Sequence[Text] | None, max_length: int | None
    ) -> list[Encoding]:
        first = self._pieces(texts)
        second = [None] * len(first) if pairs is None else self._pieces(pairs)
        extra = 2 if pairs is None else 3
        if max_length is not None and max_length < extra:
            raise ValueError(f"bert.WordPiece: expected max_length >= {extra}; got {max_length}")
        room = None if max_length is None else max_length - extra
        return [self._join_pieces(one, other, room) for one, other in zip(first, second, strict=True)]

    def _join_pieces(self, one: Any, other: Any | None, room: int | None) -> Encoding:
        """The pieces of one text or two, with what stands between them."""
        kept = [len(one), 0 if other is None else len(other)]
        while room is not None and sum(kept) > room:
            kept[kept[0] <= kept[1]] -= 1
        found = Encoding([self.cls_id], [0], ["[CLS]"], [(0, 0)], [None])
        for segment, (part, count) in enumerate(zip((one, other), kept, strict=True)):
            if part is None:
                continue
            found.ids.extend([*part.ids[:count], self.sep_id])
            found.segments.extend([segment] * (count + 1))
            found.tokens.extend([*part.tokens[:count], "[SEP]"])
            found.offsets.extend([*part.offsets[:count], (0, 0)])
            found.words.extend([*part.word_ids[:count], None])
        return found

    def _pieces(self, texts: Sequence[Text]) -> list[Any]:
        """What the library says of each text, which holds no special token that the text has not."""
        given = [
            list(text) if isinstance(text, Iterable) and not isinstance(text, (str, bytes)) else text
            for text in texts
        ]
        for text in given:
            parts = text if isinstance(text, list) else [text]
            if not all(isinstance(part, str) for part in parts):
                raise TypeError(f"bert.WordPiece: expected a string, or words as strings; got {text!r}")
            for part in parts:
                _refuse.encode_text("bert.WordPiece", part)
        split = {isinstance(text, list) for text in given}
        if len(split) == 2:
            raise ValueError("bert.WordPiece: expected texts or sequences of words; got both")
        return list(
            self._library.encode_batch(given, is_pretokenized=True in split, add_special_tokens=False)
        )


def labels_of_pieces(labels: Sequence[int], encoding: Encoding, segment: int = 0) -> list[int]:
    """The label of each word at its first piece, −100 at the others, at special tokens and in the other segment.

    ValueError where a word has no label.
    """
    found, before = list[int](), None
    for word, own in zip(encoding.words, encoding.segments, strict=True):
        if word is None or own != segment or word == before:
            found.append(IGNORED)
        elif word < len(labels):
            found.append(labels[word])
        else:
            raise ValueError(f"bert: expected a label for each word; got {len(labels)} for word {word}")
        before = word
    return found


def values_of_words(values: Sequence[T], encoding: Encoding, count: int, segment: int = 0) -> list[T | None]:
    """What stands at the first piece of each of ``count`` words; None for a word without one: cut off, or all controls."""
    found: list[T | None] = [None] * count
    for value, word, own in reversed(list(zip(values, encoding.words, encoding.segments, strict=True))):
        if word is not None and own == segment:
            found[word] = value
    return found

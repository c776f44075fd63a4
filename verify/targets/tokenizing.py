"""Tokenizers of other libraries and our own, under the contract of :mod:`verify.decoding.tokens`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Adapted = Callable[..., Any]
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
IDS = 1011
"""How many ids there are where ids are packed: more than any that a check draws."""


def _by_word(words: list[str], places: list[int | None], tokens: list[str]) -> list[list[str]]:
    """The tokens of each word; ``places`` says whose each is."""
    found: list[list[str]] = [[] for _ in words]
    for place, token in zip(places, tokens, strict=True):
        if place is not None:
            found[place].append(token)
    return found


def _number_pieces(vocabulary: list[str]) -> dict[str, int]:
    """Ids of pieces; special tokens that are missing come last."""
    return {token: number for number, token in enumerate(dict.fromkeys([*vocabulary, *SPECIAL]))}


def _make_vocabulary(cls: int, sep: int) -> dict[str, int]:
    """A vocabulary in which every id is a word, but for those of the special tokens."""
    named = {f"w{number}": number for number in range(IDS)}
    for number, token in ((cls, "[CLS]"), (sep, "[SEP]"), (0, "[PAD]"), (1, "[UNK]"), (2, "[MASK]")):
        del named[f"w{number}"]
        named[token] = number
    return dict(sorted(named.items(), key=lambda item: item[1]))


def _words(ids: list[int] | None) -> list[str] | None:
    """The words of a numbered vocabulary."""
    return None if ids is None else [f"w{number}" for number in ids]


# Words in pieces ----------------------------------------------------------------------------------------------------------


def model_of_tokenizers() -> Adapted:
    """``tokenizers.models.WordPiece``."""
    from tokenizers import models

    def wordpiece(words: list[str], vocabulary: list[str], *, unknown: str, longest: int) -> list[list[str]]:
        ids = {piece: number for number, piece in enumerate(vocabulary)}
        model = models.WordPiece(ids, unk_token=unknown, max_input_chars_per_word=longest)
        return [[token.value for token in model.tokenize(word)] for word in words]

    return wordpiece


def bert_tokenizer() -> Adapted:
    """``BertTokenizer`` of transformers, given words; case and accents stay."""
    import transformers

    def wordpiece(words: list[str], vocabulary: list[str], *, unknown: str) -> list[list[str]]:
        tokenizer = transformers.BertTokenizer(
            vocab=_number_pieces(vocabulary), unk_token=unknown, do_lower_case=False, strip_accents=False
        )
        if not words:
            return []
        found = tokenizer(words, is_split_into_words=True, add_special_tokens=False)
        return _by_word(words, found.word_ids(), list(tokenizer.convert_ids_to_tokens(found["input_ids"])))

    return wordpiece


def our_tokenizer() -> Adapted:
    """``impl.bert.WordPiece``, given words; case and accents stay."""
    from impl.bert import WordPiece

    def wordpiece(words: list[str], vocabulary: list[str], *, unknown: str) -> list[list[str]]:
        if unknown != "[UNK]":
            raise NotImplementedError("it says [UNK]")
        tokenizer = WordPiece(_number_pieces(vocabulary), lowercase=False, strip_accents=False)
        found = tokenizer.encode(words)
        return _by_word(words, found.words, found.tokens)

    return wordpiece


# Bytes in pairs -----------------------------------------------------------------------------------------------------------


def _number_bytes(merges: list[tuple[str, str]]) -> dict[str, int]:
    """Ids of all bytes, of what merges make, and of the end of a text."""
    from tokenizers import pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*alphabet, *("".join(pair) for pair in merges), "<|endoftext|>"]
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def pairs_of_tokenizers() -> Adapted:
    """``tokenizers.models.BPE`` behind ``pre_tokenizers.ByteLevel``, given words."""
    from tokenizers import models, pre_tokenizers

    def bpe(words: list[str], merges: list[tuple[str, str]]) -> list[list[str]]:
        model = models.BPE(_number_bytes(merges), merges)
        split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return [
            [token.value for part, _ in split.pre_tokenize_str(word) for token in model.tokenize(part)]
            for word in words
        ]

    return bpe


def gpt2_tokenizer() -> Adapted:
    """``GPT2Tokenizer`` of transformers, given each word as a text."""
    import transformers

    def bpe(words: list[str], merges: list[tuple[str, str]]) -> list[list[str]]:
        pairs: Any = merges  # which it takes, though it is annotated otherwise
        tokenizer = transformers.GPT2Tokenizer(vocab=_number_bytes(merges), merges=pairs)
        return [list(tokenizer.tokenize(word)) for word in words]

    return bpe


def our_pairs() -> Adapted:
    """``impl.gpt.BytePairs``, given each word as a text."""
    from impl.gpt import BytePairs

    def bpe(words: list[str], merges: list[tuple[str, str]]) -> list[list[str]]:
        tokenizer = BytePairs(_number_bytes(merges), merges)
        return [tokenizer.tokenize(word) for word in words]

    return bpe


# Packing ------------------------------------------------------------------------------------------------------------------


def packed_by_bert_tokenizer(truncation: str = "longest_first") -> Adapted:
    """``BertTokenizer`` of transformers, given words that are one piece each."""
    import transformers

    def pack(
        a: list[int], b: list[int] | None, *, cls: int, sep: int, longest: int
    ) -> tuple[list[int], list[int]]:
        if b == []:
            raise NotImplementedError("a second text without a token is none")
        whole = {"longest_first": 0, "only_first": len(b or ()), "only_second": len(a)}[truncation]
        if truncation != "longest_first" and longest - whole <= (2 if b is None else 3):
            raise NotImplementedError("a text is not cut to nothing")
        tokenizer = transformers.BertTokenizer(vocab=_make_vocabulary(cls, sep), do_lower_case=False)
        found = tokenizer(
            _words(a), _words(b), is_split_into_words=True, truncation=truncation, max_length=longest
        )
        return found["input_ids"], found["token_type_ids"]

    return pack


def packed_by_our_tokenizer() -> Adapted:
    """``impl.bert.WordPiece``, given words that are one piece each."""
    from impl.bert import WordPiece

    def pack(
        a: list[int], b: list[int] | None, *, cls: int, sep: int, longest: int
    ) -> tuple[list[int], list[int]]:
        tokenizer = WordPiece(_make_vocabulary(cls, sep), lowercase=False)
        found = tokenizer.encode(_words(a) or [], _words(b), max_length=longest)
        return found.ids, found.segments

    return pack

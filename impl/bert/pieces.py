"""From words to what BERT reads: each word in the longest pieces that the vocabulary has; then a text or a pair of texts as the
sequence [CLS] A [SEP] B [SEP], with segments. For whole texts there is the ``tokenizers`` library.

Source: Wu et al. 2016, "Google's Neural Machine Translation System", section 4.1; Devlin et al. 2019, section 3, and the code
published with it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

__all__ = ["pack", "wordpiece"]


def wordpiece(
    words: Iterable[str], vocabulary: Collection[str], *, unknown: str = "[UNK]", longest: int = 100
) -> list[list[str]]:
    """For each word its pieces, greedily the longest first; behind the first they begin with ``##``. Statement:
    ``bert.wordpiece``.

    A word that cannot be put together so, or has more than ``longest`` characters, is ``unknown`` as a whole. TypeError for one
    string instead of words, each of whose characters would be a word.
    """
    if isinstance(words, str):
        raise TypeError(f"bert.wordpiece: expected words; got one string, {words!r}")
    known = vocabulary if isinstance(vocabulary, (set, frozenset, dict)) else frozenset(vocabulary)
    # No piece is longer than the longest of the vocabulary, so that no more of a word needs to be looked up.
    widest = max(map(len, known), default=0)
    return [_pieces(word, known, widest, unknown) if len(word) <= longest else [unknown] for word in words]


def _pieces(word: str, known: Collection[str], widest: int, unknown: str) -> list[str]:
    found: list[str] = []
    begin = 0
    while begin < len(word):
        mark = "##" if begin else ""
        for end in range(min(len(word), begin + widest), begin, -1):
            if (piece := mark + word[begin:end]) in known:
                break
        else:
            return [unknown]
        found.append(piece)
        begin = end
    return found


def pack(
    a: Sequence[int],
    b: Sequence[int] | None,
    *,
    cls: int,
    sep: int,
    longest: int,
    truncation: Literal["longest_first", "only_first", "only_second"] = "longest_first",
    odd: Literal["first", "longer"] = "first",
) -> tuple[list[int], list[int]]:
    """(ids, segments) of [CLS] a [SEP], and of b [SEP] where there is a b; at most ``longest`` tokens. Statement: ``bert.pack``.

    What does not fit is taken off the end of the longer text, or of the one that ``truncation`` names. Where both are cut and one
    may keep a token more, it is the first, or with ``odd="longer"`` the one that was longer (the second if they were alike).
    A single text is the first: ``"only_second"`` never cuts it. Segments are 0 up to the first [SEP] and with it, then 1.
    ValueError where the text that may be cut is too short for it, and for unknown options.
    """
    lengths = (len(a), 0 if b is None else len(b))
    first, second = _truncate_lengths(*lengths, longest - (2 if b is None else 3), truncation, odd)
    if min(first, second) < 0:
        raise ValueError(
            f"bert.pack: texts of {lengths[0]} and {lengths[1]} tokens do not fit into {longest} by truncation {truncation!r}"
        )
    ids = [cls, *a[:first], sep]
    segments = [0] * len(ids)
    if b is None:
        return ids, segments
    return [*ids, *b[:second], sep], [*segments, *([1] * (second + 1))]


def _truncate_lengths(a: int, b: int, room: int, truncation: str, odd: str) -> tuple[int, int]:
    """How many tokens of each text stay; below 0 where there is no room."""
    over = a + b - room
    if over <= 0:
        return a, b
    if truncation == "only_first":
        return a - over, b
    if truncation == "only_second":
        return a, b - over
    # The longer one comes down to the shorter; from there both, in turn.
    shorter = min(a, b)
    if room - shorter >= shorter:
        return (shorter, room - shorter) if b > a else (room - shorter, shorter)
    more, less = room - room // 2, room // 2
    return (less, more) if odd == "longer" and b >= a else (more, less)

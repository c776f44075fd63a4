"""Words in pieces: the longest that the vocabulary has, from the left. For whole texts there is the ``tokenizers`` library.

Source: Wu et al. 2016, "Google's Neural Machine Translation System", section 4.1; Devlin et al. 2019, section 3.
"""

from collections.abc import Collection, Iterable

__all__ = ["wordpiece"]


def wordpiece(
    words: Iterable[str], vocabulary: Collection[str], *, unknown: str = "[UNK]", longest: int = 100
) -> list[list[str]]:
    """For each word its pieces, greedily the longest first; behind the first they begin with ``##``. Statement:
    ``bert.wordpiece``.

    A word that cannot be put together so, or has more than ``longest`` characters, is ``unknown`` as a whole. TypeError for one
    string in the place of words, each of whose characters would be a word.
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

"""WordPiece as it is defined, in plain Python: text is cleaned and split into words, each of which ``wordpiece`` takes apart.

It is there to be read, and to hold ``WordPiece`` to. A character's category is that of Python's ``unicodedata``; the tables of
``tokenizers`` are of Unicode 8: they may differ in characters that came later or changed since. Sources: Devlin et al. 2019 (the
``tokenization.py`` published with it); Wu et al. 2016, "Google's Neural Machine Translation System", section 4.1.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator

from impl.bert.pieces import wordpiece

__all__ = ["tokenize", "words"]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
"""What is written without spaces between words: each character is a word. Hangul and kana are not."""


def tokenize(text: str, vocabulary: Collection[str], lowercase: bool = True) -> list[str]:
    """The pieces of a text. What looks like a special token is one."""
    found = []
    for part in re.split(f"({'|'.join(map(re.escape, SPECIAL))})", text):
        if part in SPECIAL:
            found.append(part)
        else:
            found += [piece for word in wordpiece(words(part, lowercase), vocabulary) for piece in word]
    return found


def words(text: str, lowercase: bool = True) -> Iterator[str]:
    """The words of a text: what stands between spaces, each punctuation mark and each ideograph by itself. In lower case, accents
    go as well.
    """
    text = "".join(_clean_character(c) for c in text)
    if lowercase:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        text = "".join(c.lower() for c in text)  # by itself: a sigma at a word's end is one like any other
    for word in text.split(" "):
        yield from _split_punctuation(word)


def _split_punctuation(word: str) -> Iterator[str]:
    """A word without its punctuation marks, and these."""
    held = ""
    for c in word:
        if _marks(c):
            if held:
                yield held
            yield c
            held = ""
        else:
            held += c
    if held:
        yield held


def _clean_character(c: str) -> str:
    """A space for what is one, nothing for controls, an ideograph with spaces around it."""
    category = unicodedata.category(c)
    if c in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
        return " "
    if c in "\0�" or category in ("Cc", "Cf", "Co"):
        return ""
    return f" {c} " if any(first <= ord(c) <= last for first, last in IDEOGRAPHS) else c


def _marks(c: str) -> bool:
    """Punctuation; of ASCII, all that is neither a letter nor a digit: $ and ^ too."""
    return unicodedata.category(c).startswith("P") or ("!" <= c <= "~" and not c.isalnum())

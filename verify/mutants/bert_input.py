"""Variants of what makes BERT's input: ``bert.pack`` and ``bert.wordpiece``."""

from collections.abc import Callable
from typing import Any

from impl.bert import pack as right_pack
from verify.mutants import right, wrong

PACK, WORDPIECE = "bert.pack", "bert.wordpiece"
Ids = list[int]
Packed = tuple[Ids, Ids]


# Packing ------------------------------------------------------------------------------------------------------------------


def laid_out(a: Ids, b: Ids | None, cls: int, sep: int) -> Packed:
    """The sequence of texts that fit, right."""
    first = [cls, *a, sep]
    second = [] if b is None else [*b, sep]
    return first + second, [0] * len(first) + [1] * len(second)


def cut(a: Ids, b: Ids | None, longest: int, place: int = -1, ties: int = 1) -> tuple[Ids, Ids | None]:
    """Tokens taken off the longer text one at a time, at its end; of two alike off number ``ties``."""
    a, b = list(a), None if b is None else list(b)
    while len(a) + len(b or ()) + (2 if b is None else 3) > longest:
        off = a if not b or len(a) > len(b) or (len(a) == len(b) and ties == 0) else b
        off.pop(place)
    return a, b


def _pack(name: str, says: str, made: Callable[..., Packed], good: bool = False, **conventions: str) -> None:
    def variant(a: Ids, b: Ids | None, *, cls: int, sep: int, longest: int) -> Packed:
        return made(a, b, cls, sep, longest)

    variant.__name__, variant.__doc__ = name, says
    (right if good else wrong)(PACK, dtypes=(), **conventions)(variant)


def after_packing(a: Ids, b: Ids | None, cls: int, sep: int, longest: int) -> Packed:
    """The packed sequence cut."""
    ids, segments = laid_out(a, b, cls, sep)
    return ids[:longest], segments[:longest]


def with_segments(change: Callable[[Ids, int], Ids]) -> Callable[..., Packed]:
    """Right but for the segments, which are changed; told where the first [SEP] stands."""

    def made(a: Ids, b: Ids | None, cls: int, sep: int, longest: int) -> Packed:
        a, b = cut(a, b, longest)
        ids, segments = laid_out(a, b, cls, sep)
        return ids, change(segments, len(a) + 1)

    return made


def without_room(a: Ids, b: Ids | None, cls: int, sep: int, longest: int) -> Packed:
    """Cut as if there were two special tokens, a pair too."""
    return laid_out(*cut(a, b, longest + (b is not None)), cls, sep)


def shares(a: Ids, b: Ids | None, cls: int, sep: int, longest: int) -> Packed:
    """Each text cut to half of the room, whatever the other needs."""
    room = longest - (2 if b is None else 3)
    if b is None:
        return laid_out(a[:room], b, cls, sep)
    if len(a) + len(b) > room:
        a, b = a[: room - room // 2], b[: room // 2]
    return laid_out(a, b, cls, sep)


def either_keeps(a: Ids, b: Ids | None, cls: int, sep: int, longest: int) -> Packed:
    """Of two texts alike the first is cut, although it was the longer: only where it is not does the second keep a token more."""
    return laid_out(*cut(a, b, longest, ties=0), cls, sep)


def second_from_the_separator(segments: Ids, at: int) -> Ids:
    """Segments in which the second text begins with the first [SEP], which stands at a place; as they are without one."""
    return [*segments[:at], 1, *segments[at + 1 :]] if 1 in segments else segments


def exchanged(a: Ids, b: Ids | None, cls: int, sep: int, longest: int) -> Packed:
    """Right, but for the order of two texts."""
    a, b = cut(a, b, longest)
    return laid_out(a, b, cls, sep) if b is None else laid_out(b, a, cls, sep)


def in_place(a: Ids, b: Ids | None, cls: int, sep: int, longest: int) -> Packed:
    """Right, of texts that are cut themselves: who passed them has shorter ones afterwards."""
    first, second = cut(a, b, longest)
    del a[len(first) :]
    if b is not None:
        del b[len(second or ()) :]
    return laid_out(a, b, cls, sep)


def one_fewer(a: Ids, b: Ids | None, cls: int, sep: int, longest: int) -> Packed:
    """Right, for one token fewer than may be."""
    return laid_out(*cut(a, b, max(longest - 1, 2 if b is None else 3)), cls, sep)


for _name, _says, _made in (
    ("cut_after_packing", "The packed sequence is cut: the last [SEP] is lost.", after_packing),
    ("beginning_cut", "Tokens are taken off the beginning.", lambda a, b, c, s, n: laid_out(*cut(a, b, n, 0), c, s)),
    ("separator_in_second", "The first [SEP] counts to the second text.", with_segments(second_from_the_separator)),
    ("segments_swapped", "Segments 1, then 0.", with_segments(lambda x, at: [1 - y for y in x])),
    ("segments_forgotten", "All tokens are of segment 0.", with_segments(lambda x, at: [0] * len(x))),
    ("cls_apart", "[CLS] has a segment of its own.", with_segments(lambda x, at: [2, *x[1:]])),
    ("texts_swapped", "The second text comes first.", exchanged),
    ("no_room_for_the_last", "Room for two special tokens, where a pair has three.", without_room),
    ("halves", "Each text gets half of the room.", shares),
    ("cut_themselves", "The texts that were passed are cut in place.", in_place),
    ("one_too_many_cut", "One token fewer than there is room for.", one_fewer),
    ("first_shortened", "Of two texts alike the first is cut.", lambda a, b, c, s, n: laid_out(*cut(a, b, n, ties=0), c, s)),
):  # fmt: skip
    _pack(_name, _says, _made)
_pack(
    "token_by_token", "One token at a time.", lambda a, b, c, s, n: laid_out(*cut(a, b, n), c, s), good=True
)


_pack(
    "longer_keeps_no_more",
    "Of two texts that have become alike the first is cut, though it was the longer.",
    either_keeps,
    odd="longer",
)


@right(PACK, truncation="only_second")
def second_cut(a: Ids, b: Ids | None, *, cls: int, sep: int, longest: int) -> Packed:
    """The second text is cut, where that is claimed."""
    return right_pack(a, b, cls=cls, sep=sep, longest=longest, truncation="only_second")


@wrong(PACK, truncation="only_second")
def both_cut(a: Ids, b: Ids | None, *, cls: int, sep: int, longest: int) -> Packed:
    """Both texts are cut, where the first has to stay whole."""
    return right_pack(a, b, cls=cls, sep=sep, longest=longest)


# Words in pieces ----------------------------------------------------------------------------------------------------------


def pieces(
    word: str,
    known: set[str],
    unknown: str,
    mark: str = "##",
    ends: Callable[[int, int], Any] = lambda begin, end: range(end, begin, -1),
    rest: bool = False,
    first: str = "",
) -> list[str]:
    """The pieces of a word, right where nothing else is said."""
    found: list[str] = []
    begin = 0
    while begin < len(word):
        sign = mark if begin else first
        end = next((e for e in ends(begin, len(word)) if sign + word[begin:e] in known), None)
        if end is None:
            return [*found, unknown] if rest else [unknown]
        found.append(sign + word[begin:end])
        begin = end
    return found


def of_three(word: str, known: set[str], unknown: str) -> list[str]:
    """Pieces of at most three characters of the word."""
    return pieces(word, known, unknown, ends=lambda begin, end: range(min(end, begin + 3), begin, -1))


def fewest_pieces(word: str, known: set[str], unknown: str) -> list[str]:
    """The fewest pieces that make a word, by a search."""
    best: list[list[str] | None] = [[], *[None] * len(word)]
    for end in range(1, len(word) + 1):
        for begin in range(end):
            piece, before = ("##" if begin else "") + word[begin:end], best[begin]
            if before is not None and piece in known and len(before) + 1 < len(best[end] or word + "##"):
                best[end] = [*before, piece]
    found = best[-1]
    return [unknown] if found is None else found


def from_the_right(word: str, known: set[str], unknown: str) -> list[str]:
    """The longest piece at the end, again and again."""
    found: list[str] = []
    end = len(word)
    while end:
        begin = next((b for b in range(end) if ("##" if b else "") + word[b:end] in known), None)
        if begin is None:
            return [unknown]
        found.insert(0, ("##" if begin else "") + word[begin:end])
        end = begin
    return found


def skipping(word: str, known: set[str], unknown: str) -> list[str]:
    """Characters that no piece begins with are passed over."""
    found: list[str] = []
    begin = 0
    while begin < len(word):
        sign = "##" if found else ""
        end = next((e for e in range(len(word), begin, -1) if sign + word[begin:e] in known), None)
        if end is not None:
            found.append(sign + word[begin:end])
        begin = end or begin + 1
    return found or ([unknown] if word else [])


Split = Callable[[str, set[str], str], list[str]]


def _wordpiece(
    name: str, says: str, split: Split, good: bool = False, limited: bool = True, off: int = 0
) -> None:
    def variant(words: list[str], vocabulary: list[str], *, unknown: str, longest: int) -> list[list[str]]:
        known = set(vocabulary)
        return [
            [unknown] if limited and len(word) > longest + off else split(word, known, unknown)
            for word in words
        ]

    variant.__name__, variant.__doc__ = name, says
    (right if good else wrong)(WORDPIECE)(variant)


for _name, _says, _split in (
    ("rest_unknown", "The rest of a word becomes [UNK], its beginning stays.", lambda w, k, u: pieces(w, k, u, rest=True)),
    ("shortest_first", "The shortest piece that fits.", lambda w, k, u: pieces(w, k, u, ends=lambda b, e: range(b + 1, e + 1))),
    ("without_marks", "Pieces inside a word are looked up without ##.", lambda w, k, u: pieces(w, k, u, mark="")),
    ("fewest", "The fewest pieces there are, by a search.", fewest_pieces),
    ("from_the_end", "The longest pieces, from the right.", from_the_right),
    ("marked_everywhere", "The first piece has ## too.", lambda w, k, u: pieces(w, k, u, first="##")),
    ("three_characters", "Pieces of three characters at most.", of_three),
    ("strange_skipped", "Characters that no piece begins with are passed over.", skipping),
    ("lower_case", "Words are written in lower case.", lambda w, k, u: pieces(w.lower(), k, u)),
    ("empty_unknown", "No characters at all are unknown.", lambda w, k, u: pieces(w, k, u) or [u]),
):  # fmt: skip
    _wordpiece(_name, _says, _split)
_wordpiece("any_length", "The limit of length is forgotten.", pieces, limited=False)
_wordpiece("one_longer", "A word of one character too many is taken apart.", pieces, off=1)
_wordpiece("by_looking_up", "Right: every end of a piece is tried.", pieces, good=True)


@wrong(WORDPIECE)
def one_list(words: list[str], vocabulary: list[str], *, unknown: str, longest: int) -> list[list[str]]:
    """The pieces of all words in one list."""
    known = set(vocabulary)
    each = ([unknown] if len(word) > longest else pieces(word, known, unknown) for word in words)
    return [[piece for found in each for piece in found]]

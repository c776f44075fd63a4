"""Variants of what makes BERT's input: ``bert.pack`` and ``bert.wordpiece``."""

from impl.bert import pack as right_pack
from tests.mutants import right, wrong

PACK, WORDPIECE = "bert.pack", "bert.wordpiece"

# Packing ------------------------------------------------------------------------------------------------------------------


def laid_out(a, b, cls, sep):
    """The sequence of texts that fit, right."""
    first = [cls, *a, sep]
    second = [] if b is None else [*b, sep]
    return first + second, [0] * len(first) + [1] * len(second)


def specials(b):
    """How many special tokens there are."""
    return 2 if b is None else 3


def cut(a, b, longest, place=-1, ties=1):
    """Tokens taken off the longer text one at a time, at its end; of two alike off number ``ties``."""
    a, b = list(a), None if b is None else list(b)
    while len(a) + len(b or ()) + specials(b) > longest:
        off = a if not b or len(a) > len(b) or (len(a) == len(b) and ties == 0) else b
        off.pop(place)
    return a, b


def packing(cut=cut, lay=laid_out):
    """Packing, right but for how texts are cut or laid out."""
    return lambda a, b, *, cls, sep, longest: lay(*cut(a, b, longest), cls, sep)


def with_segments(change):
    """A layout but for the segments, which are changed; told where the first [SEP] stands."""

    def lay(a, b, cls, sep):
        ids, segments = laid_out(a, b, cls, sep)
        return ids, change(segments, len(a) + 1)

    return lay


def first_of_two_alike(a, b, longest):
    """The texts, of which the first is cut where they are alike."""
    return cut(a, b, longest, ties=0)


@wrong(PACK, cause="of each text its beginning")
def cut_after_packing(a, b, *, cls, sep, longest):
    """The packed sequence is cut: the last [SEP] is lost."""
    ids, segments = laid_out(a, b, cls, sep)
    return ids[:longest], segments[:longest]


wrong(PACK, "beginning_cut", "Tokens are taken off the beginning.", cause="of each text its beginning")(
    packing(lambda a, b, n: cut(a, b, n, 0))
)
wrong(PACK, "separator_in_second", "The first [SEP] counts to the second text.", cause="segment")(
    packing(lay=with_segments(lambda x, at: [*x[:at], 1, *x[at + 1 :]] if 1 in x else x))
)
wrong(PACK, "segments_swapped", "Segments 1, then 0.", cause="segment")(
    packing(lay=with_segments(lambda x, at: [1 - y for y in x]))
)
wrong(PACK, "segments_forgotten", "All tokens are of segment 0.", cause="segment")(
    packing(lay=with_segments(lambda x, at: [0] * len(x)))
)
wrong(PACK, "cls_apart", "[CLS] has a segment of its own.", cause="segment")(
    packing(lay=with_segments(lambda x, at: [2, *x[1:]]))
)
wrong(PACK, "texts_swapped", "The second text comes first.", cause=r"A \[SEP\] B")(
    packing(lay=lambda a, b, *ids: laid_out(a, b, *ids) if b is None else laid_out(b, a, *ids))
)
wrong(
    PACK, "no_room_for_the_last", "Room for two special tokens, where a pair has three.", cause="no longer"
)(packing(lambda a, b, n: cut(a, b, n + (b is not None))))


@wrong(PACK, via=packing, cause="cut without need")
def halves(a, b, longest):
    """Each text gets half of the room."""
    room = longest - specials(b)
    if b is None:
        return a[:room], b
    return (a[: room - room // 2], b[: room // 2]) if len(a) + len(b) > room else (a, b)


@wrong(PACK, via=packing, cause="changed a list")
def cut_themselves(a, b, longest):
    """The texts that were passed are cut in place."""
    first, second = cut(a, b, longest)
    del a[len(first) :]
    if b is not None:
        del b[len(second or ()) :]
    return a, b


wrong(PACK, "one_too_many_cut", "One token fewer than there is room for.", cause="cut without need")(
    packing(lambda a, b, n: cut(a, b, max(n - 1, specials(b))))
)
wrong(PACK, "first_shortened", "Of two texts alike the first is cut.", cause="alike|first text keeps")(
    packing(first_of_two_alike)
)
right(PACK, "token_by_token", "One token at a time.")(packing())
wrong(
    PACK,
    "longer_keeps_no_more",
    "Of two texts that became alike the first is cut.",
    odd="longer",
    cause="alike|first text keeps",
)(packing(first_of_two_alike))
right(PACK, "second_cut", "The second text is cut, where that is claimed.", truncation="only_second")(
    lambda a, b, *, cls, sep, longest: right_pack(
        a, b, cls=cls, sep=sep, longest=longest, truncation="only_second"
    )
)
wrong(
    PACK,
    "both_cut",
    "Both texts are cut; the first was to stay whole.",
    truncation="only_second",
    cause="or it alone",
)(lambda a, b, *, cls, sep, longest: right_pack(a, b, cls=cls, sep=sep, longest=longest))

# Words in pieces ----------------------------------------------------------------------------------------------------------


def pieces(
    word,
    known,
    unknown,
    mark="##",
    ends=lambda begin, end: range(end, begin, -1),
    rest=False,
    first="",
):
    """The pieces of a word, right where nothing else is said."""
    found, begin = [], 0
    while begin < len(word):
        sign = mark if begin else first
        end = next((e for e in ends(begin, len(word)) if sign + word[begin:e] in known), None)
        if end is None:
            return [*found, unknown] if rest else [unknown]
        found.append(sign + word[begin:end])
        begin = end
    return found


def wordpiece(split=pieces, over=0):
    """Words in pieces, right but for how one is split, or from how many characters ``over`` the limit it is not."""

    def words_in_pieces(words, vocabulary, *, unknown, longest):
        known = set(vocabulary)
        return [[unknown] if len(w) > longest + over else split(w, known, unknown) for w in words]

    return words_in_pieces


wrong(
    WORDPIECE, "rest_unknown", "The rest of a word becomes [UNK], its beginning stays.", cause="not its rest"
)(wordpiece(lambda w, k, u: pieces(w, k, u, rest=True)))
wrong(WORDPIECE, "shortest_first", "The shortest piece that fits.", cause="no longer one that fits")(
    wordpiece(lambda w, k, u: pieces(w, k, u, ends=lambda b, e: range(b + 1, e + 1)))
)
wrong(
    WORDPIECE, "without_marks", "Pieces inside a word are looked up without ##.", cause="without ##|## inside"
)(wordpiece(lambda w, k, u: pieces(w, k, u, mark="")))


@wrong(WORDPIECE, via=wordpiece, cause="no longer one that fits")
def fewest(word, known, unknown):
    """The fewest pieces there are, by a search."""
    best = [[], *[None] * len(word)]
    for end in range(1, len(word) + 1):
        for begin in range(end):
            piece, before = ("##" if begin else "") + word[begin:end], best[begin]
            if before is not None and piece in known and len(before) + 1 < len(best[end] or word + "##"):
                best[end] = [*before, piece]
    return [unknown] if best[-1] is None else best[-1]


@wrong(WORDPIECE, via=wordpiece, cause="no longer one that fits|from the left")
def from_the_end(word, known, unknown):
    """The longest pieces, from the right."""
    found, end = [], len(word)
    while end:
        begin = next((b for b in range(end) if ("##" if b else "") + word[b:end] in known), None)
        if begin is None:
            return [unknown]
        found.insert(0, ("##" if begin else "") + word[begin:end])
        end = begin
    return found


wrong(WORDPIECE, "marked_everywhere", "The first piece has ## too.", cause="first piece|## .*begin")(
    wordpiece(lambda w, k, u: pieces(w, k, u, first="##"))
)
wrong(WORDPIECE, "three_characters", "Pieces of three characters at most.", cause="no longer one that fits")(
    wordpiece(lambda w, k, u: pieces(w, k, u, ends=lambda b, e: range(min(e, b + 3), b, -1)))
)


@wrong(WORDPIECE, via=wordpiece, cause="are the word|whole word is unknown")
def strange_skipped(word, known, unknown):
    """Characters that no piece begins with are passed over."""
    found, begin = [], 0
    while begin < len(word):
        sign = "##" if found else ""
        end = next((e for e in range(len(word), begin, -1) if sign + word[begin:e] in known), None)
        if end is not None:
            found.append(sign + word[begin:end])
        begin = end or begin + 1
    return found or ([unknown] if word else [])


wrong(WORDPIECE, "lower_case", "Words are written in lower case.", cause="are the word|lower case")(
    wordpiece(lambda w, k, u: pieces(w.lower(), k, u))
)
wrong(WORDPIECE, "empty_unknown", "No characters at all are unknown.", cause="nowhere else")(
    wordpiece(lambda w, k, u: pieces(w, k, u) or [u])
)
wrong(WORDPIECE, "any_length", "The limit of length is forgotten.", cause="too long is unknown")(
    wordpiece(over=float("inf"))
)
wrong(
    WORDPIECE, "one_longer", "A word of one character too many is taken apart.", cause="too long is unknown"
)(wordpiece(over=1))
right(WORDPIECE, "by_looking_up", "Right: every end of a piece is tried.")(wordpiece())
wrong(WORDPIECE, "one_list", "The pieces of all words in one list.", cause="list for each word")(
    lambda words, vocabulary, *, unknown, longest: [
        [p for each in wordpiece()(words, vocabulary, unknown=unknown, longest=longest) for p in each]
    ]
)
